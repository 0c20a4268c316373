package offtake

import "time"

// Failure is the last error of one outcome, as a client keeps it for those who look
// into an incident: see Failures of httpclient.Client and grpcclient.Conn.
type Failure struct {
	// Outcome is its label in the metrics: "connect", "5xx", "UNAVAILABLE".
	Outcome string `json:"outcome"`

	// Text is the error's, cut to 300 bytes. Of an address in it only the host is
	// left: users, paths and queries may be secret.
	Text string `json:"text"`

	// At is when it occurred.
	At time.Time `json:"at"`
}
