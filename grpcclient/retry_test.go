package grpcclient

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/budget"
	"github.com/offtake-go/offtake/internal/incoming"
	"github.com/offtake-go/offtake/internal/pipenet"
)

// idempotent allows retries of the test's call after these codes.
func idempotent(retry ...codes.Code) map[string]Method {
	return map[string]Method{methodCall: {Retry: retry}}
}

// script answers with one error after the other, and then well. It keeps what it
// was told of previous attempts.
type script struct {
	mu      sync.Mutex
	answers []error
	calls   int
	told    []string
}

func (s *script) call(ctx context.Context, body []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	md, _ := metadata.FromIncomingContext(ctx)
	s.told = append(s.told, strings.Join(md.Get(previousAttempts), ","))
	s.calls++
	if s.calls <= len(s.answers) {
		if pushback, ok := s.answers[s.calls-1].(pushback); ok {
			grpc.SetTrailer(ctx, metadata.Pairs(pushbackKey, string(pushback)))
			return nil, status.Error(codes.ResourceExhausted, "busy")
		}
		return nil, s.answers[s.calls-1]
	}
	return body, nil
}

// pushback is RESOURCE_EXHAUSTED with a trailer.
type pushback string

func (p pushback) Error() string { return string(p) }

func busy(after time.Duration) error {
	s, err := status.New(codes.ResourceExhausted, "busy").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(after)})
	if err != nil {
		return err
	}
	return s.Err()
}

func TestOnlyWhatMayBeRepeatedIs(t *testing.T) {
	unavailable, aborted := status.Error(codes.Unavailable, "no"), status.Error(codes.Aborted, "no")
	for _, tt := range []struct {
		name    string
		answers []error
		methods map[string]Method
		calls   int
		code    codes.Code
		atLeast time.Duration
	}{
		{"a code, by default", []error{unavailable}, nil, 1, codes.Unavailable, 0},
		{"a code that the method allows", []error{unavailable}, idempotent(codes.Unavailable), 2, codes.OK, 0},
		{"another code", []error{aborted}, idempotent(codes.Unavailable), 1, codes.Aborted, 0},
		{"no more often than the plan has attempts", []error{unavailable, unavailable, unavailable}, idempotent(codes.Unavailable), 3, codes.Unavailable, 0},
		{"busy without a word", []error{status.Error(codes.ResourceExhausted, "busy")}, nil, 1, codes.ResourceExhausted, 0},
		{"busy with RetryInfo", []error{busy(300 * time.Millisecond)}, nil, 2, codes.OK, 300 * time.Millisecond},
		{"busy with RetryInfo of no delay", []error{busy(0)}, nil, 2, codes.OK, 0},
		{"busy with RetryInfo of less than none", []error{busy(-time.Hour)}, nil, 2, codes.OK, 0},
		{"busy with a pushback", []error{pushback("300")}, nil, 2, codes.OK, 300 * time.Millisecond},
		{"busy with a pushback of none", []error{pushback("0")}, nil, 2, codes.OK, 0},
		{"busy with a pushback of never", []error{pushback("-1")}, nil, 1, codes.ResourceExhausted, 0},
		{"busy with a pushback that is none", []error{pushback("soon")}, nil, 1, codes.ResourceExhausted, 0},
		{"a server that drains", []error{withReason(codes.Unavailable, "going", ServerDraining).Err()}, nil, 2, codes.OK, 0},
		{"busy for longer than the call has", []error{busy(time.Minute)}, nil, 1, codes.ResourceExhausted, 0},
		{"a pushback for longer than the call has", []error{pushback("60000")}, nil, 1, codes.ResourceExhausted, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &script{answers: tt.answers}
			plan := capacity.Plan{InFlight: 1, Deadline: 2 * time.Second, Attempts: 3}
			bubble(t, plan, &Options{Methods: tt.methods}, &upstream{call: s.call}, func(t *testing.T, c *Conn) {
				warm(t, c)
				began := time.Now()
				err := ask(t.Context(), c)
				if status.Code(err) != tt.code || s.calls != tt.calls {
					t.Errorf("call = %v after %d attempts, want %v after %d", err, s.calls, tt.code, tt.calls)
				}
				if took := time.Since(began); took < tt.atLeast || tt.calls == 1 && took > 0 {
					t.Errorf("call took %v, want at least %v, and nothing without a retry", took, tt.atLeast)
				}
				if want := []string{"", "1", "2"}[:tt.calls]; !slices.Equal(s.told, want) {
					t.Errorf("server was told of previous attempts %q, want %q", s.told, want)
				}
				wantIdle(t, c)
			})
		})
	}
}

