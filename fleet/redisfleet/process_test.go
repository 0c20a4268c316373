package redisfleet

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/offtake-go/offtake/fleet/redisfleet/internal/testserver"
)

// processLease is short for the sake of the test, and so long that a stall of the
// machine is well within its margin.
const processLease = 3 * time.Second

// process is a worker of its own, and its way to the store.
type process struct {
	t       *testing.T
	name    string
	command *exec.Cmd
	in      io.WriteCloser
	link    *link
}

// scene is what the processes share.
type scene struct {
	t     *testing.T
	dir   string
	store *testserver.Server
	*upstream
	all []*process
}

func (s *scene) start() *process {
	s.t.Helper()
	name := "w" + strconv.Itoa(len(s.all))
	p := &process{t: s.t, name: name, link: newLink(s.t, filepath.Join(s.dir, name), s.store.Socket)}
	p.command = exec.CommandContext(s.t.Context(), os.Args[0])
	p.command.Env = append(os.Environ(), fmt.Sprintf("%s=%s,%s,%s", workerEnv, name, p.link.Addr(), s.Addr()))
	p.command.Stderr = os.Stderr
	var err error
	if p.in, err = p.command.StdinPipe(); err != nil {
		s.t.Fatal(err)
	}
	if err := p.command.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.all = append(s.all, p)
	return p
}

func (p *process) wants(places int) {
	p.t.Helper()
	if _, err := fmt.Fprintln(p.in, places); err != nil {
		p.t.Fatal(err)
	}
}

// dies ends it without a word.
func (p *process) dies() {
	p.command.Process.Kill()
	p.command.Wait()
}

// drains ends it as Kubernetes would.
func (p *process) drains() {
	p.t.Helper()
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	if err := p.command.Wait(); err != nil {
		p.t.Errorf("a worker that drains ended with %v, want nil", err)
	}
}

// until waits for something to become true, and says how long that took.
func (s *scene) until(what string, within time.Duration, is func() bool) {
	s.t.Helper()
	start := time.Now()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		took := time.Since(start)
		if is() {
			s.t.Logf("%s after %v", what, took.Round(10*time.Millisecond))
			return
		}
		if took > within {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.t.Fatalf("not so within %v: %s; in use are %v", within, what, s.inUse)
		}
	}
}

// patience is how long anything may take that has no bound of its own.
const patience = 20 * time.Second

func TestTwelveProcessesNeverUseMoreThanTheLimitTogether(t *testing.T) {
	store, err := testserver.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Stop(); err != nil {
			t.Error(err)
		}
	})
	dir := filepath.Dir(store.Socket) // a socket's path has to be short
	s := &scene{t: t, dir: dir, store: store, upstream: newUpstream(t, filepath.Join(dir, "upstream"))}
	for range 12 {
		s.start().wants(200)
	}
	s.play()
	s.mu.Lock()
	defer s.mu.Unlock()
	t.Logf("%d calls, at most %d at once", s.calls, s.most)
	if s.most > whole.InFlight {
		t.Errorf("places in use at once = %d, want at most %d", s.most, whole.InFlight)
	}
}

func (s *scene) play() {
	atLeast := func(n int, of ...*process) func() bool {
		return func() bool { return s.of(of...) >= n }
	}
	fleet := s.all
	s.until("12 use nearly all of 200", patience, atLeast(190, fleet...))

	for _, p := range fleet[:6] {
		p.dies()
	}
	// 12 places are the floors of those that are gone.
	s.until("the share of 6 that died is used by the others", processLease+2*time.Second, atLeast(180, fleet[6:]...))

	var fresh []*process
	for range 6 {
		p := s.start()
		p.wants(200)
		fresh = append(fresh, p)
	}
	for _, p := range fresh {
		s.until("a newcomer has a share", patience, atLeast(10, p))
	}
	fleet = append(fleet[6:], fresh...)

	lost, kept := fleet[:4], fleet[4:]
	for i, p := range lost {
		p.link.cut()
		if i%2 == 0 {
			p.link.drop()
		}
	}
	s.until("4 that are cut off are on their floors", processLease+2*time.Second, func() bool { return s.of(lost...) <= 4*2 })
	s.until("their share is used by the others", processLease, atLeast(185, kept...))
	for _, p := range lost {
		p.link.mend()
	}
	for _, p := range lost {
		s.until("one that was cut off has a share again", patience, atLeast(10, p))
	}

	s.must(s.store.Pause())
	s.until("the store stands still and all are on their floors", processLease+2*time.Second, func() bool { return s.of(fleet...) <= 12*2 })
	s.must(s.store.Resume())
	s.until("the store goes on and all of 200 are used", patience, atLeast(190, fleet...))
	s.must(s.store.Lose(s.t.Context()))
	s.until("the store has lost its data and all of 200 are used", patience, atLeast(190, fleet...))

	for _, p := range fleet[1:] {
		p.wants(0)
	}
	s.until("one that is busy alone has what the others do not need", patience, atLeast(120, fleet[0]))
	fleet[0].drains()
	fleet[1].wants(200)
	s.until("what one that drained had is used by another", patience, atLeast(120, fleet[1]))
	for _, p := range fleet[1:] {
		p.drains()
	}
}

func (s *scene) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}
