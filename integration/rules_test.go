package integration

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
	"go.yaml.in/yaml/v3"
)

const rulesDir = "../observability/prometheus"

// ruleTests is a file of promtool's unit tests.
type ruleTests struct {
	RuleFiles          []string       `yaml:"rule_files"`
	EvaluationInterval model.Duration `yaml:"evaluation_interval"`
	Tests              []ruleTest     `yaml:"tests"`
}

type ruleTest struct {
	Name     string         `yaml:"name"`
	Interval model.Duration `yaml:"interval"`
	Series   []struct {
		Series string `yaml:"series"`
		Values string `yaml:"values"`
	} `yaml:"input_series"`
	Alerts []struct {
		At       model.Duration  `yaml:"eval_time"`
		Name     string          `yaml:"alertname"`
		Expected []expectedAlert `yaml:"exp_alerts"`
	} `yaml:"alert_rule_test"`
}

type expectedAlert struct {
	Labels      map[string]string `yaml:"exp_labels"`
	Annotations map[string]string `yaml:"exp_annotations"`
}

func readRuleTests(t *testing.T, path string) ruleTests {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d := yaml.NewDecoder(f)
	d.KnownFields(true)
	var tests ruleTests
	if err := d.Decode(&tests); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return tests
}

func ruleTestFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(rulesDir, "*.test.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no *.test.yaml: %v", rulesDir, err)
	}
	return files
}

// TestAlertsFireAndDoNot plays the unit tests with the engine of the current
// Prometheus, as a library.
func TestAlertsFireAndDoNot(t *testing.T) {
	for _, file := range ruleTestFiles(t) {
		tests := readRuleTests(t, file)
		for _, test := range tests.Tests {
			t.Run(test.Name, func(t *testing.T) {
				t.Parallel()
				for i, a := range test.Alerts {
					got, err := firing(t.Context(), tests, test, a.Name, time.Duration(a.At))
					if err != nil {
						t.Fatal(err)
					}
					if want := described(a.Name, a.Expected); !slices.Equal(got, want) {
						t.Errorf("alert %d at %v: firing = %v, want %v", i, a.At, got, want)
					}
				}
			})
		}
	}
}

// firing loads the series, evaluates every rule from the start to a time, and
// returns the alerts of a name that fire then.
func firing(ctx context.Context, tests ruleTests, test ruleTest, name string, at time.Duration) ([]string, error) {
	var load strings.Builder
	fmt.Fprintf(&load, "load %v\n", time.Duration(test.Interval))
	for _, s := range test.Series {
		fmt.Fprintf(&load, "  %s %s\n", s.Series, s.Values)
	}
	p := parser.NewParser(parser.Options{})
	storage, err := promqltest.NewLazyLoader(load.String(), promqltest.LazyLoaderOpts{Parser: p})
	if err != nil {
		return nil, err
	}
	defer storage.Close()
	storage.SubqueryInterval = time.Duration(tests.EvaluationInterval)
	manager := rules.NewManager(&rules.ManagerOptions{
		QueryFunc:    rules.EngineQueryFunc(storage.QueryEngine(), storage.Storage()),
		AppendableV2: storage.Storage(),
		Context:      ctx,
		NotifyFunc:   func(context.Context, string, ...*rules.Alert) {},
		Logger:       promslog.NewNopLogger(),
		Parser:       p,
	})
	var files []string
	for _, f := range tests.RuleFiles {
		files = append(files, filepath.Join(rulesDir, f))
	}
	groups, errs := manager.LoadGroups(time.Duration(tests.EvaluationInterval), labels.EmptyLabels(), "", nil, false, files...)
	if len(errs) > 0 {
		return nil, errs[0]
	}
	return evaluate(storage, groups, name, at, time.Duration(tests.EvaluationInterval))
}

func evaluate(storage *promqltest.LazyLoader, groups map[string]*rules.Group, name string, at, every time.Duration) ([]string, error) {
	var failed error
	start := time.Unix(0, 0).UTC()
	for now := start; !now.After(start.Add(at)); now = now.Add(every) {
		storage.WithSamplesTill(now, func(err error) {
			if failed = err; err != nil {
				return
			}
			for _, key := range slices.Sorted(maps.Keys(groups)) {
				groups[key].Eval(storage.Context(), now)
			}
		})
		if failed != nil {
			return nil, failed
		}
	}
	var fire []string
	for _, g := range groups {
		for _, r := range g.Rules() {
			if err := r.LastError(); err != nil {
				return nil, fmt.Errorf("%s: %w", r.Name(), err)
			}
			alert, ok := r.(*rules.AlertingRule)
			if !ok || alert.Name() != name {
				continue
			}
			for _, a := range alert.ActiveAlerts() {
				if a.State == rules.StateFiring {
					fire = append(fire, describe(a.Labels.Map(), a.Annotations.Map()))
				}
			}
		}
	}
	slices.Sort(fire)
	return fire, nil
}

func described(name string, alerts []expectedAlert) (all []string) {
	for _, a := range alerts {
		with := maps.Clone(a.Labels)
		with[model.AlertNameLabel] = name
		all = append(all, describe(with, a.Annotations))
	}
	slices.Sort(all)
	return all
}

