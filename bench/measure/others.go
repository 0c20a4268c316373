package measure

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/offtake-go/offtake/bench/peers"
)

// GRPC measures a unary call of each stack over loopback, client and server.
func GRPC(stacks []peers.GRPC, rounds, n int) ([]Cost, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	go server.Serve(l)
	defer server.Stop()
	var ops []Op
	for _, stack := range stacks {
		call, stop, err := stack.New(l.Addr().String(), 4, 10*time.Second)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", stack.Name, err)
		}
		defer stop()
		ops = append(ops, Op{stack.Name, func(n int) error {
			for range n {
				if err := call(context.Background()); err != nil {
					return fmt.Errorf("%s: %w", stack.Name, err)
				}
			}
			return nil
		}})
	}
	return Costs(ops, rounds, n)
}

// Doors measures a request through each door, without a network.
func Doors(doors []peers.Door, rounds, n int) ([]Cost, error) {
	next := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	var ops []Op
	for _, d := range doors {
		handler, err := d.New(next, 4)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.Name, err)
		}
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		ops = append(ops, Op{d.Name, func(n int) error {
			for range n {
				w := &nowhere{header: make(http.Header)}
				if handler.ServeHTTP(w, r); w.status != http.StatusNoContent {
					return fmt.Errorf("%s: status %d", d.Name, w.status)
				}
			}
			return nil
		}})
	}
	return Costs(ops, rounds, n)
}

// nowhere is a response that nobody reads.
type nowhere struct {
	header http.Header
	status int
}

func (w *nowhere) Header() http.Header         { return w.header }
func (w *nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (w *nowhere) WriteHeader(status int)      { w.status = status }
