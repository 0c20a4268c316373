package factory

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// server is one listener and what serves it over HTTP.
type server struct {
	http.Server
	listener net.Listener
	silent   sync.Map     // connections that have sent nothing yet
	busy     atomic.Int64 // the others; those that are idle are closed first
}

// newServer makes one; over TLS it speaks HTTP/2 too, as net/http does.
func (s *Service) newServer(l net.Listener, h http.Handler, config *tls.Config) *server {
	in := s.options.Inbound
	made := &server{listener: l, Server: http.Server{
		Handler: h, TLSConfig: config,
		ReadHeaderTimeout: in.HeaderTime, IdleTimeout: in.Idle, MaxHeaderBytes: in.HeaderBytes,
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: in.Streams},
	}}
	made.ConnState = made.count
	made.RegisterOnShutdown(s.page.Close)
	return made
}

func (s *server) serve() error {
	var err error
	if s.TLSConfig != nil {
		err = s.ServeTLS(s.listener, "", "")
	} else {
		err = s.Serve(s.listener)
	}
	if !errors.Is(err, http.ErrServerClosed) {
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
