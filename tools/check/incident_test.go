package check_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/offtake-go/offtake/capacity/contract"
	"github.com/offtake-go/offtake/tools/check"
	"github.com/offtake-go/offtake/tools/check/manifest"
	"github.com/offtake-go/offtake/tools/check/report"
)

var update = flag.Bool("update", false, "write the golden files anew")

// checkDir checks a folder of testdata: its contract and everything beside it.
func checkDir(t testing.TB, dir string, o check.Options) *check.Report {
	t.Helper()
	c, err := contract.Load(filepath.Join("testdata", dir, "offtake.yaml"), "")
	if err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join("testdata", dir, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	names = slices.DeleteFunc(names, func(n string) bool { return filepath.Base(n) == "offtake.yaml" })
	set, err := manifest.Read(names, nil)
	if err != nil {
		t.Fatal(err)
	}
	if o.Now.IsZero() {
		o.Now = time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return check.NewWorld(c, set, o).Check(check.Baseline{})
}

func TestTheIncidentsAreFound(t *testing.T) {
	for _, dir := range []string{"inc1187", "outage24", "sixpods", "twentypods"} {
		t.Run(dir, func(t *testing.T) {
			var b bytes.Buffer
			if err := report.Text(&b, checkDir(t, dir, check.Options{}), false); err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join("testdata", dir, "golden.txt"), b.Bytes())
		})
	}
}

func TestTheRepairedSetsPass(t *testing.T) {
	for _, dir := range []string{"inc1187-repaired", "outage24-repaired", "sixpods-repaired", "twentypods-repaired"} {
		t.Run(dir, func(t *testing.T) {
			r := checkDir(t, dir, check.Options{})
			if worst, found := r.Worst(); found && worst > check.Info || len(r.Broken) > 0 {
				var b bytes.Buffer
				if err := report.Text(&b, r, false); err != nil {
					t.Fatal(err)
				}
				t.Errorf("the repaired set has findings:\n%s", b.Bytes())
			}
		})
	}
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the output differs from %s, which -update writes anew:\n%s", path, got)
	}
}
