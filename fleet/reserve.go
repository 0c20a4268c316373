package fleet

import (
	"fmt"

	"github.com/offtake-go/offtake/capacity"
)

// Reserve divides a limit so that a replica that knows nothing is safe. Each of
// the most replicas that are ever alive has a floor, which is its own whether it
// runs or not; what lies above the floors is the pool, which those who know of
// each other share.
//
// It is tempting to let a newcomer start with the limit divided by the number of
// replicas it sees. But the others still use all of the limit, and will for as
// long as their calls take, so that even one place of the newcomer is one too
// many. Places for newcomers have to lie ready.
//
// Make one with [NewReserve]. It is a plain value.
type Reserve struct {
	whole       capacity.Plan
	maxReplicas int
	floor       int
}

// floorPart is the part of an equal share that is the floor unless stated: with
// half of the replicas alive, an eighth of the limit lies idle.
const floorPart = 4

// NewReserve divides whole, whose InFlight is the limit of all replicas together.
// maxReplicas is the most that are ever alive at the same time: under Kubernetes
// the autoscaler's maxReplicas, the surge of a rolling update on top, and those
// that terminate meanwhile. floor is in places; 0 is a quarter of an equal share
// among maxReplicas, and at least 1.
func NewReserve(whole capacity.Plan, maxReplicas, floor int) (Reserve, error) {
	whole, err := whole.Resolve()
	if err != nil {
		return Reserve{}, err
	}
	limit := whole.InFlight
	if maxReplicas < 1 || maxReplicas > limit {
		return Reserve{}, fmt.Errorf("maxReplicas: %d is not in [1, %d]: each replica needs a place of its own; the autoscaler's maxReplicas plus the surge would do", maxReplicas, limit)
	}
	if most := limit / maxReplicas; floor < 0 || floor > most {
		return Reserve{}, fmt.Errorf("Options.Floor: %d is not in [1, %d]: %d replicas have it at once out of %d places; %d would do, or 0 for the default",
			floor, most, maxReplicas, limit, max(most/floorPart, 1))
	}
	if floor == 0 {
		floor = max(limit/maxReplicas/floorPart, 1)
	}
	return Reserve{whole: whole, maxReplicas: maxReplicas, floor: floor}, nil
}

// Whole is the plan that is divided, resolved.
func (r Reserve) Whole() capacity.Plan { return r.whole }

// Floor is how many places each replica has in any case.
func (r Reserve) Floor() int { return r.floor }

// Pool is how many places are shared above the floors.
func (r Reserve) Pool() int { return r.whole.InFlight - r.maxReplicas*r.floor }

// Even is how many places above its floor each of n replicas has if the pool is
// shared equally. It is 0 for n below 1. More replicas than stated need floors
// too, which then come out of the pool.
func (r Reserve) Even(n int) int {
	if n < 1 {
		return 0
	}
	return max(r.whole.InFlight-max(n, r.maxReplicas)*r.floor, 0) / n
}

// Plan is the plan with so many places above the floor. Connections, Queue, Warm
// and Rate are in proportion, rounded down but never to nothing; times stay as
// they are. It fails if above is not in [0, Pool].
//
// capacity.Plan.Share divides by a number of replicas; a lease of places is not
// always such a part.
func (r Reserve) Plan(above int) (capacity.Plan, error) {
	if above < 0 || above > r.Pool() {
		return capacity.Plan{}, fmt.Errorf("fleet: %d places above the floor are not in [0, %d]", above, r.Pool())
	}
	part := r.whole
	part.InFlight = r.floor + above
	part.Connections = max(r.scale(r.whole.Connections, part.InFlight), (part.InFlight-1)/r.whole.Streams+1)
	part.Warm = min(max(r.scale(r.whole.Warm, part.InFlight), 1), part.Connections)
	part.Rate = r.whole.Rate * float64(part.InFlight) / float64(r.whole.InFlight)
	if r.whole.Queue != capacity.NoQueue {
		part.Queue = max(r.scale(r.whole.Queue, part.InFlight), 1)
	}
	return part.Resolve()
}

// scale is n times the part that places are of the whole, rounded down. Both
// factors are at most a million.
func (r Reserve) scale(n, places int) int {
	return int(int64(n) * int64(places) / int64(r.whole.InFlight))
}
