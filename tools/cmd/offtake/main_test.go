package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// offtake is one run of the command in a folder; input is its standard input.
func offtake(t *testing.T, input string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	c := &call{ctx: t.Context(), stdin: strings.NewReader(input), stdout: &out, stderr: &err, now: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)}
	code = c.main(args)
	return code, out.String(), err.String()
}

const gateway = `service: payment-gateway
replicas: {min: 6}
callers: {checkout: {rate: 120/s, deadline: 8s}}
upstreams:
  card-processor:
    target: https://processor.example
    rate: 120/s
    latency: 300ms
    degraded: 1200ms
    limit: 300
    idempotent: true
    client: {maxConns: 50, maxIdle: 50, timeout: 5s}
`

// folder is a working directory with a contract.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	write(t, "offtake.yaml", gateway)
	return dir
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestExitCodes(t *testing.T) {
	folder(t)
	write(t, "good.yaml", strings.Replace(gateway, "client: {maxConns: 50, maxIdle: 50, timeout: 5s}", "attempts: 1", 1))
	write(t, "broken.yaml", "kind: Deployment\n a: b\n")
	if err := os.Mkdir("empty", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args []string
		want int
	}{
		{"no command", nil, exitOK},
		{"help", []string{"help"}, exitOK},
		{"a command's help", []string{"check", "-h"}, exitOK},
		{"an unknown command", []string{"chekc"}, exitBadInput},
		{"an unknown flag", []string{"plan", "-rat", "1/s"}, exitBadInput},
		{"a rate without a unit", []string{"plan", "-rate", "120"}, exitBadInput},
		{"a plan", []string{"plan", "-rate", "120/s", "-latency", "1200ms", "-replicas", "6", "-limit", "200", "-headroom", "1.3"}, exitOK},
		{"an infeasible plan", []string{"plan", "-rate", "120/s", "-latency", "1200ms", "-replicas", "6", "-limit", "200"}, exitFindings},
		{"a plan without numbers", []string{"plan", "-replicas", "6"}, exitBadInput},
		{"a plan of a missing contract", []string{"plan", "-f", "none.yaml"}, exitBadInput},
		{"findings", []string{"check"}, exitFindings},
		{"no findings", []string{"check", "-f", "good.yaml"}, exitOK},
		{"manifests that do not read", []string{"check", "-f", "good.yaml", "broken.yaml"}, exitBadInput},
		{"a missing manifest", []string{"check", "none.yaml"}, exitBadInput},
		{"an unknown format", []string{"check", "-format", "xml"}, exitBadInput},
		{"an unknown severity", []string{"check", "-fail-on", "fatal"}, exitBadInput},
		{"an unknown control plane", []string{"check", "-control-plane", "istoi"}, exitBadInput},
		{"a version that is none", []string{"check", "-mesh-version", "latest"}, exitBadInput},
		{"a folder without manifests", []string{"check", "-f", "good.yaml", "empty"}, exitBadInput},
		{"standard input without anything", []string{"check", "-f", "good.yaml", "-"}, exitBadInput},
		{"a missing baseline", []string{"check", "-baseline", "none.json"}, exitBadInput},
		{"one side of a diff", []string{"diff", "good.yaml"}, exitBadInput},
		{"a diff", []string{"diff", "offtake.yaml", "good.yaml"}, exitOK},
		{"an unknown revision", []string{"diff", "nowhere", "good.yaml"}, exitBadInput},
		{"a rule", []string{"explain", "c05"}, exitOK},
		{"a rule about the input", []string{"explain", "P01"}, exitOK},
		{"a diff without sides and a repository", []string{"diff"}, exitBadInput},
		{"a rule about code", []string{"explain", "OT101"}, exitOK},
		{"an unknown rule", []string{"explain", "Z99"}, exitBadInput},
		{"all rules", []string{"explain"}, exitOK},
		{"a simulation's help", []string{"simulate", "-h"}, exitOK},
		{"a simulation of nothing", []string{"simulate"}, exitBadInput},
		{"a vet's help", []string{"vet", "-h"}, exitOK},
		{"the schema", []string{"schema"}, exitOK},
		{"the version", []string{"version"}, exitOK},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out, err := offtake(t, "", c.args...)
			if code != c.want || out+err == "" {
				t.Errorf("offtake %s = %d, %q, %q, want %d", strings.Join(c.args, " "), code, out, err, c.want)
			}
		})
	}
}

