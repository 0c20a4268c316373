package check

import (
	"strings"
	"testing"

	"github.com/offtake-go/offtake/capacity/contract"
)

const (
	shopContract  = "service: shop\nreplicas: {min: 4}\ncallers: {web: {rate: 100/s, deadline: 4s}}\nupstreams:\n  orders: {target: 'http://orders', rate: 100/s, latency: 50ms, deadline: 2s, attempts: 1}\n"
	orderContract = "service: orders\nreplicas: {min: 4}\ncallers: {shop: {rate: 100/s, deadline: 2s, attempts: 1, replicas: 4}}\ndoor: {inFlight: 16, latency: 100ms}\nupstreams:\n  stock: {target: 'http://stock.prod:8080', rate: 100/s, latency: 20ms, deadline: 1s, attempts: 1}\n"
	stockContract = "service: stock\nreplicas: {min: 2}\ncallers: {orders: {rate: 100/s, deadline: 1s}}\ndoor: {inFlight: 16, latency: 20ms}\n"
)

// networkOf reads three contracts with edits: pairs of old and new text.
func networkOf(t *testing.T, edits ...string) *Network {
	t.Helper()
	var all []*contract.Contract
	for i, text := range []string{stockContract, shopContract, orderContract} {
		c, err := contract.Parse([]string{"stock.yaml", "shop.yaml", "orders.yaml"}[i], []byte(strings.NewReplacer(edits...).Replace(text)), "")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return NewNetwork(all)
}

func TestContractsAreHeldAgainstEachOther(t *testing.T) {
	back := "door: {inFlight: 16, latency: 20ms}\n"
	for _, c := range []struct {
		name, want, at string
		edits          []string
	}{
		{"all agree", "", "", nil},
		{"more is sent than taken", "N01", "orders.yaml:3", []string{"'http://orders', rate: 100/s", "'http://orders', rate: 130/s"}},
		{"a caller that nobody knows", "N01", "shop.yaml:5", []string{"callers: {shop:", "callers: {other:"}},
		{"a callee believes in more time", "N02", "orders.yaml:3", []string{"shop: {rate: 100/s, deadline: 2s", "shop: {rate: 100/s, deadline: 3s"}},
		{"and in fewer attempts", "N03", "orders.yaml:3", []string{"deadline: 2s, attempts: 1}", "deadline: 2s, attempts: 2, idempotent: true}"}},
		{"attempts multiply", "N03 N04", "stock.yaml:3", []string{"deadline: 2s, attempts: 1}", "deadline: 2s, attempts: 2, idempotent: true}", "attempts: 1, replicas", "attempts: 2, replicas", "deadline: 1s, attempts: 1}", "deadline: 1s, attempts: 2, idempotent: true}"}},
		{"deadlines that do not nest", "N05", "orders.yaml:6", []string{"latency: 20ms, deadline: 1s, attempts", "latency: 20ms, deadline: 2s, attempts", "orders: {rate: 100/s, deadline: 1s", "orders: {rate: 100/s, deadline: 2s"}},
		{"a circle of warming", "N06", "orders.yaml:6", []string{back, back + "upstreams: {orders: {target: 'http://orders', rate: 1/s, latency: 20ms, deadline: 300ms, attempts: 1}}\n", "callers: {shop:", "callers: {stock: {rate: 1/s, deadline: 300ms}, shop:", "deadline: 1s, attempts: 1}", "deadline: 200ms, attempts: 1}", "orders: {rate: 100/s, deadline: 1s", "orders: {rate: 100/s, deadline: 200ms"}},
		{"more than the door has", "N08", "orders.yaml:4", []string{"inFlight: 16, latency: 100ms", "inFlight: 2, latency: 100ms"}},
		{"no door that is stated", "", "", []string{"door: {inFlight: 16, latency: 100ms}\n", ""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			at := false
			r := networkOf(t, c.edits...).Check()
			for _, f := range r.Findings {
				if f.Severity == Error && (len(got) == 0 || got[len(got)-1] != f.Rule) {
					got = append(got, f.Rule)
				}
				at = at || f.Ref.String() == c.at
			}
			// The circle of the test can not nest all the way round.
			text := strings.Join(got, " ")
			if c.want == "N06" {
				text = strings.TrimPrefix(text, "N05 ")
			}
			if text != c.want || c.at != "" && !at {
				t.Errorf("findings = %+v, want %q at %s", r.Findings, c.want, c.at)
			}
		})
	}
}

func TestANetworkIsDrawnWithItsWorstEdgeFirst(t *testing.T) {
	n := networkOf(t, "latency: 20ms, deadline: 1s, attempts", "latency: 20ms, deadline: 2s, attempts")
	n.Check()
	want := "flowchart LR\n  s0[\"orders\"]\n  s1[\"shop\"]\n  s2[\"stock\"]\n" +
		"  s0 ==>|\"100/s, 2s, attempts 1, N05\"| s2\n  s1 -->|\"100/s, 2s, attempts 1\"| s0\n  linkStyle 0 stroke:#c00,color:#c00\n"
	if got := n.Mermaid(); got != want {
		t.Errorf("Mermaid = %s, want %s", got, want)
	}
}

func TestTwoContractsOfOneServiceAreNamed(t *testing.T) {
	c, err := contract.Parse("a.yaml", []byte(stockContract), "")
	if err != nil {
		t.Fatal(err)
	}
	if r := NewNetwork([]*contract.Contract{c, c}).Check(); len(r.Broken) != 1 {
		t.Errorf("Broken = %+v, want the second contract", r.Broken)
	}
}
