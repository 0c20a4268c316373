package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/capacity/contract"
)

// demandFlags are a demand on the command line.
type demandFlags struct {
	rate                     contract.Rate
	latency, p50, p99        time.Duration
	degraded                 time.Duration
	replicas, most, draining int
	surge, unavailable       capacity.Pods
	headroom                 float64
	waitChance               contract.Share
	limit, streams           int
	deadline                 time.Duration
	idempotent               bool
}

func plan(c *call, args []string) (int, error) {
	var d demandFlags
	f := c.flags("plan")
	file := f.String("f", "offtake.yaml", "the contract, unless -rate is given")
	environment := f.String("env", "", "the environment of the contract")
	format := f.String("format", "text", "text or json")
	best := f.Bool("best", false, "plan what an infeasible demand allows, with its shortfall")
	textFlag(f, &d.rate, "rate", "peak rate of all replicas, such as `120/s`")
	durationFlag(f, &d.latency, "latency", "mean latency to the end of the body, such as `300ms`")
	durationFlag(f, &d.p50, "p50", "median `latency`, instead of -latency")
	durationFlag(f, &d.p99, "p99", "99th percentile of the `latency`, beside -p50")
	durationFlag(f, &d.degraded, "degraded", "mean `latency` that must be survived (default: none)")
	f.IntVar(&d.replicas, "replicas", 0, "least number of replicas")
	f.IntVar(&d.most, "max-replicas", 0, "most replicas (default: -replicas)")
	textFlag(f, &d.surge, "surge", "maxSurge of a rollout, such as `25%` or 1")
	textFlag(f, &d.unavailable, "unavailable", "maxUnavailable of a rollout, such as `25%` or 1")
	f.IntVar(&d.draining, "draining", 0, "replaced pods that still hold connections")
	f.Float64Var(&d.headroom, "headroom", 0, "multiple of the peak to have places for (default 2)")
	textFlag(f, &d.waitChance, "wait-chance", "`chance` that a call at peak waits (default 5%, as far as the limit allows)")
	f.IntVar(&d.limit, "limit", 0, "connections the upstream allows to all replicas together")
	f.IntVar(&d.streams, "streams", 0, "requests per connection (default 1)")
	durationFlag(f, &d.deadline, "deadline", "`time` after which the caller gives up (default 10s)")
	f.BoolVar(&d.idempotent, "idempotent", false, "every call may be repeated, whatever its method")
	names, err := c.parse(f, args)
	if err != nil {
		return exitBadInput, err
	}
	if *format != "text" && *format != "json" {
		return exitBadInput, fmt.Errorf("offtake plan: format %q is not known; text or json would do", *format)
	}
	if d.rate != 0 || d.replicas != 0 {
		if len(names) > 0 {
			return exitBadInput, fmt.Errorf("offtake plan: -rate and -replicas state one demand, which has no name; without %s, or without them, would do", names[0])
		}
		x, err := d.demand().Explain()
		err = inFlags(err)
		return c.printPlan("", x, err, *format, *best)
	}
	k, err := load(*file, *environment)
	if err != nil {
		return exitBadInput, err
	}
	return c.printPlans(k, names, *format, *best)
}

func (d demandFlags) demand() capacity.Demand {
	return capacity.Demand{
		Rate: float64(d.rate), Latency: d.latency, P50: d.p50, P99: d.p99, Degraded: d.degraded, Replicas: d.replicas, MaxReplicas: d.most,
		Surge: d.surge, Unavailable: d.unavailable, Draining: d.draining, Headroom: d.headroom, WaitChance: float64(d.waitChance),
		Limit: d.limit, Streams: d.streams, Deadline: d.deadline, Idempotent: d.idempotent,
	}
}

