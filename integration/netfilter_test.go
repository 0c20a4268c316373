package integration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/offtake-go/offtake"
	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/debug/registry"
	"github.com/offtake-go/offtake/grpcclient"
	"github.com/offtake-go/offtake/httpclient"
)

// packetFault is what the kernel of an upstream's host does with every packet that
// comes, once the client has a connection or before it has one, and the outcome
// that the metrics must have for the next call.
type packetFault struct {
	name       string
	rule       string // of iptables
	connected  bool
	http, grpc string
}

// A reset that no answer preceded is "reset" over HTTP. grpc-go says UNAVAILABLE of
// it, which is the code that a server would have to send too. What ICMP says of a
// connection that stands is a hint, and the kernel goes on trying.
var packetFaults = []packetFault{
	{"nothing", "", false, "2xx", "OK"},
	{"DROP before the dial", "DROP", false, "connect", "connect"},
	{"DROP on a connection", "DROP", true, "timeout", "timeout"},
	{"reset at the dial", "REJECT --reject-with tcp-reset", false, "connect", "connect"},
	{"reset on a connection", "REJECT --reject-with tcp-reset", true, "reset", "UNAVAILABLE"},
	{"port unreachable at the dial", "REJECT --reject-with icmp-port-unreachable", false, "connect", "connect"},
	{"port unreachable on a connection", "REJECT --reject-with icmp-port-unreachable", true, "timeout", "timeout"},
	{"host unreachable at the dial", "REJECT --reject-with icmp-host-unreachable", false, "connect", "connect"},
}

// TestEveryPacketFaultHasItsOutcome has both clients call an upstream in a network
// namespace of its own, whose packet filter then turns against them.
func TestEveryPacketFaultHasItsOutcome(t *testing.T) {
	for i, f := range packetFaults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			host := newNamespace(t, i)
			for protocol, start := range map[string]func(*testing.T, *namespace) *faultCaller{"http": overHTTP, "grpc": overGRPC} {
				want := map[string]string{"http": f.http, "grpc": f.grpc}[protocol]
				c := start(t, host)
				if f.connected {
					if err := c.call(t.Context()); err != nil {
						t.Fatalf("%s: call before the fault = %v, want nil", protocol, err)
					}
				}
				before := c.all()[want]
				host.filter(t, c.port, f.rule)
				err := c.call(t.Context())
				if got := c.all()[want] - before; got != 1 {
					t.Errorf("%s: the call ended with %v, and the metrics have %v, want one %s more", protocol, err, c.all(), want)
				}
				if failed := c.last(want); (err == nil) != (failed == "") {
					t.Errorf("%s: the last %s error is %q after %v, want its text", protocol, want, failed, err)
				}
				t.Logf("%s: %v", protocol, err)
			}
		})
	}
}

// namespace is a host of its own: a network namespace with one cable to this one.
type namespace struct{ name, address string }

func newNamespace(t *testing.T, number int) *namespace {
	t.Helper()
	need(t, "iptables", "iptables")
	need(t, "ip", "iproute2")
	id := fmt.Sprintf("offtake-%d-%d", os.Getpid(), number)
	cable := fmt.Sprintf("ot%d-%d", os.Getpid(), number)
	here, there := fmt.Sprintf("198.18.%d.1/30", number), fmt.Sprintf("198.18.%d.2/30", number) // RFC 2544: nobody's
	if out, err := exec.Command("ip", "netns", "add", id).CombinedOutput(); err != nil {
		missing(t, "a network namespace can't be made; root is needed, or CAP_SYS_ADMIN and CAP_NET_ADMIN: ip netns add: %v\n%s", err, out)
	}
	t.Cleanup(func() { mustRun(t, "ip", "netns", "del", id) })
	mustRun(t, "ip", "link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", id)
	t.Cleanup(func() { mustRun(t, "ip", "link", "del", cable) }) // or it would wait for the last socket
	for _, args := range [][]string{
		{"addr", "add", here, "dev", cable},
		{"link", "set", cable, "up"},
		{"-n", id, "addr", "add", there, "dev", "eth0"},
		{"-n", id, "link", "set", "eth0", "up"},
	} {
		mustRun(t, "ip", args...)
	}
	n := &namespace{id, strings.TrimSuffix(there, "/30")}
	eventually(t, 20*time.Second, "the cable carries packets", func() (any, bool) { // the first ones may be lost
		conn, err := net.DialTimeout("tcp", net.JoinHostPort(n.address, "1"), time.Second)
		if err == nil {
			conn.Close()
		}
		return err, errors.Is(err, syscall.ECONNREFUSED)
	})
	return n
}

