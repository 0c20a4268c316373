//go:build linux || darwin

package factory

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"syscall"
	"testing"
	"time"
)

// A pipe stands for a file system that is slow or stuck.
func TestProbesDoNotWaitForTheFile(t *testing.T) {
	path := write(t, two, 8, 4, 2)
	s, _ := open(t, path, Options{})
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	reloaded := make(chan error, 1)
	go func() { reloaded <- s.Reload() }()
	pipe, err := os.OpenFile(path, os.O_WRONLY, 0) // it opens when Reload has opened it, too
	if err != nil {
		t.Fatal(err)
	}
	answered := make(chan int, 1)
	go func() {
		w := httptest.NewRecorder()
		s.AdminHandler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
		answered <- w.Code
	}()
	select {
	case got := <-answered:
		if got != http.StatusServiceUnavailable {
			t.Errorf("GET /readyz of a cold service = %d, want 503", got)
		}
	case <-time.After(10 * time.Second):
		t.Error("GET /readyz waits for the file")
	}
	fmt.Fprintf(pipe, two, 16, 5, 3)
	pipe.Close()
	if err := <-reloaded; err != nil {
		t.Errorf("Reload() = %v, want nil", err)
	}
	if got, want := places(t, s), [3]int{16, 5, 3}; got != want {
		t.Errorf("places of door, processor, ledger = %v, want %v", got, want)
	}
}
