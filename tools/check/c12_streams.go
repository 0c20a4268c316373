package check

import "math"

// c12 is whether the calls fit on their connections.
type c12 struct {
	Load           float64 `json:"l"`
	Conns, Streams int
}

func (n c12) verdict() Verdict {
	room := n.Conns * n.Streams
	return holds(n.Load <= float64(room),
		say("%.4g concurrent calls, %d streams: %.4g wait, %d connections needed", n.Load, n.Streams, math.Max(0, n.Load-float64(room)), max(1, ceilTo(n.Load/float64(n.Streams)))),
		say("%d connections, or %d streams on each", ceilTo(n.Load/float64(n.Streams)), ceilTo(n.Load/float64(max(n.Conns, 1)))))
}

func ruleC12() Rule {
	return rule(Rule{
		ID: "C12", Title: "too many calls for the streams of a connection", Severity: Warning,
		Breaks: "concurrent calls of one replica > connections x streams",
		Source: "grpc-go assumes 100 streams until SETTINGS; what is over it waits unseen", Needs: "HTTP/2 or gRPC, a rate and a latency",
	}, func(w *World, emit func(Place, c12)) {
		for _, c := range w.pools() {
			u := c.Upstream
			if !shares(*u) || c.Mean == 0 {
				continue
			}
			conns := max(c.Pool.Connections, 1) // a channel has one for each address
			emit(c.place(), c12{c.Rate * c.Mean / float64(w.Service.Min), conns, c.Pool.Streams})
		}
	})
}
