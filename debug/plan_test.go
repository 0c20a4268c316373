package debug_test

import (
	"testing"
	"time"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/debug"
)

func TestAPlanConverts(t *testing.T) {
	p := capacity.Plan{InFlight: 24, Wait: time.Second, Rate: 20, Latency: 40 * time.Millisecond}
	if got := capacity.Plan(debug.Plan(p)); got != p {
		t.Errorf("a plan through the page = %v, want %v", got, p)
	}
}
