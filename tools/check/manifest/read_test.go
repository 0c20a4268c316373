package manifest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree writes one rule as dr.yaml in a folder of its own, and returns that.
func tree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "dr.yaml"), []byte(rule), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func link(t *testing.T, to, name string) {
	t.Helper()
	if err := os.Symlink(to, name); err != nil {
		t.Fatal(err)
	}
}

func TestReadsWhatLinksLeadTo(t *testing.T) {
	dir, other := tree(t), t.TempDir()
	root := filepath.Join(other, "current")
	link(t, dir, root)
	files := filepath.Join(other, "files")
	if err := os.Mkdir(files, 0o755); err != nil {
		t.Fatal(err)
	}
	link(t, filepath.Join(dir, "dr.yaml"), filepath.Join(files, "linked.yaml"))
	link(t, files, filepath.Join(files, "loop.yaml")) // a folder, and round it goes
	for path, want := range map[string]string{root: filepath.Join(root, "dr.yaml"), files: filepath.Join(files, "linked.yaml")} {
		s, err := Read([]string{path}, nil)
		if err != nil || len(s.Objects) != 1 || s.Objects[0].File != want {
			t.Errorf("Read(%s) = %+v, %v, want the rule in %s", path, s, err, want)
		}
	}
}

func TestRefusesPathsWithNothingToRead(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "README.md"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(t.TempDir(), "empty.yaml")
	if err := os.WriteFile(empty, []byte("\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	broken := t.TempDir()
	link(t, "nowhere", filepath.Join(broken, "a.yaml"))
	for _, c := range []struct {
		paths        []string
		input, wants string
	}{
		{[]string{dir}, "", "no file in it ends in yaml"},
		{[]string{broken}, "", "a.yaml"},
		{[]string{"-"}, " \n", "-: it is empty"},
		{[]string{empty}, "", "empty.yaml: it is empty"},
		{[]string{"-", "-"}, rule, "can be read once"},
	} {
		s, err := Read(c.paths, strings.NewReader(c.input))
		if err == nil || !strings.Contains(err.Error(), c.wants) {
			t.Errorf("Read(%v) = %+v, %v, want an error with %q", c.paths, s, err, c.wants)
		}
	}
}

func TestARepeatedKeyIsReportedAtItsLine(t *testing.T) {
	const text = "a: b\n---\napiVersion: v1\nkind: Service\nspec: {}\nspec: {}\nkind: Service\n"
	want := []Problem{
		{Ref: Ref{"f", 6}, Text: `mapping key "spec" already defined`},
		{Ref: Ref{"f", 7}, Text: `mapping key "kind" already defined`},
	}
	got := Parse("f", []byte(text)).Problems
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("Parse = %+v, want %+v", got, want)
	}
}

func TestWhatStandsBesideManifestsIsSkipped(t *testing.T) {
	dir := tree(t)
	for name, text := range map[string]string{"notes.txt": "do this: and: that\n", "words.yaml": "- a\n- b\n", "numbers.json": "[1, 2]", "word.yml": "hello\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if s, err := Read([]string{filepath.Join(dir, name)}, nil); err != nil || len(s.Problems) == 0 {
			t.Errorf("Read(%s) by its name = %+v, %v, want a problem", name, s, err)
		}
	}
	if s, err := Read([]string{dir}, nil); err != nil || len(s.Objects) != 1 || len(s.Problems) != 1 || s.Skipped == 0 { // a field that rule misspells
		t.Errorf("Read of the folder = %+v, %v, want the rule with its problem, and the others skipped", s, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "broken.yaml"), []byte("kind: Deployment\n a: b\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if s, err := Read([]string{dir}, nil); err != nil || len(s.Problems) != 2 {
		t.Errorf("Read of the folder = %+v, %v, want the manifest that is broken", s, err)
	}
}

func TestATemplateIsNamedAsOne(t *testing.T) {
	s := Parse("f", []byte("{{- if .Values.x }}\nkind: Service\n{{- end }}\n"))
	if len(s.Problems) != 1 || !strings.Contains(s.Problems[0].Text, "what helm template makes of it would do") {
		t.Errorf("Parse = %+v, want that it is a template", s.Problems)
	}
}