// mustRun runs a program that must not fail.
func mustRun(t *testing.T, program string, args ...string) {
	t.Helper()
	if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", program, args, err, out)
	}
}

// filter has the namespace do something with all packets to a port, from now on.
func (n *namespace) filter(t *testing.T, port int, rule string) {
	t.Helper()
	if rule != "" {
		mustRun(t, "ip", append(strings.Fields(fmt.Sprintf("netns exec %s iptables -I INPUT -p tcp --dport %d -j", n.name, port)), strings.Fields(rule)...)...)
	}
}

// listen returns a listener in the namespace. A socket belongs to the namespace
// that its thread was in when it was made, whatever thread uses it; the thread that
// was there ends with its goroutine, since nobody unlocks it.
func (n *namespace) listen(t *testing.T) net.Listener {
	t.Helper()
	type listening struct {
		l   net.Listener
		err error
	}
	done := make(chan listening)
	go func() {
		runtime.LockOSThread()
		fd, err := unix.Open("/run/netns/"+n.name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			err = errors.Join(unix.Setns(fd, unix.CLONE_NEWNET), unix.Close(fd))
		}
		var l net.Listener
		if err == nil {
			l, err = net.Listen("tcp", net.JoinHostPort(n.address, "0"))
		}
		done <- listening{l, err}
	}()
	got := <-done
	if got.err != nil {
		t.Fatal(got.err)
	}
	return got.l
}

// faultCaller is a client of either kind, and what its metrics say.
type faultCaller struct {
	port     int // of its upstream
	call     func(context.Context) error
	metrics  *prometheus.Registry
	failures func() []offtake.Failure
}

func (c *faultCaller) all() map[string]uint64 {
	return registry.Source(c.metrics)().Upstreams[0].Outcomes
}

// last is the text of the last error of an outcome.
func (c *faultCaller) last(outcome string) string {
	for _, f := range c.failures() {
		if f.Outcome == outcome {
			return f.Text
		}
	}
	return ""
}

// faultPlan has no retry, which would hide how the first attempt ended, and more time
// for an attempt than a busy machine needs for one that meets no fault.
var faultPlan = capacity.Plan{InFlight: 2, Attempts: capacity.NoRetry, Attempt: 4 * time.Second, Deadline: 8 * time.Second}

// overHTTP sends POST requests: the transport itself would send a GET again on
// another connection, and the outcome would be that one's.
func overHTTP(t *testing.T, host *namespace) *faultCaller {
	t.Helper()
	upstream := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }))
	upstream.Listener.Close()
	upstream.Listener = host.listen(t)
	upstream.Start()
	t.Cleanup(upstream.Close)
	metrics := prometheus.NewRegistry()
	client, err := httpclient.New(upstream.URL, faultPlan, &httpclient.Options{Name: "upstream", Registerer: metrics})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	port := upstream.Listener.Addr().(*net.TCPAddr).Port
	return &faultCaller{port: port, metrics: metrics, failures: client.Failures, call: func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "/", nil)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		_, err = io.Copy(io.Discard, resp.Body)
		return err
	}}
}

func overGRPC(t *testing.T, host *namespace) *faultCaller {
	t.Helper()
	server := grpc.NewServer()
	healthpb.RegisterHealthServer(server, health.NewServer())
	l := host.listen(t)
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Stop()
		<-served
	})
	c := newGRPCCaller(t, l.Addr().String(), insecure.NewCredentials())
	c.port = l.Addr().(*net.TCPAddr).Port
	return c
}

// newGRPCCaller asks for the health of a server.
func newGRPCCaller(t *testing.T, address string, secure credentials.TransportCredentials) *faultCaller {
	t.Helper()
	metrics := prometheus.NewRegistry()
	conn, err := grpcclient.New("dns:///"+address, faultPlan, &grpcclient.Options{Name: "upstream", Registerer: metrics, Credentials: secure})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &faultCaller{metrics: metrics, failures: conn.Failures, call: func(ctx context.Context) error {
		_, err := healthpb.NewHealthClient(conn).Check(ctx, new(healthpb.HealthCheckRequest))
		return err
	}}
}