func TestPlanShowsFormulas(t *testing.T) {
	_, out, _ := offtake(t, "", "plan", "-rate", "120/s", "-latency", "1200ms", "-replicas", "6", "-limit", "200", "-headroom", "1.3", "-deadline", "5s")
	for _, want := range []string{"InFlight     33", "1.3 × 120/s × 1.2s / 6 replicas", "limit 200 / 6"} {
		if !strings.Contains(out, want) {
			t.Errorf("plan lacks %q:\n%s", want, out)
		}
	}
}

func TestMistakesOfAPlanAreInTheWordsOfItsFlags(t *testing.T) {
	for want, args := range map[string]string{
		"offtake plan: -p99: 100ms is less than the -p50 of 1s; 1s would do\n":                                "-rate 1/s -replicas 1 -p50 1s -p99 100ms",
		"offtake plan: -max-replicas: 2 is less than -replicas, 3; 3 would do, or 0\n":                        "-rate 1/s -latency 1s -replicas 3 -max-replicas 2",
		"-headroom: 0.5 is not in [1, 1000]: it multiplies the peak; 1.3 would do, or 0 for the default of 2": "-rate 1/s -replicas 0 -latency 1s -headroom 0.5",
		"-latency: 300ms would do":                                                                 "-rate 1/s -replicas 1",
		`"1.2" is no time with a unit; 300ms would do, or 1.5s`:                                    "-rate 1/s -replicas 1 -latency 1.2",
		"without ledger, or without them, would do":                                                "-rate 1/s -replicas 1 -latency 1s ledger",
		"none.yaml: no such file or directory; -f names another file, and offtake init writes one": "-f none.yaml",
	} {
		code, _, err := offtake(t, "", append([]string{"plan"}, strings.Fields(args)...)...)
		if code != exitBadInput || !strings.Contains(err, want) {
			t.Errorf("offtake plan %s = %d, %q, want %q", args, code, err, want)
		}
	}
}

