package factory

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/offtake-go/offtake/httpclient"
)

const two = `
service: checkout
replicas: {min: 2}
door: {inFlight: %d, wait: 50ms}
upstreams:
  processor: {target: "http://127.0.0.1:1", inFlight: %d}
  ledger: {target: "http://127.0.0.1:2", inFlight: %d}
`

func places(t *testing.T, s *Service) [3]int {
	t.Helper()
	s.Door().Open() // a shut one has none
	processor, _ := s.HTTP("processor")
	ledger, _ := s.HTTP("ledger")
	return [3]int{s.Door().Stats().Places, processor.Stats().Plan.InFlight, ledger.Stats().Plan.InFlight}
}

func TestReloadGivesEveryoneTheNewPlan(t *testing.T) {
	path := write(t, two, 8, 4, 2)
	s, _ := open(t, path, Options{})
	rewrite(t, path, two, 16, 5, 3)
	if err := s.Reload(); err != nil {
		t.Fatalf("Reload() = %v, want nil", err)
	}
	if got, want := places(t, s), [3]int{16, 5, 3}; got != want {
		t.Errorf("places of door, processor, ledger = %v, want %v", got, want)
	}
}

func TestABadFileChangesNothingAndSaysWhy(t *testing.T) {
	path := write(t, two, 8, 4, 2)
	s, _ := open(t, path, Options{})
	for name, tt := range map[string]struct{ file, says string }{
		"a mistake":          {strings.Replace(two, "wait: 50ms", "wait: 50", 1), "wait"},
		"another target":     {strings.Replace(two, "127.0.0.1:2", "127.0.0.1:3", 1), "restart"},
		"an upstream more":   {two + `  fraud: {target: "http://127.0.0.1:4", inFlight: 1}` + "\n", "fraud is new"},
		"an upstream less":   {strings.Split(two, "  ledger")[0] + "# %d\n", "ledger is gone"},
		"another name":       {strings.Replace(two, "service: checkout", "service: cart", 1), "another name"},
		"no door":            {strings.Replace(two, "door:", "# door:", 1), "door"},
		"an absurd deadline": {strings.Replace(two, "inFlight: %d}\n  ledger", "deadline: 60000s, inFlight: %d}\n  ledger", 1), "eadline"},
	} {
		t.Run(name, func(t *testing.T) {
			rewrite(t, path, tt.file, 16, 5, 3)
			err := s.Reload()
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("Reload() = %v, want it to say %q", err, tt.says)
			}
			if got, want := places(t, s), [3]int{8, 4, 2}; got != want {
				t.Errorf("places of door, processor, ledger = %v, want %v as before", got, want)
			}
		})
	}
}

// A sound plan may still not fit the options of one client, which says so when
// others have theirs already.
func TestWhereOneRefusesItsPlanAllKeepTheirs(t *testing.T) {
	path := write(t, two, 8, 4, 2)
	s, _ := open(t, path, Options{HTTP: map[string]httpclient.Options{"processor": {Connect: 3 * time.Second}}})
	rewrite(t, path, strings.Replace(two, "inFlight: %d}\n  ledger", "attempt: 2s, inFlight: %d}\n  ledger", 1), 16, 5, 3)
	err := s.Reload()
	for _, part := range []string{"nothing was changed", "processor", "Options.Connect"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("Reload() = %v, want it to contain %q", err, part)
		}
	}
	if got, want := places(t, s), [3]int{8, 4, 2}; got != want {
		t.Errorf("places of door, processor, ledger = %v, want %v as before", got, want)
	}
}

