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
	broken := t.TempDir()
	link(t, "nowhere", filepath.Join(broken, "a.yaml"))
	for _, c := range []struct {
		paths        []string
		input, wants string
	}{
		{[]string{dir}, "", "no file in it ends in yaml"},
		{[]string{broken}, "", "a.yaml"},
		{[]string{"-"}, " \n", "standard input is empty"},
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
