package gate

import "time"

// drainRate measures how fast places come free while somebody waits: the mean
// time between two hand-overs of the present busy period.
//
// A busy period starts when the first caller queues and is forgotten when the
// next one starts. It is tempting to keep an average across periods; but then a
// gate that has seen one slow hour refuses everybody as late, hands over
// nothing, and so never learns that the upstream is well again.
type drainRate struct {
	last  time.Time     // the last hand-over, or the start of the period
	span  time.Duration // time covered by the counted hand-overs
	count int
}

const (
	drainTrust  = 8  // hand-overs before an estimate may refuse anybody
	drainMemory = 64 // hand-overs after which the older half is forgotten

	// No estimate is longer: it is the longest time that a capacity.Plan can state,
	// and where nothing has moved for days, a long queue times the gap does not fit
	// into a time.Duration.
	longestEstimate = time.Hour
)

func (d *drainRate) begin(now time.Time) { *d = drainRate{last: now} }

func (d *drainRate) served(now time.Time) {
	d.span += now.Sub(d.last)
	d.last = now
	d.count++
	if d.count >= drainMemory {
		d.span /= 2
		d.count /= 2
	}
}

// expect estimates when the n-th in the queue has its place. A gap that is
// longer than the mean counts as if it ended now, so that an upstream which has
// stopped answering is noticed. It is 0 without any hand-over yet, and known
// says that there were enough to act on it.
func (d *drainRate) expect(n int, now time.Time) (wait time.Duration, known bool) {
	if d.count == 0 {
		return 0, false
	}
	mean := float64(d.span) / float64(d.count)
	withGap := float64(d.span+now.Sub(d.last)) / float64(d.count+1)
	estimate := min(float64(n)*max(mean, withGap), float64(longestEstimate))
	return time.Duration(estimate), d.count >= drainTrust
}
