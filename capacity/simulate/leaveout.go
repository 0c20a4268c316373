package simulate

import "time"

// A LeaveOut is how a client that knows its endpoints does without one that fails, as
// the clients of this module do: it is given no calls but one after each pause, a
// real one, and what comes of that decides. A client is judged by its own calls
// alone; the answer 429 says nothing.
type LeaveOut struct {
	// Failures in a row, with no success between them, leave a replica out; the
	// default is 2.
	Failures int `yaml:"failures"`

	// Most of the replicas may be left out at a time, and never the last one; the
	// default is 50 %.
	Most Share `yaml:"most"`

	// Pause is how long the first one lasts, the default is 1 s. It doubles with each
	// call that fails again, up to LongestPause, by default 30 s.
	Pause        time.Duration `yaml:"pause"`
	LongestPause time.Duration `yaml:"longestPause"`
}

func (o *LeaveOut) resolve() {
	orElse(&o.Failures, 2)
	orElse(&o.Most, 0.5)
	orElse(&o.Pause, time.Second)
	orElse(&o.LongestPause, max(30*time.Second, o.Pause))
}

func (o *LeaveOut) check(m *mistakes) {
	m.count("Proxy.LeaveOut.Failures", o.Failures, 1, maxCount, "it counts failures in a row")
	m.share("Proxy.LeaveOut.Most", o.Most, "it is a share of the replicas")
	m.duration("Proxy.LeaveOut.Pause", o.Pause, time.Millisecond, maxTime, "without a pause nothing is left out")
	m.duration("Proxy.LeaveOut.LongestPause", o.LongestPause, o.Pause, maxTime, "it is no less than the first")
}

// A trickle is what a client knows of one replica.
type trickle struct {
	failures int // in a row
	out      bool
	trying   bool  // its one call is out
	tryAt    int64 // when the next one may go
	pause    int64
}

// judge counts the end of a call against the replica that it was sent to.
func (e *engine) judge(p *proxy, h *host, a answer) {
	o := e.s.Proxy.LeaveOut
	if o == nil || h.removed {
		return
	}
	t := &h.trickle
	switch {
	case a.status == 429:
		t.trying = false // the next one may go at once: it lives
	case a.status < 500:
		back := t.out
		p.readmit(h)
		if back {
			e.refresh(p)
		}
	default:
		t.failures++
		switch {
		case t.out && t.trying:
			t.trying = false
			t.pause = min(2*t.pause, int64(o.LongestPause))
			t.tryAt = e.now + t.pause
		case !t.out && t.failures >= o.Failures && p.leftOut < o.most(len(p.hosts)):
			t.out, t.pause = true, int64(o.Pause)
			t.tryAt = e.now + t.pause
			p.leftOut++
			e.m.leftOut++
			e.refresh(p)
		}
	}
}

// most is how many of n replicas may be left out, and never the last one.
func (o *LeaveOut) most(n int) int { return max(0, min(int(float64(o.Most)*float64(n)), n-1)) }

// readmit makes a replica one like the others.
func (p *proxy) readmit(h *host) {
	if h.trickle.out {
		p.leftOut--
	}
	h.trickle = trickle{}
}

// readmitTooMany keeps to LeaveOut.Most when replicas have gone: first comes back who
// would be tried first.
func (e *engine) readmitTooMany(p *proxy) {
	o := e.s.Proxy.LeaveOut
	for o != nil && p.leftOut > o.most(len(p.hosts)) {
		var first *host
		for _, h := range p.hosts {
			if h.trickle.out && (first == nil || h.trickle.tryAt < first.trickle.tryAt) {
				first = h
			}
		}
		p.readmit(first)
	}
}

// due is a replica that is left out and whose pause is over, or nil.
func (p *proxy) due(now int64) *host {
	if p.leftOut == 0 {
		return nil
	}
	for _, h := range p.hosts {
		if t := &h.trickle; t.out && !t.trying && now >= t.tryAt && !h.monitor.ejected && !h.failing {
			t.trying = true
			return h
		}
	}
	return nil
}
