package driver_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A layout is some packages in two modules, of which one may take the place of a
// download in the other.
type layout struct {
	packages []layoutPackage
}

type layoutPackage struct {
	module   string   // home or dep
	name     string   // the folder, and the package
	defect   bool     // there is one finding in it
	line     bool     // which is below a //line directive
	tagged   bool     // which is in a file with the tag special
	test     string   // "", or the constraint of an in-package test file: always, special, !special
	external bool     // there is an external test that imports the next package
	imports  []string // import paths
}

func (p layoutPackage) path() string { return "example.com/" + p.module + "/" + p.name }

func randomLayout(r *rand.Rand) *layout {
	l := new(layout)
	for i := range 5 {
		p := layoutPackage{module: "home", name: fmt.Sprintf("p%d", i), defect: r.IntN(5) > 0}
		if i < 2 { // only home may import dep
			p.module = "dep"
		}
		p.line = r.IntN(4) == 0
		p.tagged = r.IntN(4) == 0
		p.test = []string{"", "always", "special", "!special"}[r.IntN(4)]
		for _, q := range l.packages {
			if r.IntN(2) == 0 {
				p.imports = append(p.imports, q.path())
			}
		}
		l.packages = append(l.packages, p)
	}
	for i := range l.packages[:4] {
		// The tests of a package may import what imports it.
		next := l.packages[i+1]
		l.packages[i].external = next.module == l.packages[i].module && r.IntN(3) == 0
	}
	return l
}

// write makes the files, with a salt that no cache has seen.
func (l *layout) write(t *testing.T, salt string) {
	write(t, "dep/go.mod", "module example.com/dep\n\ngo 1.26.0\n")
	write(t, "home/go.mod", "module example.com/home\n\ngo 1.26.0\n\nrequire example.com/dep v0.0.0\n\nreplace example.com/dep => ../dep\n")
	for i, p := range l.packages {
		dir := filepath.Join(p.module, p.name)
		var b strings.Builder
		fmt.Fprintf(&b, "package %s\n\n", p.name)
		for _, path := range p.imports {
			fmt.Fprintf(&b, "import _ %q\n", path)
		}
		fmt.Fprintf(&b, "\nconst Salt = %q\n", salt)
		write(t, filepath.Join(dir, "a.go"), b.String())
		if p.defect {
			head, line := "", ""
			if p.tagged {
				head = "//go:build special\n\n"
			}
			if p.line {
				line = "//line template.txt:7\n"
			}
			write(t, filepath.Join(dir, "bad.go"), fmt.Sprintf("%spackage %s\n\nimport \"net\"\n\n%sfunc Dial(a string) { net.Dial(\"tcp\", a) }\n", head, p.name, line))
		}
		if p.test != "" {
			head := ""
			if p.test != "always" {
				head = "//go:build " + p.test + "\n\n"
			}
			write(t, filepath.Join(dir, "in_test.go"), fmt.Sprintf("%spackage %s\n", head, p.name))
		}
		if p.external {
			write(t, filepath.Join(dir, "ex_test.go"), fmt.Sprintf("package %s_test\n\nimport _ %q\n", p.name, l.packages[i+1].path()))
		}
	}
}

// A vetting is one run: where, of what, and how.
type vetting struct {
	module, pattern, how string
	special              bool
}

func (v vetting) String() string {
	return fmt.Sprintf("%s of %s in %s, special=%t", v.how, v.pattern, v.module, v.special)
}

// asked returns the packages that a vetting is about.
func (l *layout) asked(v vetting) []layoutPackage {
	var found []layoutPackage
	for _, p := range l.packages {
		if v.pattern == p.path() || v.pattern == "./..." && p.module == v.module {
			found = append(found, p)
		}
	}
	return found
}

// below returns the packages and all that they import, tests included.
func (l *layout) below(from []layoutPackage) map[string]bool {
	seen := make(map[string]bool)
	var visit func(layoutPackage, bool)
	visit = func(p layoutPackage, tests bool) {
		first := !seen[p.path()]
		seen[p.path()] = true
		for i, q := range l.packages {
			if first && slices.Contains(p.imports, q.path()) || tests && p.external && i > 0 && l.packages[i-1].path() == p.path() {
				visit(q, false)
			}
		}
	}
	for _, p := range from {
		visit(p, true)
	}
	return seen
}

func (l *layout) imported(p layoutPackage) bool {
	return slices.ContainsFunc(l.packages, func(q layoutPackage) bool { return slices.Contains(q.imports, p.path()) })
}

