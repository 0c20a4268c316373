package manifest

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
)

// TestANeighbourNeverHidesAManifest puts what repositories have beside manifests into
// one folder with a rule: none of it is a problem, and each kind is noted once.
func TestANeighbourNeverHidesAManifest(t *testing.T) {
	dir := tree(t)
	for name, text := range map[string]string{
		"chart/Chart.yaml":                "apiVersion: v2\nname: c\n",
		"chart/templates/a.yaml":          "{{- if .Values.x }}\napiVersion: v1\nkind: Service\nmetadata:\n  name: {{ .Values.name }}\n{{- end }}\n",
		"chart/templates/b.yaml":          "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  replicas: '{{ .Values.n }}'\n",
		"overlays/delete.yaml":            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: load}\n$patch: delete\n",
		"overlays/order.yaml":             "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {template: {spec: {$setElementOrder/containers: [{name: a}]}}}\n",
		"tsconfig.json":                   "{\n  // of the page\n  \"compilerOptions\": {\"strict\": true,},\n}\n",
		"package.json":                    "{\"name\": \"page\" \"x\"}\n",
		"node_modules/readme.txt":         "do: this: and: that\n",
		"dashboards/latency.json":         "{\"title\": \"Latency\", \"panels\": []}",
		".github/workflows/continue.yaml": "on: push\njobs: {a: {steps: [{run: make}]}}\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	link(t, "nowhere", filepath.Join(dir, "gone.yaml"))
	s, err := Read([]string{dir}, nil)
	if err != nil || len(s.Objects) != 1 || len(s.Problems) != 1 || s.Problems[0].Field == "" {
		t.Fatalf("Read = %+v, %v, want the rule, and of problems only the field that it misspells", s, err)
	}
	var whys []string
	for _, n := range s.Notes {
		whys = append(whys, n.Why)
	}
	slices.Sort(whys)
	want := []string{string(danglings), string(patch), string(template), string(kindless)}
	slices.Sort(want)
	if !slices.Equal(whys, want) {
		t.Errorf("Notes = %+v, want one of each of %q", s.Notes, want)
	}
	for _, n := range s.Notes {
		if n.Why == string(template) && len(n.Refs) != 2 || n.Why == string(patch) && len(n.Refs) != 2 {
			t.Errorf("%+v, want both places", n)
		}
	}
}

func TestATemplateThatIsNamedIsAProblem(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.yaml")
	if err := os.WriteFile(path, []byte("{{- if .Values.x }}\nkind: Service\n{{- end }}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if s, err := Read([]string{path}, nil); err != nil || len(s.Problems) != 1 {
		t.Errorf("Read(a template by its name) = %+v, %v, want a problem: it was asked for", s, err)
	}
}

func TestEnvoyTakesItsEnumerationsInAnyCase(t *testing.T) {
	for _, name := range []string{"strict_dns", "STRICT_DNS", "Strict_Dns"} {
		s := Parse("f", []byte("static_resources:\n  clusters:\n  - {name: stock, connect_timeout: 0.25s, type: "+name+", lb_policy: round_robin, dns_lookup_family: v4_only,\n      circuit_breakers: {thresholds: [{priority: high, max_requests: 3}]}}\n"))
		if len(s.Problems) > 0 || len(s.Objects) != 1 {
			t.Fatalf("Parse with %s = %+v, want no problem", name, s.Problems)
		}
		c := s.Objects[0].Value.(*Envoy).Clusters[0]
		if c.GetType() != clusterv3.Cluster_STRICT_DNS || c.GetCircuitBreakers().GetThresholds()[0].GetPriority().String() != "HIGH" {
			t.Errorf("Parse with %s = %v", name, c)
		}
	}
	if s := Parse("f", []byte("static_resources: {clusters: [{name: a, type: strictly_dns}]}\n")); len(s.Problems) != 1 || !strings.Contains(s.Problems[0].Text, "one of STATIC, STRICT_DNS") {
		t.Errorf("Parse = %+v, want the values that would do", s.Problems[0].Text)
	}
}

func TestJSONMayHaveComments(t *testing.T) {
	const text = "// by hand\n{\n  \"apiVersion\": \"networking.istio.io/v1\", /* the\n  second */ \"kind\": \"DestinationRule\",\n  \"metadata\": {\"name\": \"a // b\"},\n  \"spec\": {\"host\": \"http://a,]\", \"subsets\": [{\"name\": \"v1\",},],},\n}\n"
	s := Parse("f", []byte(text))
	if len(s.Problems) > 0 || len(s.Objects) != 1 {
		t.Fatalf("Parse = %+v, want the rule", s)
	}
	o := s.Objects[0]
	rule := o.Value.(*DestinationRule)
	if o.Name != "a // b" || rule.GetHost() != "http://a,]" || len(rule.GetSubsets()) != 1 || o.At("spec", "subsets").Line != 6 {
		t.Errorf("Parse = %v at %v, want what stands in quotes as it is, and its lines", rule, o.At("spec", "subsets"))
	}
}

// TestDocumentsAreCutTheSameHoweverTheyArrive reads one byte at a time too, and lines
// longer than a buffer.
func TestDocumentsAreCutTheSameHoweverTheyArrive(t *testing.T) {
	long := "# " + strings.Repeat("x---", 40_000) + "\n"
	for _, text := range []string{"", "a", "---", "---\n---\n", "a\n---\nb\n--- # c\nd\n----\ne", long + "---\n" + long, "a\r\n---\r\nb"} {
		var want, got []string
		for _, size := range []int{16, 1 << 20} {
			var docs []string
			if err := documents(bufio.NewReaderSize(iotest.OneByteReader(strings.NewReader(text)), size), func(doc []byte, line int) {
				docs = append(docs, string(doc))
				if before := strings.Count(strings.Join(docs[:len(docs)-1], ""), "\n"); line != before {
					t.Errorf("document %d begins after %d lines, want %d", len(docs), line, before)
				}
			}); err != nil {
				t.Fatal(err)
			}
			want, got = got, docs
		}
		if strings.Join(got, "") != text || !slices.Equal(got, want) {
			t.Errorf("documents(%.20q) = %.60q and %.60q, want all of the text in the same pieces", text, got, want)
		}
	}
}

func TestAPlaceIsFoundAfterTheTextWasRead(t *testing.T) {
	s := Parse("f", []byte("# first\n---\n"+rule+"---\n"+rule))
	for i, o := range s.Objects {
		if o.node != nil {
			t.Errorf("object %d keeps its nodes", i)
		}
		if got, want := o.At("spec", "trafficPolicy", "outlierDetection", "interval").Line, 11+12*i; got != want {
			t.Errorf("At(interval) of object %d = line %d, want %d", i, got, want)
		}
	}
}

func FuzzWithoutComments(f *testing.F) {
	f.Add([]byte("{\"a\": \"//\", // b\n}"))
	f.Add([]byte("[1,/* x"))
	f.Add([]byte("{\"\\"))
	f.Fuzz(func(t *testing.T, doc []byte) {
		if out := withoutComments(doc); out != nil && (len(out) != len(doc) || strings.Count(string(out), "\n") != strings.Count(string(doc), "\n")) {
			t.Errorf("withoutComments(%q) = %q, want as many bytes and lines", doc, out)
		}
	})
}
