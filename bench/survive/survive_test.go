package survive

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

func TestEachClientMakesEachCall(t *testing.T) {
	d := capacity.Demand{Rate: 50, Latency: time.Millisecond, Replicas: 1, Deadline: 500 * time.Millisecond}
	row, err := Run(d, Fault{Name: "errors", Errors: true, Method: "POST"}, 200*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if len(row.Clients) != 4 {
		t.Fatalf("Run() has %d clients, want 4", len(row.Clients))
	}
	for _, o := range row.Clients {
		if o.DuringOf != 10 || o.AfterOf != 10 || o.During > 6 || o.After != 10 {
			t.Errorf("Run() = %+v, want 10 calls under a fault that half of them survive, and 10 good ones after it", o)
		}
	}
	var b bytes.Buffer
	Write(&b, []Row{row})
	if got := b.String(); strings.Count(got, "\n") != 3 || !strings.Contains(got, "| errors | ") {
		t.Errorf("Write() = %q, want a table of one row", got)
	}
}

func TestTheFaultsAreToldApart(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range Faults() {
		if seen[f.Name] || f.Method == "" {
			t.Errorf("Faults() has %+v, want a name of its own and a method", f)
		}
		seen[f.Name] = true
	}
}