func TestAnInfeasiblePlanSaysWhatWouldDo(t *testing.T) {
	args := []string{"plan", "-rate", "120/s", "-latency", "1200ms", "-replicas", "6", "-limit", "200", "-best"}
	_, out, _ := offtake(t, "", args...)
	for _, want := range []string{"INFEASIBLE", "needs   >= 48", "allows  <= 33", "limit >= 288", "best: 33 places", "165/s"} {
		if !strings.Contains(out, want) {
			t.Errorf("plan lacks %q:\n%s", want, out)
		}
	}
	_, out, _ = offtake(t, "", append(args, "-format", "json")...)
	var answer struct {
		Floor, Ceiling int
		Plan           struct{ InFlight int }
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil || answer.Floor != 48 || answer.Ceiling != 33 || answer.Plan.InFlight != 33 {
		t.Errorf("plan in JSON = %s, %v", out, err)
	}
}

func TestDiffSaysWhatCanNotBeCarried(t *testing.T) {
	folder(t)
	write(t, "new.yaml", strings.Replace(gateway, "maxConns: 50", "maxConns: 10", 1))
	code, out, _ := offtake(t, "", "diff", "-fail-on-worse", "offtake.yaml", "new.yaml")
	for _, want := range []string{"CAPACITY CHANGE", "client.maxConns: 50 -> 10 (capacity)", "58.33% cannot be carried"} {
		if !strings.Contains(out, want) {
			t.Errorf("diff lacks %q:\n%s", want, out)
		}
	}
	if code != exitFindings {
		t.Errorf("diff -fail-on-worse = %d, want %d", code, exitFindings)
	}
	_, out, _ = offtake(t, "", "diff", "-format", "json", "offtake.yaml", "new.yaml")
	var answer struct {
		Capacity bool
		Effects  []struct{ Worse bool }
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil || !answer.Capacity || len(answer.Effects) != 1 || !answer.Effects[0].Worse {
		t.Errorf("diff in JSON = %s, %v", out, err)
	}
}

func TestDiffReadsRevisions(t *testing.T) {
	dir := folder(t)
	for _, args := range [][]string{
		{"init", "-q"}, {"config", "user.email", "a@example.org"}, {"config", "user.name", "a"},
		{"add", "."}, {"commit", "-q", "-m", "one"},
	} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	write(t, "offtake.yaml", strings.Replace(gateway, "maxConns: 50", "maxConns: 10", 1))
	for _, side := range []string{"HEAD", "HEAD:offtake.yaml"} {
		_, out, err := offtake(t, "", "diff", side, "offtake.yaml")
		if !strings.Contains(out, "50 -> 10") {
			t.Errorf("diff %s = %q, %q, want the change", side, out, err)
		}
	}
	if code, out, _ := offtake(t, "", "diff", "-fail-on-worse", "HEAD:", "offtake.yaml"); code != exitBadInput {
		t.Errorf("diff of a folder = %d, %q, want it refused", code, out)
	}
	if _, out, err := offtake(t, "", "diff"); !strings.Contains(out, "50 -> 10") {
		t.Errorf("diff = %q, %q, want what has changed since HEAD", out, err)
	}
	write(t, "later.yaml", gateway)
	for _, c := range []struct{ args, want string }{
		{"HEAD later.yaml", "the contract is new\n"},
		{"later.yaml HEAD", "the contract is gone\n"},
		{"-simulate HEAD later.yaml", "the contract is new\n"},
		{"-format json HEAD later.yaml", `"only": "new"`},
	} {
		code, out, err := offtake(t, "", append([]string{"diff"}, strings.Fields(c.args)...)...)
		if code != exitOK || !strings.Contains(out, c.want) {
			t.Errorf("diff %s = %d, %q, %q, want %q", c.args, code, out, err, c.want)
		}
	}
	if code, _, err := offtake(t, "", "diff", "-f", "nowhere.yaml", "HEAD", "HEAD"); code != exitBadInput || !strings.Contains(err, "nowhere.yaml") {
		t.Errorf("diff of a file in neither revision = %d, %q, want it refused", code, err)
	}
	if code, _, err := offtake(t, "", "diff", "HEAD:nowhere.yaml", "later.yaml"); code != exitBadInput || !strings.Contains(err, "nowhere.yaml") {
		t.Errorf("diff of a path that is not there = %d, %q, want it refused", code, err)
	}
	if code, _, err := offtake(t, "", "diff", "--", "--output=written", "HEAD"); code != exitBadInput || !strings.Contains(err, "neither a file nor a revision") {
		t.Errorf("diff of an option of git = %d, %q, want it refused", code, err)
	}
	t.Chdir(t.TempDir()) // no repository
	file := filepath.Join(dir, "offtake.yaml")
	if _, out, err := offtake(t, "", "diff", "-f", file, "HEAD", file); !strings.Contains(out, "50 -> 10") {
		t.Errorf("diff from elsewhere = %q, %q, want the change", out, err)
	}
}

func TestDiffLooksIntoEveryEnvironment(t *testing.T) {
	folder(t)
	environments := "environments:\n  live: {replicas: {min: 2}}\n  tests: {replicas: {min: 1}}\n"
	write(t, "old.yaml", gateway+environments)
	write(t, "new.yaml", gateway+strings.NewReplacer("min: 2", "min: 1", "tests", "trials").Replace(environments))
	code, out, _ := offtake(t, "", "diff", "-fail-on-worse", "old.yaml", "new.yaml")
	for _, want := range []string{"no change\n\nin the environment live: CAPACITY CHANGE\n\n  replicas.min: 2 -> 1 (capacity)\n", "65.28% cannot be carried", "environment tests: gone", "environment trials: new"} {
		if !strings.Contains(out, want) {
			t.Errorf("diff lacks %q:\n%s", want, out)
		}
	}
	if code != exitFindings {
		t.Errorf("diff -fail-on-worse = %d, want %d: it is worse in one environment", code, exitFindings)
	}
	_, out, _ = offtake(t, "", "diff", "-format", "json", "old.yaml", "new.yaml")
	var answer struct {
		Environments map[string]struct{ Capacity bool }
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil || len(answer.Environments) != 3 || !answer.Environments["live"].Capacity {
		t.Errorf("diff in JSON = %s, %v", out, err)
	}
	write(t, "new.yaml", strings.Replace(gateway, "maxConns: 50", "maxConns: 10", 1)+environments)
	_, out, _ = offtake(t, "", "diff", "old.yaml", "new.yaml")
	if strings.Count(out, "50 -> 10") != 1 || !strings.Contains(out, "in the environment live: the same changes\n") || !strings.Contains(out, "86.11% cannot be carried") {
		t.Errorf("diff = %s, want the change once, and what it does in each environment", out)
	}
	fraud := gateway + "  fraud-check: {target: 'http://fraud', rate: 60/s, latency: 100ms, limit: 600}\n" + environments
	write(t, "old.yaml", fraud)
	write(t, "new.yaml", strings.Replace(fraud, "limit: 600}", "limit: 20}", 1))
	if _, out, _ = offtake(t, "", "diff", "old.yaml", "new.yaml"); !strings.Contains(out, "on 18 places") || !strings.Contains(out, "in the environment live: the same changes, to no effect\n") {
		t.Errorf("diff = %s, want fewer places of 6 replicas, and as many as before of 2", out)
	}
}

func TestTextOfAContractCanNotControlATerminal(t *testing.T) {
	folder(t)
	const accepted = "ignore:\n- {rule: C06, reason: %s, expires: 2030-01-01}\n"
	write(t, "old.yaml", gateway+strings.Replace(accepted, "%s", "x", 1))
	write(t, "new.yaml", gateway+strings.Replace(accepted, "%s", `"\e[2J\n::error::y"`, 1))
	write(t, "bad.yaml", gateway+"\"a\\e[2Jb\": 1\n")
	for _, args := range [][]string{{"diff", "old.yaml", "new.yaml"}, {"check", "-f", "bad.yaml"}, {"plan", "-f", "bad.yaml", "a\x1bb"}, {"diff", "a\x1bb", "new.yaml"}} {
		_, out, err := offtake(t, "", args...)
		if out+err == "" || strings.Contains(out+err, "\x1b") || strings.Contains(out+err, "\n::") {
			t.Errorf("offtake %q = %q, %q, want text without escape codes", args, out, err)
		}
	}
}

func TestDiffSimulates(t *testing.T) {
	folder(t)
	slow := strings.ReplaceAll(gateway, "120/s", "2/s") // few calls take little time to simulate
	write(t, "old.yaml", slow)
	write(t, "new.yaml", strings.Replace(slow, "maxConns: 50", "maxConns: 10", 1))
	code, out, err := offtake(t, "", "diff", "-simulate", "old.yaml", "new.yaml")
	if code != exitOK || !strings.Contains(out, "card-processor") {
		t.Errorf("diff -simulate = %d, %q, %q", code, out, err)
	}
	_, out, err = offtake(t, "", "diff", "-simulate", "-format", "markdown", "old.yaml", "new.yaml")
	if !strings.Contains(out, "```\ncard-processor at peak\n") || !strings.HasSuffix(out, "\n```\n") {
		t.Errorf("diff -simulate -format markdown = %q, %q, want the simulation in a fence", out, err)
	}
	code, out, err = offtake(t, "", "diff", "-simulate", "-format", "json", "old.yaml", "new.yaml")
	if code != exitBadInput || out != "" || !strings.Contains(err, "markdown would do") {
		t.Errorf("diff -simulate -format json = %d, %q, %q, want that it has none", code, out, err)
	}
}

// TestMain lets the test binary be the command, which go vet runs again for each
// package.
func TestMain(m *testing.M) {
	if os.Getenv("OFFTAKE_TEST_AS_COMMAND") != "" {
		os.Exit(run(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// TestTheGoCommandCanCallIt holds the handshake with which go vet begins, and that a
// command's own argument is not taken for it. What vet finds is tested with its
// package.
func TestTheGoCommandCanCallIt(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder(t)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-V=full"}, " version "},
		{[]string{"-flags"}, `"Name"`},
		{[]string{"plan", "-f", "offtake.yaml", "x.cfg"}, `no upstream "x.cfg"`},
	} {
		cmd := exec.Command(self, c.args...)
		cmd.Env = append(os.Environ(), "OFFTAKE_TEST_AS_COMMAND=1")
		if out, err := cmd.CombinedOutput(); !strings.Contains(string(out), c.want) {
			t.Errorf("offtake %v = %s, %v, want %q", c.args, out, err, c.want)
		}
	}
}

func TestInitWritesAContractThatLoadsAndNeverOverwrites(t *testing.T) {
	t.Chdir(t.TempDir())
	code, _, err := offtake(t, "", "init", "-service", "checkout", "-upstream", "ledger", "-target", "http://ledger", "-rate", "120/s", "-limit", "200")
	if code != exitOK {
		t.Fatalf("init = %d, %q", code, err)
	}
	before, _ := os.ReadFile("offtake.yaml")
	if code, _, err := offtake(t, "", "plan"); code != exitOK {
		t.Errorf("plan of the starter = %d, %q", code, err)
	}
	if code, _, err := offtake(t, "", "init", "-service", "other"); code != exitBadInput || !strings.Contains(err, "never overwritten") {
		t.Errorf("init over a file = %d, %q, want a refusal", code, err)
	}
	if after, _ := os.ReadFile("offtake.yaml"); !bytes.Equal(before, after) {
		t.Error("init changed a file that was there")
	}
	if code, _, err := offtake(t, "", "init", "-service", "Not A Name", "x.yaml"); code != exitBadInput || !strings.Contains(err, "service") {
		t.Errorf("init with a bad name = %d, %q, want the mistake", code, err)
	}
	if _, err := os.Stat("x.yaml"); err == nil {
		t.Error("init wrote a contract that does not load")
	}
	if code, out, _ := offtake(t, "", "init", "-service", "checkout", "-"); code != exitOK || !strings.Contains(out, "service: checkout") {
		t.Errorf("init - = %d, %q, want the contract on standard output", code, out)
	}
}

func TestBaselineIsWrittenAndThenHides(t *testing.T) {
	folder(t)
	if code, _, err := offtake(t, "", "check", "-write-baseline", "-baseline", "known.json"); code != exitOK || !strings.Contains(err, "wrote") {
		t.Fatalf("check -write-baseline = %d, %q", code, err)
	}
	if code, out, _ := offtake(t, "", "check", "-baseline", "known.json", "-fail-on", "info"); code != exitOK || !strings.Contains(out, "ignored") {
		t.Errorf("check -baseline = %d, %q, want nothing new", code, out)
	}
}

func TestNoBaselineIsWrittenOfWhatDoesNotRead(t *testing.T) {
	folder(t)
	write(t, "broken.yaml", "kind: Deployment\n a: b\n")
	code, out, _ := offtake(t, "", "check", "-write-baseline", "-baseline", "known.json", "broken.yaml")
	if code != exitBadInput || !strings.Contains(out, "unreadable broken.yaml:2") {
		t.Errorf("check -write-baseline of a broken manifest = %d, %q, want %d and the place", code, out, exitBadInput)
	}
	if _, err := os.Stat("known.json"); err == nil {
		t.Error("the baseline was written, without what the broken manifest would have shown")
	}
}

func TestCheckReadsStandardInput(t *testing.T) {
	folder(t)
	input := "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: payment-gateway}\nspec: {replicas: 2, selector: {}, template: {spec: {containers: [{name: a}]}}}\n"
	_, out, _ := offtake(t, input, "check", "-format", "json", "-")
	if !strings.Contains(out, `"file": "-"`) || !strings.Contains(out, "K05") {
		t.Errorf("check - = %s, want a finding in standard input", out)
	}
}

// TestTheDocumentedReportIsWhatCheckSays runs the report that docs/check.md shows.
func TestTheDocumentedReportIsWhatCheckSays(t *testing.T) {
	text, err := os.ReadFile("../../../docs/check.md")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(string(text), "<!-- outage:")
	_, shown, _ = strings.Cut(shown, "```\n")
	shown, _, _ = strings.Cut(shown, "```")
	t.Chdir("../../check/testdata/outage24")
	if code, out, stderr := offtake(t, "", "check", "mesh.yaml"); code != exitFindings || shown == "" || !strings.HasPrefix(out, shown) {
		t.Errorf("offtake check mesh.yaml = %d, %s%s, want what docs/check.md shows: %s", code, out, stderr, shown)
	}
}

func TestVerboseShowsWhatTheScreenHasNoRoomFor(t *testing.T) {
	t.Chdir("../../check/testdata/outage24")
	_, brief, _ := offtake(t, "", "check", "mesh.yaml")
	for _, flag := range []string{"-v", "-verbose", "--verbose"} {
		code, out, _ := offtake(t, "", "check", flag, "mesh.yaml")
		for _, want := range []string{"so that it records the 504", "(envoy>=1.28)", "source: Envoy's outlier_detection_impl.cc"} {
			if !strings.Contains(out, want) || strings.Contains(brief, want) {
				t.Errorf("check %s = %s, want %q, which the brief report leaves out", flag, out, want)
			}
		}
		if code != exitFindings {
			t.Errorf("check %s = %d, want %d as without it", flag, code, exitFindings)
		}
	}
}

func TestPlanSaysWhenItIsFull(t *testing.T) {
	for _, tt := range []struct {
		limit string
		want  string
		warns bool
	}{
		{"0", "full at a mean of 640ms, 128 × the stated one", false},
		{"3", "full at a mean of 30ms, 6 × the stated one", false},
		{"1", "warning: full at a mean of 10ms, 2 × the stated 5ms: when the upstream becomes that slow, calls are refused here; 3 × is 2 places", true},
	} {
		code, out, err := offtake(t, "", "plan", "-rate", "100/s", "-latency", "5ms", "-replicas", "1", "-limit", tt.limit)
		if code != exitOK || !strings.Contains(out, tt.want) || strings.Contains(out, "warning: ") != tt.warns {
			t.Errorf("plan -limit %s = %d, %s%s, want %q", tt.limit, code, out, err, tt.want)
		}
	}
	if _, out, err := offtake(t, "", "plan", "-rate", "100/s", "-latency", "5ms", "-replicas", "1", "-format", "json", "-idempotent"); !strings.Contains(out, `"fullAt": "640ms"`) || !strings.Contains(out, `"idempotent": true`) {
		t.Errorf("plan -format json = %s%s, want when it is full", out, err)
	}
}

func TestCheckOfAFolderFindsTheContractInIt(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, dir := range []string{"a", "b", "c"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, "a/offtake.yaml", gateway)
	write(t, "c/pods.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: payment-gateway}\n")
	if code, out, err := offtake(t, "", "check", "a", "c"); code != exitFindings || !strings.Contains(out, "a/offtake.yaml:") {
		t.Errorf("check a c = %d, %s%s, want the findings of the contract in a", code, out, err)
	}
	write(t, "b/offtake.yaml", gateway)
	if code, _, err := offtake(t, "", "check", "a", "b"); code != exitBadInput || !strings.Contains(err, "-f a/offtake.yaml would do") {
		t.Errorf("check a b = %d, %q, want both named", code, err)
	}
}

// TestAnInterruptEndsACheck interrupts one that waits for its input.
func TestAnInterruptEndsACheck(t *testing.T) {
	folder(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "check", "-")
	cmd.Env = append(os.Environ(), "OFFTAKE_TEST_AS_COMMAND=1")
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// More than a pipe holds: it returns when the check has begun to read.
	if _, err := input.Write(bytes.Repeat([]byte("# nothing\n"), 100_000)); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("check ended well, want it ended by the interrupt")
	}
}

func TestANetworkOfContractsIsChecked(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, dir := range []string{"shop", "orders", "broken"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, "shop/offtake.yaml", "service: shop\nreplicas: {min: 2}\nupstreams:\n  orders: {target: 'http://orders', rate: 20/s, latency: 10ms, deadline: 1s}\n")
	if code, _, err := offtake(t, "", "check", "-network", "."); code != exitBadInput || !strings.Contains(err, "two services") {
		t.Errorf("check -network of one contract = %d, %q, want what would do", code, err)
	}
	write(t, "orders/offtake.yaml", "service: orders\nreplicas: {min: 2}\ncallers: {shop: {rate: 10/s, deadline: 1s}}\n")
	if code, out, err := offtake(t, "", "check", "-network", "."); code != exitFindings || !strings.Contains(out, "error N01 orders/offtake.yaml:3") {
		t.Errorf("check -network = %d, %s%s, want N01", code, out, err)
	}
	if code, out, _ := offtake(t, "", "check", "-graph", "."); code != exitFindings || !strings.HasPrefix(out, "flowchart LR\n") {
		t.Errorf("check -graph = %d, %s, want a drawing", code, out)
	}
	write(t, "broken/offtake.yaml", "service: x\nreplicas: {min: 2}\ntimeout: 2s\n")
	if code, out, _ := offtake(t, "", "check", "-network", "."); code != exitBadInput || !strings.Contains(out, "N01") || !strings.Contains(out, "broken/offtake.yaml:3:1") {
		t.Errorf("check -network with a broken contract = %d, %s, want its line, and the findings of the others", code, out)
	}
}
