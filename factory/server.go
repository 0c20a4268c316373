package factory

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// server is one listener and what serves it.
type server struct {
	http.Server
	listener net.Listener
	silent   sync.Map     // connections that have sent nothing yet
	busy     atomic.Int64 // the others; those that are idle are closed first
}

// A client that sends its headers slowly holds no more than a connection, and not
// for long.
const headerTime = 10 * time.Second

func newServer(l net.Listener, h http.Handler) *server {
	s := &server{Server: http.Server{Handler: h, ReadHeaderTimeout: headerTime}, listener: l}
	s.ConnState = s.count
	return s
}

func (s *server) serve() error {
	if err := s.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("factory: %v: %w", s.listener.Addr(), err)
	}
	return nil
}

// shutdown waits for running requests, and ends those that are still there when
// ctx ends. Nothing is lost with a connection that has sent nothing: Shutdown waits
// for it for 5 s (go.dev/issue/22682), which may be longer than ctx has.
func (s *server) shutdown(ctx context.Context) error {
	err := s.Shutdown(ctx)
	if err == nil {
		return nil
	}
	busy := s.busy.Load()
	s.Server.Close()
	if busy == 0 {
		return nil
	}
	return fmt.Errorf("%d busy on %v: %w", busy, s.listener.Addr(), err)
}

// count follows a connection through its states.
func (s *server) count(c net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.silent.Store(c, nil)
	case http.StateActive:
		if _, first := s.silent.LoadAndDelete(c); first {
			s.busy.Add(1)
		}
	case http.StateClosed, http.StateHijacked:
		if _, silent := s.silent.LoadAndDelete(c); !silent {
			s.busy.Add(-1)
		}
	}
}