func describe(labels, annotations map[string]string) string { return fmt.Sprint(labels, annotations) }

// TestEveryAlertHasATestOfEachKindAndARunbook reads what there is.
func TestEveryAlertHasATestOfEachKindAndARunbook(t *testing.T) {
	runbooks, err := os.ReadFile("../docs/runbooks.md")
	if err != nil {
		t.Fatal(err)
	}
	fires, quiet := make(map[string]bool), make(map[string]bool)
	for _, file := range ruleTestFiles(t) {
		for _, test := range readRuleTests(t, file).Tests {
			for _, a := range test.Alerts {
				if len(a.Expected) > 0 {
					fires[a.Name] = true
				} else if len(test.Alerts) == 1 { // and not one that only has not fired yet
					quiet[a.Name] = true
				}
			}
		}
	}
	for _, alert := range alertRules(t) {
		name := alert.Alert
		if !fires[name] || !quiet[name] {
			t.Errorf("%s: a test in which it fires: %v, one in which it does not: %v; want both", name, fires[name], quiet[name])
		}
		wantRunbook(t, string(runbooks), alert)
		if got, want := alert.Annotations["runbook_url"], "docs/runbooks.md#"+strings.ToLower(name); got != want {
			t.Errorf("%s: runbook_url = %q, want %q", name, got, want)
		}
		if s := alert.Labels["severity"]; !slices.Contains([]string{"page", "ticket", "info"}, s) {
			t.Errorf("%s: severity = %q, want page, ticket or info", name, s)
		}
		if says := alert.Annotations["summary"]; !strings.Contains(says, "$value") && !slices.Contains(truths, name) {
			t.Errorf("%s: the summary %q has no number", name, says)
		}
		delete(fires, name)
	}
	for name := range fires {
		t.Errorf("a test expects %s, which no rule file has", name)
	}
}

// truths are alerts on what is so or not: there is no number to tell.
var truths = []string{"OfftakeNotReady", "MeshOutlierStatsMissing"}

// wantRunbook holds how each section begins: what hurts, and then a first act.
func wantRunbook(t *testing.T, runbooks string, alert alertRule) {
	t.Helper()
	_, section, ok := strings.Cut(runbooks, "\n## "+alert.Alert+"\n\n")
	if !ok {
		t.Errorf("docs/runbooks.md has no section %q", "## "+alert.Alert)
		return
	}
	lines := strings.SplitN(section, "\n", 3)
	if level, _, _ := strings.Cut(strings.TrimPrefix(lines[0], "*"), ".* "); strings.ToLower(level) != alert.Labels["severity"] {
		t.Errorf("the runbook of %s begins %q, want its level, %s, and what hurts", alert.Alert, lines[0], alert.Labels["severity"])
	}
	if !strings.HasPrefix(lines[1], "**First:** ") {
		t.Errorf("the second line of the runbook of %s is %q, want what to do first", alert.Alert, lines[1])
	}
}

// TestEverySeriesOfTheRunbooksExists looks for their names among the metrics and the
// recording rules.
func TestEverySeriesOfTheRunbooksExists(t *testing.T) {
	var known strings.Builder
	for _, file := range []string{"../docs/metrics.md", rulesDir + "/offtake.rules.yaml", rulesDir + "/mesh.rules.yaml"} {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		known.Write(content)
	}
	runbooks, err := os.ReadFile("../docs/runbooks.md")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`(offtake|envoy|istio|kube)[:_][a-z0-9_:]+`).FindAllString(string(runbooks), -1)
	if len(names) < 4 {
		t.Errorf("the runbooks name %d series, want 4 at least", len(names))
	}
	for _, name := range names {
		if !strings.Contains(known.String(), "`"+name+"`") && !strings.Contains(known.String(), "record: "+name+"\n") && !strings.Contains(known.String(), name+"{") {
			t.Errorf("docs/runbooks.md speaks of %s, which nothing has", name)
		}
	}
}

type alertRule struct {
	Alert       string            `yaml:"alert"`
	Expr        string            `yaml:"expr"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

func alertRules(t *testing.T) (alerts []alertRule) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(rulesDir, "*.rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var all struct {
			Groups []struct {
				Rules []alertRule `yaml:"rules"`
			} `yaml:"groups"`
		}
		if err := yaml.Unmarshal(content, &all); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, g := range all.Groups {
			for _, r := range g.Rules {
				if r.Alert != "" {
					alerts = append(alerts, r)
				}
			}
		}
	}
	if len(alerts) == 0 {
		t.Fatal("there are no alerts")
	}
	return alerts
}

// TestAnOlderPrometheusAgrees plays the same unit tests with Debian's promtool,
// four years older than the library.
func TestAnOlderPrometheusAgrees(t *testing.T) {
	promtool := need(t, "promtool", "prometheus")
	cmd := exec.CommandContext(t.Context(), promtool, append([]string{"test", "rules"}, ruleTestFiles(t)...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("promtool test rules: %v\n%s", err, out)
	}
}