func withDefect(packages []layoutPackage, special bool) map[string]bool {
	want := make(map[string]bool)
	for _, p := range packages {
		if p.defect && (special || !p.tagged) {
			want[p.module+"/"+p.name] = true
		}
	}
	return want
}

var place = regexp.MustCompile(`(?m)([\w./]+)/(?:bad\.go|template\.txt):\d+(?::\d+)?: OT501: `)

// run returns the folders with a finding, and how often each was reported.
func (v vetting) run(t *testing.T, root string) map[string]int {
	t.Chdir(filepath.Join(root, v.module))
	args := []string{v.pattern}
	if v.special {
		args = []string{"-tags=special", v.pattern}
	}
	var out string
	if v.how == "go vet" {
		out = vetTool(t, args...)
	} else {
		_, out, _ = run(args...)
	}
	found := make(map[string]int)
	for _, m := range place.FindAllStringSubmatch(out, -1) {
		dir, err := filepath.Abs(m[1])
		if err != nil {
			t.Fatal(err)
		}
		rel, err := filepath.Rel(root, dir)
		if err != nil {
			t.Fatal(err)
		}
		found[filepath.ToSlash(rel)]++
	}
	return found
}

// The findings of a package depend on its source, on its dependencies, on the
// flags and on the configuration, and on nothing else: not on what was vetted
// before, from which module, or by which command. offtakevet reports on what it
// was asked for and nothing else, and once. go vet may report on what that
// imports too, and twice on what it compiles again for an external test.
func TestFindingsDependOnTheCodeAlone(t *testing.T) {
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "")
	for seed := range uint64(layouts) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 26))
			root := t.TempDir()
			root, err := filepath.EvalSymlinks(root)
			if err != nil {
				t.Fatal(err)
			}
			t.Chdir(root)
			l := randomLayout(r)
			l.write(t, root)
			var history []string
			special := r.IntN(2) == 0
			for range 8 {
				// Most holes of a cache need two runs that differ in little.
				if r.IntN(5) == 0 {
					special = !special
				}
				v := vetting{module: "home", how: []string{"go vet", "offtakevet"}[r.IntN(2)], special: special, pattern: "./..."}
				if r.IntN(4) == 0 {
					v.module = "dep"
				}
				// Those that import much come first as often as not.
				if p := l.packages[r.IntN(len(l.packages))]; p.module == v.module || v.module == "home" && l.imported(p) {
					if r.IntN(5) > 0 {
						v.pattern = p.path()
					}
				}
				asked := l.asked(v)
				want := withDefect(asked, v.special)
				got := v.run(t, root)
				below := l.below(asked)
				for dir := range want {
					if got[dir] == 0 {
						t.Errorf("%v reports nothing in %s, want a finding; before it: %s\n%+v", v, dir, strings.Join(history, "; "), l)
					}
				}
				for dir, n := range got {
					may := want[dir] || v.how == "go vet" && below["example.com/"+dir]
					if n != 1 && v.how != "go vet" || !may {
						t.Errorf("%v reports %d findings in %s, want one at most, and none of what nobody asked for; before it: %s\n%+v", v, n, dir, strings.Join(history, "; "), l)
					}
				}
				history = append(history, v.String())
			}
		})
	}
}

// layouts is how many the test tries. Each takes a few seconds, most of which the
// go command spends on the packages below net.
const layouts = 8

func TestDownloadedPackagesAreRefused(t *testing.T) {
	module(t, "p/p.go", bad)
	if code, out, errs := run("net/http"); code != 2 || !strings.Contains(errs, "vet it in a checkout") {
		t.Errorf("offtakevet(net/http) = %d, prints %q and %q, want 2 and why", code, out, errs)
	}
}

// go vet -fix passes over what went through cgo, and says nothing.
func TestFixThatCannotBeAppliedIsNamed(t *testing.T) {
	t.Setenv("CGO_ENABLED", "1")
	module(t, "p/p.go", strings.Replace(dropped, "package p\n", "package p\n\nimport \"C\"\n", 1))
	before, err := os.ReadFile("p/p.go")
	if err != nil {
		t.Fatal(err)
	}
	code, out, errs := run("-fix", "./...")
	if code != 1 || !strings.Contains(out, "p.go:11:12: OT301: ") || !strings.Contains(errs, "by hand") {
		t.Errorf("offtakevet(-fix) of a cgo file = %d, prints %q and %q, want 1 and the place", code, out, errs)
	}
	after, err := os.ReadFile("p/p.go")
	if err != nil {
		t.Fatal(err)
	}
	if string(before) != string(after) {
		t.Errorf("offtakevet(-fix) of a cgo file wrote\n%s", after)
	}
}
