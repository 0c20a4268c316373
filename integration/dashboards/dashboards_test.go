package dashboards

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

var update = flag.Bool("update", false, "write observability/grafana anew")

// TestTheFilesAreWhatTheTablesSay also reads them back strictly: an unknown or a
// missing field, down to the options of a panel, is a mistake.
func TestTheFilesAreWhatTheTablesSay(t *testing.T) {
	plugins.RegisterDefaultPlugins()
	for name, d := range All() {
		want, err := d.JSON()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("../../observability/grafana", name)
		if *update {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the tables say; run\n\tgo test ./dashboards -update\nin integration", path)
		}
		var strict dashboard.Dashboard                                               //nolint:staticcheck // see JSON
		if err := strict.UnmarshalJSONStrict(got); err != nil && err.Error() != "" { // an empty error is success
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestEveryPanelIsPlacedAndSaysWhatItIs(t *testing.T) {
	for name, d := range All() {
		content, err := d.JSON()
		if err != nil {
			t.Fatal(err)
		}
		var layout struct {
			Panels []struct {
				Type, Title string
				GridPos     struct{ X, Y, W, H int }
				Targets     []struct{ Expr, RefID string }
			}
		}
		if err := json.Unmarshal(content, &layout); err != nil {
			t.Fatal(err)
		}
		seen := make(map[[2]int]string)
		for _, p := range layout.Panels {
			for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
				for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
					if other := seen[[2]int{x, y}]; other != "" {
						t.Fatalf("%s: %q lies over %q at %d, %d", name, p.Title, other, x, y)
					}
					seen[[2]int{x, y}] = p.Title
				}
			}
			if p.GridPos.X+p.GridPos.W > columns {
				t.Errorf("%s: %q is outside of the grid", name, p.Title)
			}
			if p.Title == "" || p.Type != "row" && len(p.Targets) == 0 {
				t.Errorf("%s: a %s panel %q has no title or no query", name, p.Type, p.Title)
			}
		}
	}
	for name, d := range All() {
		for _, row := range d.Rows {
			for _, p := range row.Panels {
				if p.About == "" {
					t.Errorf("%s: %q does not say what it means", name, p.Title)
				}
				if !slices.Contains([]string{"s", "reqps", "percentunit", "short"}, p.Unit) {
					t.Errorf("%s: %q has the unit %q, which this test does not know", name, p.Title, p.Unit)
				}
			}
		}
	}
	if first := owner().Rows[0].Panels[0]; first.Title != "Queue wait, p95" {
		t.Errorf("the owner's first tile is %q, want the queue wait", first.Title)
	}
}

// TestEveryVariableIsThereAndUsed finds what a choice above the panels would not
// change, and what a query asks for that nobody can choose.
func TestEveryVariableIsThereAndUsed(t *testing.T) {
	variable := regexp.MustCompile(`\$\{?([a-z_]\w*)`)
	for name, d := range All() {
		used := make(map[string]bool)
		look := func(text string) {
			for _, m := range variable.FindAllStringSubmatch(text, -1) {
				used[m[1]] = true
			}
		}
		for _, row := range d.Rows {
			for _, p := range row.Panels {
				for _, q := range p.Queries {
					look(q.Expr)
				}
			}
		}
		for _, v := range d.Variables {
			if !used[v.Name] {
				t.Errorf("%s: no query uses the variable %s", name, v.Name)
			}
			delete(used, v.Name)
			look(v.Query)
		}
		delete(used, "__rate_interval") // Grafana's own
		for _, v := range d.Variables {
			delete(used, v.Name)
		}
		for missing := range used {
			t.Errorf("%s: the variable %s is used and not there", name, missing)
		}
	}
}