// TestAWordForLongerThanAnyCallEndsItAtOnce has a server that takes its time, so
// that what another attempt needs comes on top of the longest word there is.
func TestAWordForLongerThanAnyCallEndsItAtOnce(t *testing.T) {
	for _, word := range []error{busy(math.MaxInt64), pushback("2147483647")} {
		s := &script{answers: []error{word}}
		call := func(ctx context.Context, body []byte) ([]byte, error) {
			<-time.After(10 * time.Millisecond)
			return s.call(ctx, body)
		}
		bubble(t, capacity.Plan{InFlight: 1, Attempts: 3}, nil, &upstream{call: call}, func(t *testing.T, c *Conn) {
			warm(t, c)
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			began := time.Now()
			err := ask(ctx, c)
			if took := time.Since(began); status.Code(err) != codes.ResourceExhausted || took != 10*time.Millisecond {
				t.Errorf("call with the word %v = %v after %v, want RESOURCE_EXHAUSTED after 10ms", word, err, took)
			}
		})
	}
}

func TestAChangedPlanChangesTheShareOfRetries(t *testing.T) {
	plan := capacity.Plan{InFlight: 1, RetryShare: 0.1}
	bubble(t, plan, nil, &upstream{}, func(t *testing.T, c *Conn) {
		for range 10 {
			ask(t.Context(), c)
		}
		plan.RetryShare = 0.5
		if err := c.Resize(plan); err != nil {
			t.Fatal(err)
		}
		if got, want := c.Stats().RetryBalance, budget.Floor+10*0.5; got != want {
			t.Errorf("retries after ten calls and a share of 0.5 = %v, want %v", got, want)
		}
	})
}

func TestNeverIsNeverWhateverTheCode(t *testing.T) {
	calls := 0
	u := &upstream{call: func(ctx context.Context, _ []byte) ([]byte, error) {
		calls++
		grpc.SetTrailer(ctx, metadata.Pairs(pushbackKey, "-1"))
		return nil, status.Error(codes.Unavailable, "and stay away")
	}}
	bubble(t, capacity.Plan{InFlight: 1}, &Options{Methods: idempotent(codes.Unavailable)}, u, func(t *testing.T, c *Conn) {
		if err := ask(t.Context(), c); status.Code(err) != codes.Unavailable || calls != 1 {
			t.Errorf("call = %v after %d attempts, want UNAVAILABLE after 1", err, calls)
		}
	})
}

func TestACallForARetryIsNotRepeated(t *testing.T) {
	s := &script{answers: []error{status.Error(codes.Unavailable, "no")}}
	bubble(t, capacity.Plan{InFlight: 1}, &Options{Methods: idempotent(codes.Unavailable)}, &upstream{call: s.call}, func(t *testing.T, c *Conn) {
		if err := ask(incoming.NewContext(t.Context(), 2), c); status.Code(err) != codes.Unavailable || s.calls != 1 {
			t.Errorf("call = %v after %d attempts, want UNAVAILABLE after 1", err, s.calls)
		}
	})
}

func TestRetriesAreAShareOfWhatSucceeds(t *testing.T) {
	var n atomic.Int64
	half := func(ctx context.Context, body []byte) ([]byte, error) {
		md, _ := metadata.FromIncomingContext(ctx)
		if len(md.Get(previousAttempts)) == 0 && n.Add(1)%2 == 0 {
			return nil, status.Error(codes.Unavailable, "every second first attempt")
		}
		return body, nil
	}
	r := prometheus.NewRegistry()
	plan := capacity.Plan{InFlight: 1, RetryShare: 0.2}
	bubble(t, plan, &Options{Methods: idempotent(codes.Unavailable), Registerer: r}, &upstream{call: half}, func(t *testing.T, c *Conn) {
		const calls = 2000
		failed := 0
		for i := range calls {
			if i == calls/2 {
				c.core.pool.resize() // grpc-go's throttle begins anew with each update
			}
			if err := ask(t.Context(), c); err != nil {
				failed++
			}
			<-time.After(time.Millisecond)
		}
		retries := float64(calls/2 - failed)
		// Of n calls half succeed at once, and each of r retries: r = 0.2 (n/2 + r).
		want := 0.2 * (calls / 2) / (1 - 0.2)
		if math.Abs(retries-want) > 0.02*calls {
			t.Errorf("retries of %d calls, half of which fail at first = %v, want %v", calls, retries, want)
		}
		if _, counted := series(t, r, "offtake_client_retries_total", map[string]string{"reason": "status"}); counted != retries {
			t.Errorf("offtake_client_retries_total = %v, want %v", counted, retries)
		}
	})
}

