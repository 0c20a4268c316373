package integration

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"
)

// installing has one installation at a time, since the package manager has a lock,
// and one look for what there is.
var installing struct {
	sync.Mutex
	updated bool
}

// need returns the path of a program, and installs Debian's package of it first
// if it is not there.
func need(t *testing.T, program, pkg string) string {
	t.Helper()
	installing.Lock()
	defer installing.Unlock()
	if path, err := exec.LookPath(program); err == nil {
		return path
	}
	t.Logf("installing %s with apt-get", pkg)
	if !installing.updated {
		aptGet(t, "update")
		installing.updated = true
	}
	aptGet(t, "install", "-y", "--no-install-recommends", pkg)
	path, err := exec.LookPath(program)
	if err != nil {
		missing(t, "%s is not there though %s is installed: %v", program, pkg, err)
	}
	return path
}

func aptGet(t *testing.T, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "apt-get", args...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	if out, err := cmd.CombinedOutput(); err != nil {
		missing(t, "apt-get %v: %v\n%s", args, err, out)
	}
}

// missing ends a test that can't have its part.
func missing(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// start runs a program until the test ends, and waits for its end then. What it
// wrote is logged if the test failed.
func start(t *testing.T, path string, args ...string) {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.Command(path, args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // with whatever it starts itself
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Logf("started %s, process %d", path, cmd.Process.Pid)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // it is told to end
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			<-ended
		}
		if t.Failed() {
			t.Logf("%s wrote:\n%s", path, &out)
		}
	})
}

// nobody is an address on which nobody listens, and nobody will.
const nobody = "127.0.0.1:1"

// eventually asks again and again until ok is true, and fails after a time with
// what was seen last.
func eventually(t *testing.T, within time.Duration, what string, ask func() (seen any, ok bool)) {
	t.Helper()
	deadline := time.Now().Add(within)
	for {
		seen, ok := ask()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v; last: %v", what, within, seen)
		}
		select {
		case <-t.Context().Done():
			t.Fatal(context.Cause(t.Context()))
		case <-time.After(100 * time.Millisecond):
		}
	}
}