// inFlags writes the mistakes of a demand, which have the names of Go fields, in
// those of flags. Whatever else is wrong stays.
func inFlags(err error) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return err
	}
	var errs []error
	for _, err := range joined.Unwrap() {
		m, ok := errors.AsType[*capacity.Mistake](err)
		if !ok {
			return err
		}
		demand := reflect.TypeFor[capacity.Demand]()
		text := regexp.MustCompile(`\b[A-Z]\w*\b`).ReplaceAllStringFunc(m.Field+": "+m.Problem+"; "+strings.ReplaceAll(m.Remedy, "300*time.Millisecond", "300ms"), func(word string) string {
			if _, ok := demand.FieldByName(word); !ok {
				return word
			}
			return "-" + strings.ToLower(regexp.MustCompile(`([a-z])([A-Z])`).ReplaceAllString(word, "$1-$2"))
		})
		errs = append(errs, errors.New("offtake plan: "+text))
	}
	return errors.Join(errs...)
}

// printPlans prints the upstreams of a contract: those that are named, or all.
func (c *call) printPlans(k *contract.Contract, names []string, format string, best bool) (int, error) {
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(k.Upstreams))
	}
	worst := exitOK
	for _, name := range names {
		x, err := k.Explain(name)
		code, err := c.printPlan(name, x, err, format, best)
		if err != nil {
			return code, err
		}
		worst = max(worst, code)
	}
	return worst, nil
}

// printPlan prints one plan, or why there is none.
func (c *call) printPlan(name string, x *capacity.Explanation, err error, format string, best bool) (int, error) {
	if e, ok := errors.AsType[*capacity.Infeasible](err); ok {
		return c.printInfeasible(name, e, format, best)
	}
	if err != nil {
		return exitBadInput, err
	}
	if format == "json" {
		answer := map[string]any{"upstream": name, "plan": x.Plan}
		if full := x.Plan.FullAt(); full > 0 {
			answer["fullAt"] = full.String()
		}
		return exitOK, c.printJSON(answer)
	}
	if name != "" {
		fmt.Fprintf(c.stdout, "%s\n", name)
	}
	if len(x.Sizes()) == 0 {
		fmt.Fprintf(c.stdout, "%v\n\n", x.Plan)
		return exitOK, nil
	}
	fmt.Fprintf(c.stdout, "%v%s\n", x, narrow(x.Plan))
	return exitOK, nil
}

// narrow warns of a plan that an ordinary slowdown of the upstream fills.
func narrow(p capacity.Plan) string {
	if s := p.Slack(); s == 0 || s >= capacity.LeastSlack {
		return ""
	}
	return fmt.Sprintf("warning: full at a mean of %v, %.3g × the stated %v: when the upstream becomes that slow, calls are refused here; %d × is %d places\n",
		p.FullAt(), p.Slack(), p.Latency, capacity.LeastSlack, int(math.Ceil(capacity.LeastSlack*p.Rate*p.Latency.Seconds())))
}

func (c *call) printInfeasible(name string, e *capacity.Infeasible, format string, best bool) (int, error) {
	p, short, err := e.Best()
	if format == "json" {
		answer := map[string]any{"upstream": name, "infeasible": e.Error(), "floor": e.Floor.Places, "ceiling": e.Ceiling.Places, "factor": e.Factor, "levers": e.Levers}
		if err == nil && best {
			answer["plan"], answer["shortfall"] = p, short
		}
		return exitFindings, c.printJSON(answer)
	}
	if name != "" {
		fmt.Fprintf(c.stdout, "%s\n", name)
	}
	fmt.Fprintf(c.stdout, "%s\n", e.Explain())
	if !best {
		return exitFindings, nil
	}
	if err != nil {
		return exitFindings, err
	}
	fmt.Fprintf(c.stdout, "best: %v\nit carries %.4g/s, %.4g × the peak; %.1f %% must be refused at %g × the peak, %.1f %% at the peak itself, and %.3g %% of calls wait\n",
		p, short.Carried, short.Factor, 100*short.Refused, e.Demand.Headroom, 100*short.PeakRefused, 100*short.WaitChance)
	return exitFindings, nil
}

func (c *call) printJSON(v any) error {
	e := json.NewEncoder(c.stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