func TestATotalOutageIsNotRetriedAway(t *testing.T) {
	var served atomic.Int64
	u := &upstream{call: func(context.Context, []byte) ([]byte, error) {
		served.Add(1)
		return nil, status.Error(codes.Unavailable, "no")
	}}
	r := prometheus.NewRegistry()
	bubble(t, capacity.Plan{InFlight: 1, Attempts: 3}, &Options{Methods: idempotent(codes.Unavailable), Registerer: r}, u, func(t *testing.T, c *Conn) {
		for range 100 {
			ask(t.Context(), c)
		}
		if got := served.Load(); got != 100+budget.Floor {
			t.Errorf("attempts of 100 calls in an outage = %d, want %d: the floor of the budget", got, 100+budget.Floor)
		}
		limited := func(observed string) float64 {
			_, n := series(t, r, "offtake_client_limited_total", map[string]string{"limit": "retry_budget", "observed": observed})
			return n
		}
		if got := limited("false"); got != 99 { // the first three retries were of two calls
			t.Errorf("retries not sent for want of budget = %v, want 99", got)
		}
		c.Observe(true)
		served.Store(0)
		for range 10 {
			ask(t.Context(), c)
		}
		if got := served.Load(); got != 30 {
			t.Errorf("attempts of 10 calls in observe mode = %d, want 30", got)
		}
		if got := limited("true"); got != 20 {
			t.Errorf("retries sent all the same = %v, want 20", got)
		}
		if got := c.Stats().RetryBalance; got != -20 {
			t.Errorf("balance after as many that there was no budget for = %v, want -20", got)
		}
	})
}

// TestThreeLayersDoNotMultiply has the bottom of three fail always, each with three
// attempts: 27 for one, without a budget.
func TestThreeLayersDoNotMultiply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var bottom atomic.Int64
		call := func(context.Context, []byte) ([]byte, error) {
			bottom.Add(1)
			return nil, status.Error(codes.Unavailable, "always")
		}
		plan := capacity.Plan{InFlight: 4, Attempts: 3, RetryShare: 0.2}
		var top *Conn
		for range 3 {
			top = piped(t, plan, &Options{Methods: idempotent(codes.Unavailable)}, &upstream{call: call})
			below := top
			call = func(ctx context.Context, body []byte) ([]byte, error) { return body, ask(ctx, below) }
		}
		for range 100 {
			ask(t.Context(), top)
		}
		if got := bottom.Load(); got > 200 {
			t.Errorf("attempts at the bottom for 100 calls = %d, want at most 200", got)
		}
	})
}

func TestTwoAttemptsThatEndAlikeAreToldOnce(t *testing.T) {
	u := &upstream{call: failing(codes.Unavailable)}
	bubble(t, capacity.Plan{InFlight: 1}, &Options{Methods: idempotent(codes.Unavailable)}, u, func(t *testing.T, c *Conn) {
		err := ask(t.Context(), c)
		if want := "after 2 attempts: rpc error: code = Unavailable desc = as the test has it (and the same before that)"; err == nil || err.Error() != want {
			t.Errorf("call = %q, want %q", err, want)
		}
	})
}

func TestTheErrorBeforeTheDeadlineIsNotLost(t *testing.T) {
	var n atomic.Int64
	u := &upstream{call: func(ctx context.Context, body []byte) ([]byte, error) {
		if n.Add(1) <= 2 {
			return nil, status.Error(codes.Unavailable, "the disk is full")
		}
		return slow(time.Minute)(ctx, body)
	}}
	bubble(t, capacity.Plan{InFlight: 1, Attempts: 3}, &Options{Methods: idempotent(codes.Unavailable)}, u, func(t *testing.T, c *Conn) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		err := ask(ctx, c)
		e, ok := errors.AsType[*RetryError](err)
		if !ok || e.Attempts != 3 || !errors.Is(err, context.DeadlineExceeded) || status.Code(e.Earlier) != codes.Unavailable {
			t.Errorf("call = %v, want the deadline, and UNAVAILABLE before it", err)
		}
		if !contains(err.Error(), "the disk is full") {
			t.Errorf("call = %q, want the earlier cause in it", err)
		}
		wantCode(t, err, codes.DeadlineExceeded, InServer)
	})
}

