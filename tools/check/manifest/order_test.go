package manifest

import "testing"

// What is kept in maps must not decide what is read: the same input gives the same
// set each time. One run in two went wrong where a map's order did.
const orderRuns = 32

func TestAMeshConfigWithAConnectTimeoutIsNoCluster(t *testing.T) {
	const text = "connectTimeout: 5s\ndefaultConfig: {}\ndefaultTrafficPolicy: {}\n"
	for range orderRuns {
		if s := Parse("f", []byte(text)); len(s.Objects) != 1 || s.Objects[0].Kind != "MeshConfig" {
			t.Fatalf("Parse(%q) = %+v, want one MeshConfig", text, s.Objects)
		}
	}
}

func TestRoutesOfADumpComeInOneOrder(t *testing.T) {
	const text = `{"configs":[{
		"dynamic_route_configs":[{"route_config":{"name":"a","virtual_hosts":[]}}],
		"static_route_configs":[{"route_config":{"name":"b","virtual_hosts":[]}}]}]}`
	for range orderRuns {
		s := Parse("f", []byte(text))
		if len(s.Objects) != 1 {
			t.Fatalf("Parse = %+v, %+v, want one dump", s.Objects, s.Problems)
		}
		routes := s.Objects[0].Value.(*Envoy).Routes
		if len(routes) != 2 || routes[0].GetName() != "a" || routes[1].GetName() != "b" {
			t.Fatalf("routes = %v, want a and then b", routes)
		}
	}
}

func TestASubsetIsNotTheWholeService(t *testing.T) {
	const text = "outbound|80|v1|a::10.0.0.1:80::health_flags::healthy\n" +
		"outbound|80||a::10.0.0.1:80::health_flags::healthy\n" +
		"outbound|80||a::10.0.0.2:80::health_flags::/failed_eds_health\n"
	isA := func(cluster string) bool { return Host(cluster) == "a" }
	want := HostCount{Total: 2, Unready: 1}
	for range orderRuns {
		s := Parse("f", []byte(text))
		if got, ok := s.Objects[0].Value.(*Hosts).Hosts(isA); !ok || got != want {
			t.Fatalf("Hosts(a) = %+v %v, want %+v", got, ok, want)
		}
	}
	stats := &Stats{map[string]float64{
		"cluster.outbound|80|v1|a.membership_total": 1, "cluster.outbound|80|v1|a.membership_healthy": 1,
		"cluster.outbound|80||a.membership_total": 2, "cluster.outbound|80||a.membership_healthy": 1,
	}}
	if got, ok := stats.Hosts(isA); !ok || got != want {
		t.Errorf("Stats.Hosts(a) = %+v %v, want %+v", got, ok, want)
	}
}
