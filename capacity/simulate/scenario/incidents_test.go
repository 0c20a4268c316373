package scenario

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/offtake-go/offtake/capacity/simulate"
)

const incidents = "../../../examples/incidents/"

func play(t *testing.T, name string, overlays ...string) *simulate.Result {
	t.Helper()
	var over [][]byte
	for _, o := range overlays {
		over = append(over, []byte(o))
	}
	f, err := Load(incidents+name+".yaml", over...)
	if err != nil {
		t.Fatal(err)
	}
	r, err := simulate.Run(t.Context(), f.Scenario(), nil)
	if err != nil {
		t.Fatalf("Run(%s): %v", name, err)
	}
	return r
}

// after is the share of calls that fail from at on.
func after(r *simulate.Result, at time.Duration) float64 {
	failed, served := r.Find(simulate.SeriesFailed), r.Find(simulate.SeriesServed)
	f, all := 0.0, 0.0
	for i := range failed.Values {
		if time.Duration(i)*failed.Step >= at {
			f += failed.Values[i]
			all += failed.Values[i] + served.Values[i]
		}
	}
	return f / all
}

// Each incident happens, and its repaired twin does not.
func TestIncidentsHappenAndTheirTwinsDoNot(t *testing.T) {
	for _, test := range []struct {
		name     string
		at       time.Duration // what is looked at is from here on
		most     float64       // share of calls that fail in the twin
		least    float64       // and in the incident
		happened func(*simulate.Result) bool
	}{
		{"inc-1187", 4 * time.Minute, 0.03, 0.95, func(r *simulate.Result) bool { return r.QueuePeak > 500 }},
		{"metastable", 8 * time.Minute, 0.02, 0.95, func(r *simulate.Result) bool { return r.Requests.Late > r.Requests.Served/2 }},
		{"cold-rollout", time.Minute, 0.003, 0.02, func(r *simulate.Result) bool { return r.Mesh.PanicTime > 10*time.Second && r.Mesh.MostEjected >= 18 }},
		{"helpful-breaker", 5 * time.Minute, 0.005, 0.4, func(r *simulate.Result) bool { return r.Restarts > 20 && r.Mesh.CapRefused > 0 }},
		{"brown-out", 3 * time.Minute, 0.001, 0.5, func(r *simulate.Result) bool { return r.Calls.Failed[simulate.NoHealthy] > 0 }},
		{"slow-replica", 3 * time.Minute, 0.02, 0.05, func(r *simulate.Result) bool { return r.Calls.Failed[simulate.ProxyTimeout] > 3000 }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			incident, twin := play(t, test.name), play(t, test.name+"-repaired")
			if x := after(incident, test.at); x < test.least {
				t.Errorf("after %v, share of calls that fail = %.4f, want at least %.4f", test.at, x, test.least)
			}
			if x := after(twin, test.at); x > test.most {
				t.Errorf("repaired, share of calls that fail = %.4f, want at most %.4f", x, test.most)
			}
			if !test.happened(incident) || test.happened(twin) {
				t.Errorf("its mark is in the incident: %t, in the twin: %t, want true and false", test.happened(incident), test.happened(twin))
			}
		})
	}
}

// What the twin says of its repairs is true: three of them do nothing alone.
func TestNoSingleRepairStopsTheHelpfulBreaker(t *testing.T) {
	for _, repair := range []string{
		`service: {busy: 429}`,
		`service: {liveness: {sharesPool: false}}`,
		`proxy: {retryPercent: 20}`,
	} {
		t.Run(repair, func(t *testing.T) {
			t.Parallel()
			if x := after(play(t, "helpful-breaker", repair, "duration: 5m"), 5*time.Minute); x < 0.85 {
				t.Errorf("with %s alone, share of calls that fail = %.4f, want at least 0.85", repair, x)
			}
		})
	}
}

func TestEveryIncidentHasItsTwinAndItsStory(t *testing.T) {
	files, err := filepath.Glob(incidents + "*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("Glob = %v, %v, want the incidents", files, err)
	}
	for _, path := range files {
		f, err := Load(path)
		if err != nil {
			t.Errorf("Load: %v", err)
			continue
		}
		if f.About == "" || f.Name == strings.TrimSuffix(filepath.Base(path), ".yaml") {
			t.Errorf("%s has no name or story", path)
		}
		if !strings.HasSuffix(path, "-repaired.yaml") {
			if _, err := Load(strings.TrimSuffix(path, ".yaml") + "-repaired.yaml"); err != nil {
				t.Errorf("%s has no twin: %v", path, err)
			}
		}
	}
}
