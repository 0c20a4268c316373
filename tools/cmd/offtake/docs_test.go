package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// documented returns the example in docs/check.md under a heading.
func documented(t *testing.T, heading string, into any) {
	t.Helper()
	text, err := os.ReadFile("../../../docs/check.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(text), "## "+heading+"\n")
	_, example, _ = strings.Cut(example, "```yaml\n")
	example, _, _ = strings.Cut(example, "```")
	if err := yaml.Unmarshal([]byte(example), into); err != nil || example == "" {
		t.Fatalf("the example under %q = %q, %v", heading, example, err)
	}
}

// repository is a checkout whose branch adds a connection pool that is too small,
// with this module beside it as the example of an Action checks it out.
func repository(t *testing.T) {
	t.Helper()
	module, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	folder(t)
	if err := os.Mkdir("deploy", 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, "deploy/service.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: payment-gateway}\n")
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"}, {"config", "user.email", "a@example.org"}, {"config", "user.name", "a"},
		{"add", "."}, {"commit", "-q", "-m", "one"}, {"update-ref", "refs/remotes/origin/main", "HEAD"},
	} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	write(t, "offtake.yaml", strings.Replace(gateway, "maxConns: 50", "maxConns: 10", 1))
	if err := os.Symlink(module, ".offtake"); err != nil {
		t.Fatal(err)
	}
}

// TestTheDocumentedActionRuns runs every step of the workflow that docs/check.md
// shows, as a runner does.
func TestTheDocumentedActionRuns(t *testing.T) {
	var workflow struct {
		Jobs map[string]struct {
			Steps []struct {
				Name, Uses, Run string
				With            map[string]any
			}
		}
	}
	documented(t, "In GitHub Actions", &workflow)
	repository(t)
	dir := t.TempDir()
	path, summary := filepath.Join(dir, "path"), filepath.Join(dir, "summary")
	environment := append(os.Environ(), "RUNNER_TEMP="+dir, "GITHUB_PATH="+path, "GITHUB_STEP_SUMMARY="+summary)
	checkedOut := map[any]bool{nil: true}
	ran := 0
	for _, step := range workflow.Jobs["check"].Steps {
		if strings.HasPrefix(step.Uses, "actions/checkout@") {
			checkedOut[step.With["path"]] = true
		}
		if step.Run == "" {
			continue
		}
		ran++
		script := strings.ReplaceAll(step.Run, "${{ github.base_ref }}", "main")
		cmd := exec.CommandContext(t.Context(), "bash", "-e", "-c", script)
		cmd.Env = environment
		if added, err := os.ReadFile(path); err == nil {
			cmd.Env = append(cmd.Env, "PATH="+strings.TrimSpace(string(added))+":"+os.Getenv("PATH"))
		}
		out, err := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != exitOK && code != exitFindings {
			t.Fatalf("%s: %s: %v: %s", step.Name, script, err, out)
		}
	}
	if ran < 4 || !checkedOut[".offtake"] {
		t.Errorf("%d steps ran, checked out %v, want at least 4 and the folder that one of them builds from", ran, checkedOut)
	}
	if log, err := os.ReadFile("offtake.sarif"); err != nil || !strings.Contains(string(log), `"ruleId": "C06"`) {
		t.Errorf("offtake.sarif = %s, %v, want the finding in it", log, err)
	}
	if text, err := os.ReadFile(summary); err != nil || !strings.Contains(string(text), "CAPACITY CHANGE") {
		t.Errorf("the summary = %s, %v, want what the change does", text, err)
	}
}

// TestTheDocumentedHookRuns runs the entry of the pre-commit hook.
func TestTheDocumentedHookRuns(t *testing.T) {
	var config struct {
		Repos []struct{ Hooks []struct{ Entry string } }
	}
	documented(t, "As a pre-commit hook", &config)
	repository(t)
	args := strings.Fields(config.Repos[0].Hooks[0].Entry)
	if code, out, err := offtake(t, "", args[1:]...); args[0] != "offtake" || code != exitFindings {
		t.Errorf("%v = %d, %s%s, want %d for the pool that is too small", args, code, out, err, exitFindings)
	}
}
