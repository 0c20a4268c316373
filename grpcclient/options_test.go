package grpcclient

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/offtake-go/offtake"
	"github.com/offtake-go/offtake/capacity"
)

func TestNewReturnsEveryMistake(t *testing.T) {
	_, err := New("xds:///orders", capacity.Plan{InFlight: -1, Deadline: 100 * time.Hour}, &Options{
		DialOptions:   []grpc.DialOption{grpc.WithTransportCredentials(plaintext())},
		ServiceConfig: `{"methodConfig":[],"retryThrottling":{}}`,
		Streams:       -3,
		Lifetime:      -time.Second,
		Connect:       time.Minute,
		MaxAge:        -1,
		Keepalive:     keepalive.ClientParameters{Time: time.Second, Timeout: -1},
		Methods: map[string]Method{
			"Charge":             {Deadline: -1},
			"/shop.Orders/Place": {Retry: []codes.Code{codes.ResourceExhausted, codes.OK, 99}},
		},
	})
	for _, want := range []string{
		`"xds", which nothing resolves`, "google.golang.org/grpc/xds",
		"Plan.InFlight", "Plan.Deadline",
		"Options.DialOptions", "methodConfig", "retryThrottling", "Options.Streams",
		"Options.Lifetime", "Options.Connect", "Options.MaxAge", "Options.Keepalive.Time", "Options.Keepalive.Timeout",
		`Options.Methods["Charge"]: no method is named so`, `Options.Methods["Charge"].Deadline`,
		`Options.Methods["/shop.Orders/Place"].Retry: RESOURCE_EXHAUSTED`, "OK is the end of a call", "99 is no status code",
	} {
		if err == nil || !contains(err.Error(), want) {
			t.Errorf("New() = %v\nwant it to name %s", err, want)
		}
	}
}

func TestOptionsThatWouldDoNothingOrHarmAreMistakes(t *testing.T) {
	for _, tt := range []struct {
		options Options
		want    string
	}{
		{Options{DialOptions: []grpc.DialOption{grpc.WithUserAgent("x"), nil}}, "Options.DialOptions[1]: it is nil"},
		{Options{Resolvers: []resolver.Builder{nil}}, "Options.Resolvers[0]: it is nil"},
		{Options{MaxAge: 5}, "Options.MaxAge: 5ns is less than the 1s"},
		{Options{ServiceConfig: `{"loadBalancingConfg":[{"round_robin":{}}]}`}, `"loadBalancingConfg" can't be used; only "loadBalancingConfig" and`},
		{Options{ServiceConfig: `{"LoadBalancingConfig":[{"round_robin":{}}]}`}, "in this spelling"},
		{Options{ServiceConfig: `{"MethodConfig":[]}`}, `"MethodConfig" can't be used`},
		{Options{ServiceConfig: `{"loadBalancingConfig":null}`}, `"loadBalancingConfig" can't be used; it is null`},
	} {
		tt.options.Registerer = prometheus.NewRegistry()
		if c, err := New("orders:9000", capacity.Plan{InFlight: 1}, &tt.options); err == nil || !contains(err.Error(), tt.want) {
			t.Errorf("New() = %v, want it to say %s", err, tt.want)
			if err == nil {
				c.Close()
			}
		}
	}
}

func TestNewTakesGoodOptionsAndDoesNothing(t *testing.T) {
	for _, target := range []string{"orders:9000", "dns:///orders:9000", "passthrough:///anything", "unix:///run/orders.sock", "unix:orders.sock", "10.0.0.1", "dns:///[::1]:80"} {
		c, err := New(target, capacity.Plan{InFlight: 10}, &Options{Registerer: prometheus.NewRegistry()})
		if err != nil {
			t.Errorf("New(%q) = %v, want nil", target, err)
			continue
		}
		if s := c.Stats(); s.Open != 0 || s.Plan.Streams != defaultStreams || s.Plan.Connections != 1 {
			t.Errorf("Stats() of a new one = %+v, want nothing open, and %d streams on 1 connection", s, defaultStreams)
		}
		c.Close()
	}
}

