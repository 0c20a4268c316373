package redisfleet

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/fleet"
	"github.com/offtake-go/offtake/internal/gate"
)

// workerEnv, if set, makes this binary a replica: its name, the socket of its store,
// and the socket of the upstream, with commas between.
const workerEnv = "REDISFLEET_WORKER"

// worker is a replica in a process of its own. It reads from its standard input how
// many callers it has, and ends with it, or drains on SIGTERM.
type worker struct {
	name     string
	upstream string
	gate     *gate.Gate
	callers  atomic.Int64
}

// longestCall is far below the plan's Deadline, so that a machine that stalls a
// process for a moment does not make it a liar.
const longestCall = 300 * time.Millisecond

func work() int {
	args := strings.Split(os.Getenv(workerEnv), ",")
	redis := dial(args[1])
	defer redis.Close()
	source, err := New(redis, "upstream", whole, 12, &Options{Floor: 2, Lease: processLease})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	w := &worker{name: args[0], upstream: args[2], gate: gate.New(limits(source.Floor()))}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go w.listen(os.Stdin)
	var calling, following sync.WaitGroup
	for i := range whole.InFlight {
		calling.Go(func() { w.call(ctx, int64(i)) })
	}
	following.Go(func() { source.Follow(ctx, w.resize, w.use) })
	following.Wait()
	calling.Wait()
	return 0
}

// listen ends the process with whoever started it.
func (w *worker) listen(in io.Reader) {
	for lines := bufio.NewScanner(in); lines.Scan(); {
		n, err := strconv.ParseInt(lines.Text(), 10, 64)
		if err != nil {
			break
		}
		w.callers.Store(n)
	}
	os.Exit(3)
}

func (w *worker) resize(p capacity.Plan) error {
	w.gate.Resize(limits(p))
	return nil
}

func limits(p capacity.Plan) gate.Limits {
	return gate.Limits{Places: p.InFlight, Queue: whole.InFlight, Wait: time.Second}
}

func (w *worker) use() fleet.Use {
	s := w.gate.Snapshot()
	return fleet.Use{InFlight: s.InFlight, Waiting: s.Waiting}
}

// call is the i-th caller, who has something to do while there are more than i.
func (w *worker) call(ctx context.Context, i int64) {
	for ctx.Err() == nil {
		if i < w.callers.Load() {
			if _, err := w.gate.Enter(ctx); err == nil {
				err := w.occupy()
				w.gate.Leave()
				if err == nil {
					continue
				}
				fmt.Fprintln(os.Stderr, w.name, err)
			}
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// occupy holds one place at the upstream. It has left there when it returns.
func (w *worker) occupy() error {
	var d net.Dialer
	conn, err := d.Dial("unix", w.upstream)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := fmt.Fprintln(conn, w.name); err != nil {
		return err
	}
	answers := bufio.NewReader(conn)
	if _, err := answers.ReadString('\n'); err != nil {
		return err
	}
	<-time.After(longestCall/4 + rand.N(longestCall*3/4))
	if _, err := fmt.Fprintln(conn, "done"); err != nil {
		return err
	}
	if s, err := answers.ReadString('\n'); err != nil || s != "done\n" {
		return errors.Join(err, fmt.Errorf("upstream says %q", s))
	}
	return nil
}
