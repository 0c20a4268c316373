//go:build unix

package main

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/offtake-go/offtake/internal/loopback"
)

// TestMain makes the test's own binary the service, for a process that gets
// signals of its own.
func TestMain(m *testing.M) {
	if os.Getenv("OFFTAKE_TEST_SERVICE") != "" {
		main()
		return
	}
	flag.Parse()
	os.Exit(m.Run())
}

// process is the service in a process.
type process struct {
	*exec.Cmd
	log   bytes.Buffer // to be read after the end
	ended chan error
}

// start runs the service with a propagation, and returns when it is ready.
func start(t *testing.T, propagation string) (p *process, url string) {
	t.Helper()
	addresses := []string{loopback.Free(t), loopback.Free(t), loopback.Free(t)}
	stop, err := startUpstreams(addresses[0], addresses[1], addresses[2])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	path := contractFor(t, addresses)
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := io.WriteString(f, "\nmesh: {propagation: "+propagation+"}\n"); err != nil {
		t.Fatal(err)
	}
	address := loopback.Free(t)
	p = &process{Cmd: exec.Command(os.Args[0], "-contract", path, "-address", address), ended: make(chan error, 1)}
	p.Env = append(os.Environ(), "OFFTAKE_TEST_SERVICE=1")
	p.Stderr = &p.log
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.ended <- p.Wait() }()
	t.Cleanup(func() { p.Process.Kill() })
	url = "http://" + address
	eventually(t, "ready", func() bool { return ready(url) == http.StatusOK })
	return p, url
}

// ready is what a probe gets; 0 if nobody listens.
func ready(url string) int {
	resp, err := http.Get(url + "/readyz")
	if err != nil {
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}

func (p *process) signal(t *testing.T) {
	t.Helper()
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
}

// A second of late traffic comes after the balancer could have looked away.
func TestSIGTERMLosesNoOrder(t *testing.T) {
	p, url := start(t, "3s")
	var looked sync.WaitGroup
	var enough atomic.Bool
	var orders, failed atomic.Int64
	for range 4 {
		looked.Go(func() {
			for !enough.Load() {
				orders.Add(1)
				if status(t, url+"/checkout") != http.StatusOK {
					failed.Add(1)
				}
			}
		})
	}
	eventually(t, "under load", func() bool { return orders.Load() > 50 })
	p.signal(t)
	eventually(t, "draining", func() bool { return ready(url) == http.StatusServiceUnavailable })
	before := orders.Load()
	<-time.After(time.Second)
	enough.Store(true)
	looked.Wait()
	if failed.Load() != 0 || orders.Load() == before {
		t.Errorf("%d of %d orders failed after SIGTERM, %d of them late, want 0, and some late", failed.Load(), orders.Load(), orders.Load()-before)
	}
	if err := <-p.ended; err != nil {
		t.Errorf("the process ended with %v, want 0:\n%s", err, &p.log)
	}
}

func TestASecondSIGTERMEndsAtOnce(t *testing.T) {
	p, url := start(t, "20m")
	p.signal(t)
	eventually(t, "draining", func() bool { return ready(url) == http.StatusServiceUnavailable })
	p.signal(t)
	err := <-p.ended
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("the process ended with %v, want that of the signal:\n%s", err, &p.log)
	}
	if !strings.Contains(p.log.String(), "draining") {
		t.Errorf("the log does not say that it drained before:\n%s", &p.log)
	}
}