func TestAClientIsNamedAfterItsTarget(t *testing.T) {
	for target, want := range map[string]string{
		"dns:///orders.example:9000": "orders.example",
		"orders:9000":                "orders",
		"passthrough:///10.1.2.3:80": "10.1.2.3",
		"unix:///run/orders.sock":    "/run/orders.sock",
	} {
		c := dial(t, target, capacity.Plan{InFlight: 1}, nil)
		if got := c.Stats().Upstream; got != want {
			t.Errorf("name of %q = %q, want %q", target, got, want)
		}
	}
}

func TestTwoClientsOfOneNameNeedTwoRegistries(t *testing.T) {
	r := prometheus.NewRegistry()
	first := dial(t, "orders:9000", capacity.Plan{InFlight: 1}, &Options{Registerer: r})
	_, err := New("orders:9000", capacity.Plan{InFlight: 1}, &Options{Registerer: r})
	if err == nil || !contains(err.Error(), "Options.Name") {
		t.Errorf("a second New() = %v, want it to name Options.Name", err)
	}
	first.Close()
	dial(t, "orders:9000", capacity.Plan{InFlight: 1}, &Options{Registerer: r})
}

// refusing takes the first collector only.
type refusing struct {
	prometheus.Registerer
	asked int
}

func (r *refusing) Register(c prometheus.Collector) error {
	if r.asked++; r.asked > 1 {
		return errors.New("that is enough")
	}
	return r.Registerer.Register(c)
}

func TestAClientThatCanNotBeMadeLeavesNoMetrics(t *testing.T) {
	r := prometheus.NewRegistry()
	if _, err := New("orders:9000", capacity.Plan{InFlight: 1}, &Options{Registerer: &refusing{Registerer: r}}); err == nil || !contains(err.Error(), "that is enough") {
		t.Errorf("New() with a registry that refuses = %v, want its error", err)
	}
	dial(t, "orders:9000", capacity.Plan{InFlight: 1}, &Options{Registerer: r})
}

func TestTargetsThatNameNothingAreMistakes(t *testing.T) {
	for _, target := range []string{"", "dns:///", "dns:///:0", "orders:0", "orders:70000", "orders:http:80", "http://orders:80", "zookeeper://zk/orders", "a:b:c:d"} {
		if _, err := New(target, capacity.Plan{InFlight: 1}, &Options{Registerer: prometheus.NewRegistry()}); err == nil || !contains(err.Error(), "target") {
			t.Errorf("New(%q) = %v, want a mistake of the target", target, err)
		}
	}
}

// TestAMistakeOfATargetNamesOneThatWouldDoAndNoPassword takes New at its word.
func TestAMistakeOfATargetNamesOneThatWouldDoAndNoPassword(t *testing.T) {
	would := regexp.MustCompile(`"([^"]*)" would do`)
	for target, want := range map[string]string{
		"http://orders:9000":                    "dns:///orders:9000",
		"xds:///orders":                         "dns:///orders",
		"kubernetes:///orders.shop:9000":        "dns:///orders.shop:9000",
		"http://":                               example,
		"orders:http":                           example,
		"https://me:secret@orders:9000":         "dns:///orders:9000",
		"me:secret@orders:9000":                 example,
		"dns:///me:secret@orders:9000":          example,
		"https://me:secret@orders:9000/%zz":     example,
		"https://me:sec@ret@orders:9000/a b%zz": example,
	} {
		_, err := parseTarget(target, nil)
		if err == nil {
			t.Errorf("parseTarget(%q) = nil, want a mistake", target)
			continue
		}
		if got := would.FindStringSubmatch(err.Error()); got == nil || got[1] != want {
			t.Errorf("parseTarget(%q) = %v, want it to name %q", target, err, want)
		} else if _, err := parseTarget(got[1], nil); err != nil {
			t.Errorf("parseTarget(%q) = %v, but it was said to do", got[1], err)
		}
		if contains(err.Error(), "sec") {
			t.Errorf("parseTarget(%q) = %v, want no password in it", target, err)
		}
	}
}

