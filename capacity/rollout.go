package capacity

import (
	"fmt"
	"strconv"
	"strings"
)

// Pods states a part of a deployment's replicas as Kubernetes does, by number or
// by percent. One of the two is set; the zero value is none.
type Pods struct {
	Count   int
	Percent int
}

// String writes "2" or "25%".
func (p Pods) String() string {
	if p.Percent != 0 {
		return strconv.Itoa(p.Percent) + "%"
	}
	return strconv.Itoa(p.Count)
}

// MarshalText writes what String does.
func (p Pods) MarshalText() ([]byte, error) {
	if p.Count != 0 && p.Percent != 0 {
		return nil, fmt.Errorf("capacity: pods: both %d and %d%%", p.Count, p.Percent)
	}
	return []byte(p.String()), nil
}

// UnmarshalText reads "2" or "25%".
func (p *Pods) UnmarshalText(b []byte) error {
	digits, percent := strings.CutSuffix(string(b), "%")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 {
		return fmt.Errorf("capacity: pods: %q is neither a number of pods nor a percentage; 1 or 25%% would do", b)
	}
	if percent {
		*p = Pods{Percent: n}
	} else {
		*p = Pods{Count: n}
	}
	return nil
}

// RolloutPods returns how many pods a rolling update of this many replicas adds
// and takes away at most. A percentage of surge rounds up and one of unavailable
// rounds down; when both come to nothing, one pod is unavailable, or the rollout
// could not move. Two zero values are no rollout.
//
// Source: ResolveFenceposts in kubernetes/pkg/controller/deployment/util.
func RolloutPods(replicas int, surge, unavailable Pods) (extra, missing int) {
	if surge == (Pods{}) && unavailable == (Pods{}) {
		return 0, 0
	}
	extra = surge.Count + (surge.Percent*replicas+99)/100
	missing = min(unavailable.Count+unavailable.Percent*replicas/100, replicas)
	if extra == 0 && missing == 0 {
		missing = 1
	}
	return extra, missing
}
