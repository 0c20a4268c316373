package pool

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/offtake-go/offtake/internal/endpoint"
	"github.com/offtake-go/offtake/internal/pipenet"
)

// told counts what a pool tells its owner.
type told struct {
	dialed, failed, closed, judged atomic.Int32
}

func (e *told) Dialed(_ time.Duration, err *DialError) {
	if err != nil {
		e.failed.Add(1)
	} else {
		e.dialed.Add(1)
	}
}
func (e *told) Closed(time.Duration)   { e.closed.Add(1) }
func (e *told) TurnedDown()            {}
func (e *told) Judged(endpoint.Change) { e.judged.Add(1) }

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// fixture is a server over net.Pipe, and a pool of connections to it.
type fixture struct {
	*Pool
	told   *told
	server *http.Server
}

func newFixture(t *testing.T, http2 bool, sizes Sizes, o Options, handler http.HandlerFunc, through func(dialFunc) dialFunc) *fixture {
	t.Helper()
	l := pipenet.Listen()
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!http2)
	protocols.SetUnencryptedHTTP2(http2)
	f := &fixture{told: new(told), server: &http.Server{Handler: handler, Protocols: protocols}}
	go f.server.Serve(l)
	o.Scheme, o.Hosts = "http", []string{"one.example", "two.example"}
	o.Address = func(host string) string { return host + ":80" }
	o.Protocols = *protocols
	o.Maker = func(*http.Protocols) *http.Transport { return new(http.Transport) }
	o.Events = f.told
	o.Dial = l.Dial
	if through != nil {
		o.Dial = through(l.Dial)
	}
	for _, d := range []struct {
		field     *time.Duration
		byDefault time.Duration
	}{{&o.Connect, time.Second}, {&o.Longest, 4 * time.Second}, {&o.Idle, 45 * time.Second}, {&o.MaxAge, 5 * time.Minute}, {&sizes.Attempt, time.Second}} {
		if *d.field == 0 {
			*d.field = d.byDefault
		}
	}
	f.Pool = New(o, sizes)
	t.Cleanup(func() {
		f.Close()
		f.server.Close()
		<-time.After(time.Hour)
		if n := f.Counts(); n.Open != 0 || n.Dialing != 0 || n.Upgraded != 0 {
			t.Errorf("after Close = %+v, want nothing", n)
		}
		if f.told.closed.Load() != f.told.dialed.Load() {
			t.Errorf("connections closed, dialed = %d, %d, want the same", f.told.closed.Load(), f.told.dialed.Load())
		}
	})
	return f
}

// send is one exchange, read to its end.
func (f *fixture) send(ctx context.Context, host string, body io.Reader) (*Conn, error) {
	var l Lease
	if _, err := f.Acquire(ctx, host, Want{}, &l); err != nil {
		return nil, err
	}
	method := http.MethodGet
	if body != nil {
		method = http.MethodPost
	}
	req, _ := http.NewRequestWithContext(ctx, method, "http://"+host+"/", body)
	resp, err := l.RoundTrip(req)
	defer func() { l.Done(time.Now()) }()
	if err != nil {
		r := endpoint.Failure
		if ctx.Err() != nil {
			r = endpoint.Unknown
		}
		l.Answer(time.Now(), r, err)
		return l.Conn(), err
	}
	l.Answer(time.Now(), endpoint.Success, nil)
	_, err = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	return l.Conn(), err
}

func echo(w http.ResponseWriter, r *http.Request) {
	io.Copy(w, r.Body)
	io.WriteString(w, "ok")
}

func slowly(d time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(d):
			io.WriteString(w, "ok")
		case <-r.Context().Done():
		}
	}
}

// TestWhateverHappensThePoolKeepsItsSizes has callers that come and go, an upstream
// that closes what it likes, dials that fail, and sizes that change, in any order.
func TestWhateverHappensThePoolKeepsItsSizes(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		for seed := range uint64(15) {
			synctest.Test(t, func(t *testing.T) { anything(t, http2, seed) })
		}
	}
}

