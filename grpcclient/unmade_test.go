package grpcclient

import (
	"errors"
	"reflect"
	"testing"

	"google.golang.org/grpc"

	"github.com/offtake-go/offtake/capacity"
)

func TestANilOrZeroConnFailsAndDoesNotPanic(t *testing.T) {
	for name, c := range map[string]*Conn{"nil": nil, "zero": {}} {
		_, streamErr := c.NewStream(t.Context(), &grpc.StreamDesc{}, methodCall)
		for method, err := range map[string]error{
			"Invoke":    c.Invoke(t.Context(), methodCall, nil, nil),
			"NewStream": streamErr,
			"Warm":      c.Warm(t.Context()),
			"Resize":    c.Resize(capacity.Plan{InFlight: 1}),
			"Shutdown":  c.Shutdown(t.Context()),
			"Close":     c.Close(),
		} {
			if !errors.Is(err, errUnmade) {
				t.Errorf("%s connection: %s() = %v, want %v", name, method, err, errUnmade)
			}
		}
		c.Observe(true)
		if got := c.Stats(); !reflect.DeepEqual(got, Stats{}) {
			t.Errorf("%s connection: Stats() = %+v, want nothing", name, got)
		}
		if got := c.Failures(); got != nil {
			t.Errorf("%s connection: Failures() = %v, want none", name, got)
		}
	}
}