func TestReloadsUnderTrafficLeaveOneFileInForce(t *testing.T) {
	path := write(t, two, 8, 4, 2)
	s, _ := open(t, path, Options{Propagation: time.Millisecond, Watch: time.Millisecond})
	s.Door().Open()
	url, _ := running(t, s, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	var load sync.WaitGroup
	for i := range 3 {
		load.Go(func() {
			for n := range 20 {
				next := fmt.Sprintf("%s.%d", path, i)
				places := 1 + (i+n)%4
				rewrite(t, next, two, 8*places, 4*places, 2*places)
				if err := os.Rename(next, path); err != nil {
					t.Error(err)
				}
				if err := s.Reload(); err != nil {
					t.Errorf("Reload() = %v, want nil", err)
				}
				if got, _ := status(t, url+"/"); got != http.StatusOK {
					t.Errorf("a request during a reload = %d, want 200", got)
				}
			}
		})
	}
	load.Wait()
	if err := s.Reload(); err != nil {
		t.Fatal(err)
	}
	if got := places(t, s); got[0] != 4*got[2] || got[1] != 2*got[2] {
		t.Errorf("places of door, processor, ledger = %v, want those of one file", got)
	}
}

func TestTheStopFollowsTheFile(t *testing.T) {
	path := write(t, one, "http://127.0.0.1:1")
	s, out := open(t, path, Options{})
	if got, want := s.times().Drain, 10*time.Second; got != want {
		t.Errorf("Drain = %v, want the door's default deadline of %v", got, want)
	}
	rewrite(t, path, strings.Replace(one, "wait: 50ms", "wait: 50ms, deadline: 28s", 1), "http://127.0.0.1:1")
	if err := s.Reload(); err != nil {
		t.Fatal(err)
	}
	if got, want := s.times().Drain, 28*time.Second; got != want {
		t.Errorf("Drain after Reload = %v, want %v", got, want)
	}
	if !strings.Contains(out.String(), "does not fit the grace period") {
		t.Errorf("the log does not say that 5s and 28s are over 30s:\n%s", out)
	}
}

func TestAWatchedFileIsTakenOverWhenItChanges(t *testing.T) {
	path := write(t, two, 8, 4, 2)
	s, out := open(t, path, Options{Watch: 10 * time.Millisecond, Propagation: time.Millisecond})
	running(t, s, http.NotFoundHandler())
	rewrite(t, path, two, 9, 4, 2)
	eventually(t, "taken over", func() bool { return places(t, s)[0] == 9 })
	rewrite(t, path, "service: [")
	eventually(t, "refused", func() bool { return strings.Contains(out.String(), "was not taken over") })
	if got := places(t, s)[0]; got != 9 {
		t.Errorf("places of the door = %d, want 9 as before", got)
	}
}

func TestControlSwitchesObserveModeOnlyIfMeant(t *testing.T) {
	s, _ := open(t, write(t, two, 8, 4, 2), Options{Control: true})
	admin := s.AdminHandler()
	post := func(query string, meant bool) int {
		r := httptest.NewRequest("POST", "http://localhost/debug/offtake/control?"+query, nil)
		if meant {
			r.Header.Set("Offtake-Control", "1")
		}
		w := httptest.NewRecorder()
		admin.ServeHTTP(w, r)
		return w.Code
	}
	for _, tt := range []struct {
		query string
		meant bool
		want  int
	}{
		{"upstream=ledger&observe=true", false, http.StatusForbidden},
		{"upstream=ledger&observe=true", true, http.StatusOK},
		{"upstream=ledger&observe=perhaps", true, http.StatusBadRequest},
		{"upstream=ledger", true, http.StatusBadRequest},
		{"upstream=nobody&observe=true", true, http.StatusBadRequest},
		{"upstream=door&observe=true", true, http.StatusBadRequest}, // the door is no upstream
		{"", true, http.StatusBadRequest},
		{"reload", true, http.StatusOK},
		{"door&observe=true", true, http.StatusOK},
		{"door&observe=", true, http.StatusBadRequest},
	} {
		if got := post(tt.query, tt.meant); got != tt.want {
			t.Errorf("POST control?%s, meant %v = %d, want %d", tt.query, tt.meant, got, tt.want)
		}
	}
	ledger, _ := s.HTTP("ledger")
	processor, _ := s.HTTP("processor")
	if !ledger.Stats().Observing || processor.Stats().Observing || !s.Door().Stats().Observing {
		t.Errorf("observing ledger, processor, door = %v, %v, %v, want true, false, true", ledger.Stats().Observing, processor.Stats().Observing, s.Door().Stats().Observing)
	}
	w := httptest.NewRecorder()
	quiet, _ := open(t, write(t, two, 8, 4, 2), Options{})
	quiet.AdminHandler().ServeHTTP(w, httptest.NewRequest("POST", "/debug/offtake/control?reload", nil))
	if w.Code != http.StatusNotFound {
		t.Errorf("POST control without Options.Control = %d, want 404", w.Code)
	}
}