func anything(t *testing.T, http2 bool, seed uint64) {
	var mu sync.Mutex
	r := rand.New(rand.NewPCG(seed, 4))
	roll := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return r.IntN(n)
	}
	sizes := Sizes{Connections: 4, Streams: 3}
	var largest atomic.Int32
	largest.Store(4)
	f := newFixture(t, http2, sizes, Options{Idle: 300 * time.Millisecond, MaxAge: 500 * time.Millisecond}, func(w http.ResponseWriter, r *http.Request) {
		<-time.After(time.Duration(roll(30)) * time.Millisecond)
		switch roll(12) {
		case 0:
			panic(http.ErrAbortHandler)
		case 1:
			w.Header().Set("Connection", "close")
		}
		echo(w, r)
	}, func(dial dialFunc) dialFunc {
		return func(ctx context.Context, network, address string) (net.Conn, error) {
			<-time.After(time.Duration(roll(20)) * time.Millisecond)
			if roll(10) == 0 {
				return nil, errors.New("refused")
			}
			return dial(ctx, network, address)
		}
	})
	var callers sync.WaitGroup
	var served atomic.Int32
	for range 12 {
		callers.Go(func() {
			for range 30 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(20+roll(400))*time.Millisecond)
				host := "one.example"
				if roll(5) == 0 {
					host = "two.example"
				}
				var body io.Reader
				if roll(3) == 0 {
					body = strings.NewReader("body")
				}
				if _, err := f.send(ctx, host, body); err == nil {
					served.Add(1)
				}
				cancel()
			}
		})
	}
	done := make(chan struct{})
	go func() { callers.Wait(); close(done) }()
	for busy := true; busy; {
		select {
		case <-done:
			busy = false
		case <-time.After(7 * time.Millisecond):
		}
		switch roll(12) {
		case 0:
			sizes.Connections = 1 + roll(6)
			largest.Store(max(largest.Load(), int32(sizes.Connections)))
			f.Resize(sizes)
		case 1:
			f.CloseIdle()
		case 2:
			f.Warm(t.Context(), roll(3))
		}
		if n := f.Counts(); n.Open+n.Dialing > int(largest.Load())+1 || n.Idle > n.Open || n.Idle < 0 {
			t.Errorf("seed %d: %+v, want %d connections at the most, and one that replaces another", seed, n, largest.Load())
		}
	}
	if served.Load() < 180 {
		t.Errorf("seed %d: served %d of 360, want most", seed, served.Load())
	}
	synctest.Wait()
	for _, state := range append(f.Endpoints("one.example"), f.Endpoints("two.example")...) {
		if state.InFlight != 0 {
			t.Errorf("seed %d: in flight at %s = %d, want 0", seed, state.Name, state.InFlight)
		}
	}
}

func TestAConnectionIsUsedAgainByWhoComesNext(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, http2, Sizes{Connections: 8, Streams: 1}, Options{}, echo, nil)
			for i := range 50 {
				body := io.Reader(nil)
				if i%2 == 1 {
					body = strings.NewReader("body")
				}
				if _, err := f.send(t.Context(), "one.example", body); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
			}
			if got := f.told.dialed.Load(); got != 1 {
				t.Errorf("http2 %v: dials = %d, want 1", http2, got)
			}
		})
	}
}

func TestACallerWhoIsGoneBeforeSendingCostsNoConnection(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, http2, Sizes{Connections: 1, Streams: 1}, Options{}, echo, nil)
			for range 5 {
				var l Lease
				if _, err := f.Acquire(t.Context(), "one.example", Want{}, &l); err != nil {
					t.Fatal(err)
				}
				l.Release()
			}
			if _, err := f.send(t.Context(), "one.example", nil); err != nil {
				t.Fatal(err)
			}
			if got := f.told.dialed.Load(); got != 1 {
				t.Errorf("http2 %v: dials = %d, want 1", http2, got)
			}
		})
	}
}

