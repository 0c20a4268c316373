package simulate

import (
	"time"

	"github.com/offtake-go/offtake/capacity"
)

// A rollout is a Rollout that runs, as the Deployment controller sees it.
type rollout struct {
	running            bool
	target             int // how many are to be replaced
	surge, unavailable int // in replicas
	minReady           int64
}

// defaultSurge is Kubernetes' default of maxSurge and maxUnavailable.
const defaultSurge = 25

func (e *engine) startRollout(r Rollout) {
	n := e.s.Service.Replicas
	if r.MaxSurge == (capacity.Pods{}) && r.MaxUnavailable == (capacity.Pods{}) {
		r.MaxSurge.Percent, r.MaxUnavailable.Percent = defaultSurge, defaultSurge
	}
	now := rollout{running: true, target: n, minReady: int64(r.MinReady)}
	now.surge, now.unavailable = capacity.RolloutPods(n, r.MaxSurge, r.MaxUnavailable)
	if r.Replicas > 0 {
		now.target = r.Replicas
	}
	for _, rep := range e.replicas {
		rep.fresh = false
	}
	e.rollout = now
	e.reconcile()
}

// reconcile does what the Deployment controller does whenever it sees a change.
func (e *engine) reconcile() {
	if !e.rollout.running {
		return
	}
	e.scaleUp()
	e.scaleDown()
	fresh, old, available := e.census()
	if fresh == e.rollout.target && old == e.s.Service.Replicas-fresh && available >= e.s.Service.Replicas {
		e.rollout.running = false
		e.m.marks = append(e.m.marks, Moment{At: time.Duration(e.now), Text: "the rollout is done"})
	}
}

// census counts the replicas that were not told to go: fresh ones, old ones, and
// those of both that are available.
func (e *engine) census() (fresh, old, available int) {
	for _, rep := range e.replicas {
		if rep.leaving {
			continue
		}
		if rep.fresh {
			fresh++
		} else {
			old++
		}
		if e.available(rep) {
			available++
		}
	}
	return fresh, old, available
}

// available says whether a replica counts as up: it is ready, and if it is fresh,
// has been for MinReady.
func (e *engine) available(rep *replica) bool {
	if !rep.ready || rep.leaving {
		return false
	}
	if !rep.fresh {
		return true
	}
	return e.now >= rep.readyAt+e.rollout.minReady
}

// scaleUp creates fresh replicas within the surge.
func (e *engine) scaleUp() {
	fresh, old, _ := e.census()
	room := e.s.Service.Replicas + e.rollout.surge - fresh - old
	for range min(room, e.rollout.target-fresh) {
		rep := e.addReplica()
		rep.fresh = true
		e.timers.add(e.now+int64(e.s.Service.Start), started, rep.id, rep.gen)
	}
}

// scaleDown takes old replicas away: first those that are not available, which
// costs nothing, then as many as leaves enough available ones.
func (e *engine) scaleDown() {
	fresh, old, available := e.census()
	freshWaiting := fresh
	for _, rep := range e.replicas {
		if rep.fresh && e.available(rep) {
			freshWaiting--
		}
	}
	least := e.s.Service.Replicas - e.rollout.unavailable
	keep := e.s.Service.Replicas - e.rollout.target
	// No more may go than leaves least replicas should every one that is still
	// coming up fail.
	spare := min(fresh+old-least-freshWaiting, old-keep)
	for _, rep := range e.replicas {
		if spare > 0 && !rep.fresh && !rep.leaving && !e.available(rep) {
			e.terminate(rep)
			spare--
		}
	}
	spare = min(spare, available-least)
	for _, rep := range e.replicas {
		if spare > 0 && !rep.fresh && !rep.leaving {
			e.terminate(rep)
			spare--
		}
	}
}
