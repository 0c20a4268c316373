package factory

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// rollout is a deployment of pods that are replaced one after the other, each once
// the one before is ready: maxSurge 1, maxUnavailable 0.
type rollout struct {
	pods          int
	sidecar, pool time.Duration // until a pod can call, and until its pool is warm then
	opens         time.Duration // OpenDegraded; StayClosed is never
}

const never = time.Duration(1<<63 - 1)

// ready is when one pod is ready, and whether it is cold then. Without an upstream
// nothing ever gets warm.
func (r rollout) ready(upstream bool) (after time.Duration, cold bool) {
	warm := never
	if upstream {
		warm = r.sidecar + r.pool
	}
	if r.opens != StayClosed && r.opens < warm {
		return r.opens, true
	}
	return warm, false
}

// done is when all pods are replaced, and how many opened cold.
func (r rollout) done(upstream bool) (after time.Duration, cold int) {
	for range r.pods {
		one, isCold := r.ready(upstream)
		if one == never {
			return never, cold
		}
		after += one
		if isCold {
			cold++
		}
	}
	return after, cold
}

// replaced is how many pods are replaced after a while if none gets warm.
func (r rollout) replaced(within time.Duration) int {
	one, _ := r.ready(false)
	if one == never {
		return 0
	}
	return min(r.pods, int(within/one))
}

// cycle is when two services serve that each need the other to be ready.
func (r rollout) cycle() time.Duration {
	after, _ := r.ready(false) // neither is ready before one opens without the other
	return after
}

func says(d time.Duration) string {
	switch {
	case d == never:
		return "never"
	case d%time.Minute == 0:
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return fmt.Sprintf("%d s", d/time.Second)
}

// TestTheDefaultOpensColdInNoNormalRollout holds the table of docs/kubernetes.md
// equal to what is played here.
func TestTheDefaultOpensColdInNoNormalRollout(t *testing.T) {
	text, err := os.ReadFile("../docs/kubernetes.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := strings.ReplaceAll(string(text), "**", "")
	for _, opens := range []time.Duration{10 * time.Second, defaultDegraded, 2 * time.Minute, StayClosed} {
		r := rollout{pods: 24, sidecar: 12 * time.Second, pool: 8 * time.Second, opens: opens}
		_, cold := r.done(true)
		outage, _ := r.done(false)
		if opens == defaultDegraded && cold != 0 {
			t.Errorf("with the default %d pods of a normal rollout opened cold, want 0", cold)
		}
		name := says(opens)
		if opens == StayClosed {
			name = "`StayClosed`"
		}
		row := fmt.Sprintf("| %s | %d | %s | %s | %d |", name, cold, says(r.cycle()), says(outage), r.replaced(5*time.Minute))
		if !strings.Contains(doc, row) {
			t.Errorf("docs/kubernetes.md has no row %s", row)
		}
	}
}