func TestTheFirstExchangeGoesOnWithoutItsCallerButNotForEver(t *testing.T) {
	for _, tt := range []struct {
		took  time.Duration
		stand int
	}{{300 * time.Millisecond, 1}, {3 * time.Second, 0}} {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, false, Sizes{Connections: 1}, Options{}, slowly(tt.took), nil)
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			start := time.Now()
			if _, err := f.send(ctx, "one.example", nil); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("send() = %v, want the caller's deadline", err)
			}
			if got := time.Since(start); got != 100*time.Millisecond {
				t.Errorf("send() returned after %v, want 100ms", got)
			}
			<-time.After(1500 * time.Millisecond) // past the time of an attempt
			synctest.Wait()
			if got := f.Counts(); got.Open != tt.stand || got.Idle != tt.stand {
				t.Errorf("an exchange of %v: %+v, want %d that is idle", tt.took, got, tt.stand)
			}
		})
	}
}

func TestARequestWithABodyEndsWithItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, false, Sizes{Connections: 1}, Options{}, slowly(300*time.Millisecond), nil)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		f.send(ctx, "one.example", strings.NewReader("body"))
		synctest.Wait()
		if got := f.Counts().Open; got != 0 {
			t.Errorf("open = %d, want 0: nobody may read the body any more", got)
		}
	})
}

func TestOldConnectionsHaveASuccessorBeforeTheyGo(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, http2, Sizes{Connections: 1, Streams: 5}, Options{MaxAge: time.Second}, echo, func(dial dialFunc) dialFunc {
				return func(ctx context.Context, network, address string) (net.Conn, error) {
					<-time.After(200 * time.Millisecond)
					return dial(ctx, network, address)
				}
			})
			var l Lease
			for i := range 100 {
				waited, err := f.Acquire(t.Context(), "one.example", Want{}, &l)
				if err != nil || waited && i > 0 {
					t.Fatalf("http2 %v: Acquire() = waited %v, %v in call %d, want a connection at once", http2, waited, err, i)
				}
				l.Release()
				if _, err := f.send(t.Context(), "one.example", nil); err != nil {
					t.Fatal(err)
				}
				<-time.After(100 * time.Millisecond)
			}
			if got := f.told.dialed.Load(); got < 7 {
				t.Errorf("http2 %v: dials in 10 s = %d, want about ten", http2, got)
			}
		})
	}
}

func TestAtMostEightDialsAreUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var under, most atomic.Int32
		f := newFixture(t, false, Sizes{Connections: 40}, Options{}, slowly(time.Second), func(dial dialFunc) dialFunc {
			return func(ctx context.Context, network, address string) (net.Conn, error) {
				most.Store(max(most.Load(), under.Add(1)))
				defer under.Add(-1)
				<-time.After(10 * time.Millisecond)
				return dial(ctx, network, address)
			}
		})
		var group sync.WaitGroup
		for range 40 {
			group.Go(func() {
				if _, err := f.send(t.Context(), "one.example", nil); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if got := most.Load(); got != dialsAtOnce {
			t.Errorf("dials at once = %d, want %d", got, dialsAtOnce)
		}
	})
}

func TestAHintThatMakesNoSenseChangesNothing(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"timeout=5": 4 * time.Second, "max=3, timeout=\"8\"": 7 * time.Second, "timeout=2": 1500 * time.Millisecond, "Timeout=60": 45 * time.Second,
		"": 45 * time.Second, "timeout": 45 * time.Second, "timeout=-1": 45 * time.Second, "timeout=99999999999999999999": 45 * time.Second, "close": 45 * time.Second,
	} {
		p := New(Options{Scheme: "http", Hosts: []string{"a"}, Address: func(string) string { return "a:80" }, Idle: 45 * time.Second, Maker: func(*http.Protocols) *http.Transport { return new(http.Transport) }}, Sizes{})
		c := &Conn{pool: p, host: p.hosts["a"], keep: 45 * time.Second}
		if c.hint(header); c.keep != want {
			t.Errorf("hint(%q): kept for %v, want %v", header, c.keep, want)
		}
		p.Close()
	}
}