func TestNamesThatBringAPolicyHaveWholeChannels(t *testing.T) {
	xds := manual.NewBuilderWithScheme("xds")
	for name, tt := range map[string]struct {
		target string
		o      *Options
		own    bool
	}{
		"xds":                    {"xds:///orders", &Options{Resolvers: []resolver.Builder{xds}}, false},
		"a policy of the user's": {"orders:9000", &Options{ServiceConfig: `{"loadBalancingConfig":[{"round_robin":{}}]}`}, false},
		"ours":                   {"orders:9000", nil, true},
		"a health check alone":   {"orders:9000", &Options{ServiceConfig: `{"healthCheckConfig":{"serviceName":""}}`}, true},
	} {
		c := dial(t, tt.target, capacity.Plan{InFlight: 30, Streams: 10}, tt.o)
		want := 3
		if tt.own {
			want = 1
		}
		if got := len(c.core.channels); got != want || c.core.balancing.own != tt.own {
			t.Errorf("%s: %d channels, own %v, want %d, %v", name, got, c.core.balancing.own, want, tt.own)
		}
	}
}

func TestOurPolicyMayBeTheChildOfAnother(t *testing.T) {
	const config = `{"loadBalancingConfig":[{"outlier_detection_experimental":{"childPolicy":[{"offtake":{}}]}}]}`
	if b := newBalancing(config, true); !b.own || b.config != config {
		t.Errorf("newBalancing(%s) = %+v, want it as it is, and ours", config, b)
	}
}

func TestOurPolicyInAStrangersClientFailsEveryCall(t *testing.T) {
	cc, err := grpc.NewClient("passthrough:///upstream", grpc.WithTransportCredentials(plaintext()),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"offtake":{}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer cc.Close()
	if err := ask(t.Context(), cc); err == nil || !contains(err.Error(), "grpcclient.New only") {
		t.Errorf("call = %v, want it to say where the policy works", err)
	}
}

func TestAClosedClientRefuses(t *testing.T) {
	c := dial(t, "orders:9000", capacity.Plan{InFlight: 1}, nil)
	c.Close()
	for _, err := range []error{ask(t.Context(), c), func() error { _, err := c.NewStream(t.Context(), watchDesc, methodWatch); return err }()} {
		if !errors.Is(err, offtake.ErrClosed) {
			t.Errorf("call after Close = %v, want %v", err, offtake.ErrClosed)
		}
		wantCode(t, err, codes.Unavailable, ClientClosed)
	}
}

func FuzzTarget(f *testing.F) {
	for _, target := range []string{"orders:9000", "dns:///orders:9000", "unix:a", "xds:///o", "[::1]:80", "://", "dns://8.8.8.8/orders", "%zz"} {
		f.Add(target)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		to, err := parseTarget(raw, nil)
		if err != nil {
			return
		}
		if to.name() == "" {
			t.Errorf("parseTarget(%q) = %+v, want a name or a mistake", raw, to)
		}
		cc, err := grpc.NewClient(raw, grpc.WithTransportCredentials(plaintext()))
		if err != nil {
			t.Errorf("parseTarget(%q) = %+v, but grpc-go says %v", raw, to, err)
			return
		}
		cc.Close()
	})
}

func FuzzServiceConfig(f *testing.F) {
	for _, text := range []string{"", "{}", `{"loadBalancingConfig":[{"round_robin":{}}]}`, `[1]`, `{"loadBalancingConfig":7}`, "{"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if checkServiceConfig(text) != nil {
			return
		}
		if b := newBalancing(text, true); !strings.HasPrefix(b.config, "{") {
			t.Errorf("newBalancing(%q) = %q, want JSON", text, b.config)
		}
	})
}
