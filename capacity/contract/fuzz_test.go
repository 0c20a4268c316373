package contract

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
)

func FuzzParse(f *testing.F) {
	good, err := os.ReadFile("testdata/offtake.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good, "staging")
	f.Add([]byte("a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\nservice: *c\n"), "")
	f.Add([]byte(strings.Repeat("[", 500)), "")
	f.Add([]byte(strings.Repeat("{a: ", 500)), "")
	f.Add([]byte(`{"service":"a","replicas":{"min":1e999}}`), "")
	f.Add([]byte("service: a\nreplicas: {min: 1}\nupstreams: {b: {target: 'http://b', rate: 1e9/s, latency: 24h}}\n"), "")
	f.Add([]byte("service: a\nreplicas: {min: 1000000000, max: 1000000000, surge: 100%}\ndoor: {inFlight: 1000000000}\n"), "")
	f.Add([]byte("environments: {a: [], b: 1}\nservice: !!binary x\n? [x]\n: y\n<<: {}\n"), "a")
	f.Fuzz(func(t *testing.T, data []byte, environment string) {
		c, err := Parse("f", data, environment)
		if (c == nil) == (err == nil) {
			t.Fatalf("Parse = %v, %v, want one of the two", c, err)
		}
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f:") && !strings.HasPrefix(err.Error(), "contract: f: environment") {
				t.Errorf("Parse = %v, want a place", err)
			}
			return
		}
		for name := range c.Upstreams {
			if p, err := c.Plan(name); err == nil {
				if again, err := p.Resolve(); err != nil || again != p {
					t.Errorf("Plan(%s) = %v, which resolves to %v, %v", name, p, again, err)
				}
			}
		}
	})
}

// many is a file with n upstreams.
func many(n int) []byte {
	var b bytes.Buffer
	b.WriteString("service: a\nreplicas: {min: 6, surge: 25%, unavailable: 25%}\ncallers: {c: {rate: 120/s, deadline: 8s}}\nupstreams:\n")
	for i := range n {
		fmt.Fprintf(&b, "  upstream-%d:\n    target: https://upstream-%d.example\n    rate: 120/s\n    p50: 30ms\n    p99: 200ms\n    degraded: 500ms\n    headroom: 1.3\n    limit: 2000\n    warm: {path: /healthz, time: 2s}\n", i, i)
	}
	b.WriteString("environments:\n  production:\n    upstreams:\n")
	for i := range n {
		fmt.Fprintf(&b, "      upstream-%d: {limit: 3000}\n", i)
	}
	return b.Bytes()
}

func TestFiftyUpstreamsRead(t *testing.T) {
	c, err := Parse("f", many(50), "production")
	if err != nil || len(c.Upstreams) != 50 || c.Upstreams["upstream-49"].Limit != 3000 {
		t.Fatalf("Parse of 50 upstreams = %v, %v", c, err)
	}
}

func BenchmarkParse50Upstreams(b *testing.B) {
	data := many(50)
	for b.Loop() {
		if _, err := Parse("f", data, "production"); err != nil {
			b.Fatal(err)
		}
	}
}
