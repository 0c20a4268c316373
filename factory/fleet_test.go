package factory

import (
	"net/http"
	"testing"
	"time"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/fleet"
)

func TestASharedLimitSizesItsClientAndTheFileDoesNot(t *testing.T) {
	whole := capacity.Plan{InFlight: 30}
	source, err := fleet.NewStatic(whole, 3)
	if err != nil {
		t.Fatal(err)
	}
	path := write(t, one, upstream(t).URL())
	s, _ := open(t, path, Options{Fleet: map[string]fleet.Source{"processor": source}, Propagation: time.Millisecond})
	processor, _ := s.HTTP("processor")
	running(t, s, http.NotFoundHandler())
	eventually(t, "a third of the limit", func() bool { return processor.Stats().Plan.InFlight == 10 })
	if err := s.Reload(); err != nil {
		t.Fatal(err)
	}
	if got := processor.Stats().Plan.InFlight; got != 10 {
		t.Errorf("InFlight after Reload = %d, want the share of 10", got)
	}
}

func TestAShareOfNobodysLimitIsAMistake(t *testing.T) {
	source, err := fleet.NewStatic(capacity.Plan{InFlight: 3}, 3)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(write(t, one, "http://127.0.0.1:1"), &Options{Fleet: map[string]fleet.Source{"nobody": source}}); err == nil {
		t.Error("Open(a share of nobody's limit) = nil, want an error")
	}
}
