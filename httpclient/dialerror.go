package httpclient

import (
	"errors"
	"net"

	"github.com/offtake-go/offtake/internal/telemetry"
)

// dialError is a connection that did not come about, and how far it came.
type dialError struct {
	phase telemetry.Outcome
	err   error
}

func (e *dialError) Error() string { return e.err.Error() }
func (e *dialError) Unwrap() error { return e.err }

// bare is the error as net/http has it, where that says by itself how far the
// connection came: others assert its type, and don't look below ours.
func bare(err error) error {
	if dial, ok := err.(*dialError); ok && dial.phase == outcomeOfConnection(dial.err) { //nolint:errorlint // the outermost is meant
		return dial.err
	}
	return err
}

// temporary says whether a failed look-up may go better the next time.
func temporary(err error) bool {
	dns, ok := errors.AsType[*net.DNSError](err)
	return ok && (dns.IsTemporary || dns.IsTimeout)
}