func TestServersThatSendConnectionsAwayFailNoCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := pipenet.Listen()
		serve(t, l, &upstream{call: slow(20 * time.Millisecond)}, grpc.KeepaliveParams(keepalive.ServerParameters{
			MaxConnectionAge: 500 * time.Millisecond, MaxConnectionAgeGrace: 200 * time.Millisecond,
		}))
		c := dial(t, "passthrough:///upstream", capacity.Plan{InFlight: 50, Streams: 25, Wait: 2 * time.Second}, &Options{
			Methods: idempotent(codes.Unavailable),
			Dial:    pipeDial(l),
		})
		warm(t, c)
		var group sync.WaitGroup
		for range 1000 { // 200 per second for 5 s
			group.Go(func() {
				if err := ask(context.Background(), c); err != nil {
					t.Errorf("call = %v, want nil", err)
				}
			})
			<-time.After(5 * time.Millisecond)
		}
		group.Wait()
		wantIdle(t, c)
	})
}

func TestAnAttemptThatFoundNoConnectionIsRepeatedWhateverTheMethod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 1, nil)
		f.delay["server-0"] = 300 * time.Millisecond
		plan := capacity.Plan{InFlight: 1, Attempt: 200 * time.Millisecond, Deadline: time.Second}
		c := dial(t, fleetName, plan, f.options())
		if err := ask(t.Context(), c); err != nil || f.served["server-0"].Load() != 1 {
			t.Errorf("call = %v, served %d times, want nil and once: the first attempt was never sent", err, f.served["server-0"].Load())
		}
	})
}

// TestWhatAnInterceptorSendsWithAnotherContextIsNotCalledUnsent: no picker sees whose
// call that is.
func TestWhatAnInterceptorSendsWithAnotherContextIsNotCalledUnsent(t *testing.T) {
	detached := func(_ context.Context, method string, req, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, options ...grpc.CallOption) error {
		return invoker(context.Background(), method, req, reply, cc, options...)
	}
	s := &script{answers: []error{status.Error(codes.Unavailable, "after half of the work")}}
	o := &Options{DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(detached)}}
	bubble(t, capacity.Plan{InFlight: 1, Attempts: 2}, o, &upstream{call: s.call}, func(t *testing.T, c *Conn) {
		warm(t, c)
		wantCode(t, ask(t.Context(), c), codes.Unavailable, "")
		if s.calls != 1 {
			t.Errorf("calls = %d, want 1: the method allows no repeat", s.calls)
		}
	})
}

func TestACallWhoseCallerHasLeftSpendsNoBudget(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	leaving := func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, options ...grpc.CallOption) error {
		defer cancel() // between the answer and the retry
		return invoker(ctx, method, req, reply, cc, options...)
	}
	o := &Options{DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(leaving)}, Methods: idempotent(codes.Unavailable)}
	bubble(t, capacity.Plan{InFlight: 1}, o, &upstream{call: failing(codes.Unavailable)}, func(t *testing.T, c *Conn) {
		warm(t, c)
		wantCode(t, ask(ctx, c), codes.Unavailable, "")
		if got := c.Stats().RetryBalance; got != budget.Floor {
			t.Errorf("balance = %v, want %d", got, budget.Floor)
		}
	})
}

// TestStreamsThatLastForbidNoRetry: what another attempt needs is no more than what it
// may have, however long places are held on the whole.
func TestStreamsThatLastForbidNoRetry(t *testing.T) {
	s := &script{answers: []error{status.Error(codes.Unavailable, "no")}}
	o := &Options{Methods: idempotent(codes.Unavailable)}
	bubble(t, capacity.Plan{InFlight: 2, Deadline: time.Second, BodyIdle: time.Minute}, o, &upstream{call: s.call, stream: ticking(1, 50*time.Second)}, func(t *testing.T, c *Conn) {
		if _, err := drain(watchStream(t.Context(), t, c)); err != io.EOF {
			t.Fatal(err)
		}
		if err := ask(t.Context(), c); err != nil {
			t.Errorf("call after a stream of 50s = %v, want nil", err)
		}
	})
}

func TestAPushbackIsOneNumber(t *testing.T) {
	for _, tt := range []struct {
		words []string
		want  int64
	}{
		{[]string{"0"}, 1}, {[]string{"300"}, 301}, {[]string{"2147483647"}, math.MaxInt32 + 1},
		{[]string{"-1"}, -1}, {[]string{""}, -1}, {[]string{"2147483648"}, -1}, {[]string{"1e3"}, -1}, {[]string{"10", "20"}, -1},
	} {
		if got := parsePushback(tt.words); got != tt.want {
			t.Errorf("parsePushback(%q) = %d, want %d", tt.words, got, tt.want)
		}
	}
}
