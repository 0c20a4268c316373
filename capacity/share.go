package capacity

import "fmt"

// Share returns the plan of one of n replicas that hold the plan's InFlight
// together, resolved: its InFlight times n is never more than the whole. Queue,
// Warm and Rate are divided too; times stay as they are, Latency among them.
//
// Each replica keeps the connections its places need, so with Streams above 1 the
// replicas together may have more connections than the whole, but never more
// requests. Share fails if the plan does not resolve, or if n is not in
// [1, InFlight]: a replica without a place can not serve.
func (p Plan) Share(n int) (Plan, error) {
	whole, err := p.Resolve()
	if err != nil {
		return Plan{}, err
	}
	if n < 1 || n > whole.InFlight {
		return Plan{}, fmt.Errorf("capacity: share: %d replicas can not hold %s together; a number in [1, %d] would do",
			n, count(whole.InFlight, "place"), whole.InFlight)
	}
	part := whole
	part.InFlight = whole.InFlight / n
	part.Connections = max(whole.Connections/n, ceilDiv(part.InFlight, whole.Streams))
	part.Warm = min(max(whole.Warm/n, 1), part.Connections)
	part.Rate = whole.Rate / float64(n)
	if whole.Queue != NoQueue {
		part.Queue = max(whole.Queue/n, 1)
	}
	return part.Resolve()
}
