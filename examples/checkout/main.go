// Command checkout replays an incident, INC-1187, on this machine with real HTTP
// servers and clients, and then replays it with a client sized from its traffic.
//
// Callers place orders, 120 a second. Six replicas of a payment gateway have each
// authorized by a card processor, which takes 0.3 s, and from midday on 1.2 s.
// In round one the gateway's client has ten connections, "like the other
// client", and a timeout of 10 s, while its callers give up after 8 s and try
// once more. In round two the client has what capacity.Demand derives, and a
// door stands in front.
//
// All times are divided by one factor, and the rate is multiplied by it, so that
// the numbers in flight are the real ones; what is printed is scaled back.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C does not wait for anything
	err := run(ctx, os.Args[1:], os.Stdout)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "checkout: interrupted")
		os.Exit(interrupted)
	default:
		fmt.Fprintln(os.Stderr, "checkout:", err)
		os.Exit(1)
	}
}

// interrupted is the exit code that shells give a program that SIGINT, signal 2,
// has ended.
const interrupted = 128 + 2

func run(ctx context.Context, args []string, out io.Writer) error {
	in := incident()
	flags := flag.NewFlagSet("checkout", flag.ContinueOnError)
	flags.Float64Var(&in.rate, "rate", in.rate, "orders per second")
	flags.Float64Var(&in.scale, "scale", in.scale, "how many times faster than in the incident")
	flags.DurationVar(&in.morning, "morning", in.morning, "incident time before midday")
	flags.DurationVar(&in.midday, "midday", in.midday, "incident time after midday")
	flags.Uint64Var(&in.seed, "seed", in.seed, "of the arrivals and latencies")
	serve := flags.String("serve", "", "serve the metrics on this `address`, as 127.0.0.1:0, until interrupted")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := in.check(); err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	if *serve != "" {
		l, err := net.Listen("tcp", *serve)
		if err != nil {
			return err
		}
		defer l.Close()
		go http.Serve(l, promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
		fmt.Fprintf(out, "metrics of round two: http://%s/metrics\n\n", l.Addr())
	}
	return replay(ctx, in, registry, out, func(_, _ *tally) {
		if *serve != "" {
			fmt.Fprintln(out, "\nserving metrics; Ctrl-C ends it")
			<-ctx.Done()
		}
	})
}

// replay plays both rounds, compares them, and calls after while the replicas of
// round two still stand.
func replay(ctx context.Context, in Incident, registry prometheus.Registerer, out io.Writer, after func(copied, planned *tally)) error {
	fmt.Fprint(out, in)
	copied := new(tally)
	err := play(ctx, in, copied, out, round{
		title: "round one: the copied number",
		gateway: func(upstream string, _ int) (http.Handler, func(), error) {
			return copiedGateway(in, copied, upstream)
		},
	})
	if err != nil {
		return err
	}
	plan, err := in.demand().Explain()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nthe plan of round two, for each of %d replicas (times divided by %g):\n%s", in.replicas, in.scale, plan)
	planned := new(tally)
	return play(ctx, in, planned, out, round{
		title: "round two: a client from capacity.Demand, and a door",
		gateway: func(upstream string, i int) (http.Handler, func(), error) {
			labels := prometheus.Labels{"replica": strconv.Itoa(i)}
			return plannedGateway(ctx, in, planned, upstream, prometheus.WrapRegistererWith(labels, registry))
		},
		after: func() {
			compare(out, in, copied, planned)
			after(copied, planned)
		},
	})
}

// Incident is what happened, in its own time.
type Incident struct {
	scale           float64
	seed            uint64
	rate            float64 // orders per second
	replicas        int     // of the gateway
	limit           int     // of the processor, for all of them together
	fast, slow      time.Duration
	morning, midday time.Duration // how long the processor is fast, and then slow
	copiedPool      int           // connections for each replica, in round one
	copiedTimeout   time.Duration
	giveUp          time.Duration // of a caller, for each of its two tries
}

func incident() Incident {
	return Incident{
		scale:         5,
		seed:          1187,
		rate:          120,
		replicas:      6,
		limit:         200,
		fast:          300 * time.Millisecond,
		slow:          1200 * time.Millisecond,
		morning:       20 * time.Second,
		midday:        60 * time.Second,
		copiedPool:    10,
		copiedTimeout: 10 * time.Second,
		giveUp:        8 * time.Second,
	}
}

func (in Incident) check() error {
	var errs []error
	if !(in.rate > 0 && in.rate <= 1000) {
		errs = append(errs, fmt.Errorf("-rate %v is not in (0, 1000] orders per second; 120 is the incident's", in.rate))
	}
	if !(in.scale >= 1 && in.scale <= 20) {
		errs = append(errs, fmt.Errorf("-scale %v is not in [1, 20]; 5 would do: above it this machine is the bottleneck", in.scale))
	}
	if in.morning < 0 || in.midday <= 0 || in.morning+in.midday > time.Hour {
		errs = append(errs, fmt.Errorf("-morning %v and -midday %v must be positive and an hour at most together", in.morning, in.midday))
	}
	return errors.Join(errs...)
}

// String tells what is played.
func (in Incident) String() string {
	return fmt.Sprintf(`INC-1187: %g orders/s → %d gateway replicas → card processor (%v, from midday on %v; %d connections for all)
callers give up after %v and try once more; all times are divided by %g

`, in.rate, in.replicas, in.fast, in.slow, in.limit, in.giveUp, in.scale)
}

// fastTime is a time of the incident on this machine.
func (in Incident) fastTime(d time.Duration) time.Duration {
	return time.Duration(float64(d) / in.scale)
}

// realTime is a time on this machine in the incident.
func (in Incident) realTime(d time.Duration) time.Duration {
	return time.Duration(float64(d) * in.scale)
}
