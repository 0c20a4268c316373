package redisfleet

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/offtake-go/offtake/fleet/redisfleet/internal/testserver"
)

// server is the one that all tests of this process share. TestMain stops it.
type server struct {
	once sync.Once
	*testserver.Server
	err error
}

var shared server

func (s *server) start() (*testserver.Server, error) {
	s.once.Do(func() { s.Server, s.err = testserver.Start(context.Background()) })
	return s.Server, s.err
}

// TestMain is a worker of the process test if it is told so.
func TestMain(m *testing.M) {
	if os.Getenv(workerEnv) != "" {
		os.Exit(work())
	}
	code := m.Run()
	if shared.Server != nil {
		if err := shared.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// dial connects to a server. The settings are those that the docs ask for.
func dial(socket string) *redis.Client {
	return redis.NewClient(&redis.Options{
		Network: "unix", Addr: socket, ContextTimeoutEnabled: true, MaxRetries: -1,
	})
}

func client(t testing.TB) *redis.Client {
	t.Helper()
	s, err := shared.start()
	if err != nil {
		t.Fatal(err)
	}
	c := dial(s.Socket)
	t.Cleanup(func() { c.Close() })
	return c
}

// clocked is the script with the store's clock and run taken from the arguments.
func clocked(t testing.TB) string {
	t.Helper()
	s := leaseScript
	for old, by := range map[string]string{
		"redis.call('TIME')": "{0, tonumber(ARGV[7]) * 1000}",
		"string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')": "ARGV[8]",
	} {
		if strings.Count(s, old) != 1 {
			t.Fatalf("the script has %q %d times, want once", old, strings.Count(s, old))
		}
		s = strings.Replace(s, old, by, 1)
	}
	return s
}

// FuzzScript plays requests of five members against the script in a real store and
// against the reference. Every two bytes are one step.
func FuzzScript(f *testing.F) {
	f.Add([]byte("\x00\xff\xe0\x40\xe0\x40\xe0\x40\xe0\x40\x00\xff\x01\xff\x02\x10\x03\x00\x00\xff\x01\xff"))
	f.Add([]byte("\x00\xff\x01\xff\xe0\xff\xe0\xff\x00\x20\xc0\x00\x00\x20\x01\xff\xa0\x01\x01\x10\x02\xff\x80\x00"))
	f.Add([]byte("\xe0\xff\x00\x01\xe0\xff\x00\x01\xe0\xff\x00\x01\xe0\xff\x00\x01\xe0\xff\x00\x01\xe0\xff\x00\xff\x60\x05\x41\xff\x00\xff"))
	random := rand.NewChaCha8([32]byte{9})
	for range 100 {
		steps := make([]byte, 100)
		random.Read(steps)
		f.Add(steps)
	}
	c := client(f)
	script := redis.NewScript(clocked(f))
	run := 0
	f.Fuzz(func(t *testing.T, steps []byte) {
		run++
		p := play{t: t, client: c, script: script, key: fmt.Sprint("fuzz:", os.Getpid(), ":", run), members: map[string]int{}}
		p.model = reference{wall: 1_700_000_000_000, run: "a"}
		defer c.Del(t.Context(), p.key)
		for range 17 { // until new places are given out
			p.model.wall += 100
			p.ask(0, 50, 0)
		}
		for i := 0; i+1 < len(steps) && i < 200; i += 2 {
			p.step(steps[i], steps[i+1])
		}
	})
}

// play is one game of FuzzScript.
type play struct {
	t       *testing.T
	client  *redis.Client
	script  *redis.Script
	key     string
	model   reference
	members map[string]int // places that each honestly holds
	seq     int64
}

const gameLease = 1600 * time.Millisecond

func (p *play) step(op, arg byte) {
	switch op >> 5 {
	case 7: // time passes, at most a sixteenth of a lease at once
		p.model.wall += int64(arg) % 101
	case 6: // the store's clock steps
		p.model.wall += (int64(arg) - 128) * 1000
	case 5:
		p.hurt(op)
	case 3:
		p.ask(op, leave, int(arg))
	default:
		p.ask(op, int(arg), int(op>>3)&3)
	}
}

// hurt is rare, or new places would never be given out.
func (p *play) hurt(op byte) {
	switch op & 31 {
	case 0: // another process has the same data
		p.model.run += "b"
	case 1: // the data are lost, and so is what the members hold by the time it opens
		p.client.Del(p.t.Context(), p.key)
		p.model = reference{wall: p.model.wall, run: p.model.run + "c"}
		clear(p.members)
	default:
		p.model.wall += 100
	}
}

// ask sends a request of member op%5 that keeps a part of what it holds.
func (p *play) ask(op byte, want, keep int) {
	id := fmt.Sprint("m", op&7%5)
	p.seq++
	r := request{member: id, seq: p.seq, held: p.members[id] / (keep%4 + 1), want: want, pool: 100, lease: gameLease}
	if id == "m4" {
		r.pool = 80 // it has another plan, as in a rollout
	}
	if l, ok := p.model.leases[id]; !ok || l.ends <= p.model.now {
		r.held = 0 // it has lapsed
	}
	says, ok := p.model.do(r)
	got, err := p.call(r)
	if got != says || ok != (err == nil) {
		p.t.Fatalf("%+v\nscript says %+v, %v\nmodel says %+v, %t", r, got, err, says, ok)
	}
	// The same request again is overtaken by itself.
	if _, had := p.model.leases[id]; had {
		if _, err := p.call(r); !errors.Is(err, errOvertaken) {
			p.t.Fatalf("%+v again = %v, want %v", r, err, errOvertaken)
		}
	}
	p.members[id] = got.places
	sum := 0
	for _, l := range p.model.leases {
		sum += l.places
	}
	if sum > 100 {
		p.t.Fatalf("%d places leased of 100 after %+v: %+v", sum, r, p.model.leases)
	}
}

func (p *play) call(r request) (reply, error) {
	s := store{scripter: timed{p.client, p.model.wall, p.model.run}, script: p.script, key: p.key}
	return s.do(p.t.Context(), r)
}

// timed adds the store's clock and run to the arguments.
type timed struct {
	redis.Scripter
	wall int64
	run  string
}

func (c timed) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	return c.Scripter.Eval(ctx, script, keys, append(args, c.wall, c.run)...)
}

func (c timed) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	return c.Scripter.EvalSha(ctx, sha, keys, append(args, c.wall, c.run)...)
}
