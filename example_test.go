package offtake_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/httpclient"
)

// One upstream: 120 requests a second at peak from 6 replicas, 1.2 s each, and at
// most 200 connections for all of them.
func Example() {
	url, ctx := upstream(), context.Background()
	// README: from here
	demand := capacity.Demand{Rate: 120, Latency: 1200 * time.Millisecond, Replicas: 6, Limit: 200, Headroom: 1.3, Deadline: 5 * time.Second}
	plan, err := demand.Plan() // or an error that says which number would do
	check(err)
	fmt.Printf("%d places of %d connections, %d calls may wait %v\n", plan.InFlight, demand.Limit, plan.Queue, plan.Wait)

	processor, err := httpclient.New(url, plan, &httpclient.Options{Name: "card-processor"})
	check(err)
	check(processor.Warm(ctx)) // the whole pool stands before the first call
	resp, err := processor.Post("/authorize", "application/json", nil)
	check(err)              // busy is an *offtake.Error: nothing was sent
	defer resp.Body.Close() // until then the call holds its place
	fmt.Println(resp.Status, processor.Stats().Open, "connections")
	// README: to here
	// Output:
	// 33 places of 200 connections, 7 calls may wait 225ms
	// 200 OK 33 connections
}

// The same service at twice its peak: the answer is no, with the numbers that
// would change it.
func Example_infeasible() {
	_, err := capacity.Demand{Rate: 120, Latency: 1200 * time.Millisecond, Replicas: 6, Limit: 200, Headroom: 2}.Plan()
	fmt.Println(err)
	// Output:
	// capacity: infeasible: at least 48 (2 × 120/s × 1.2s / 6 replicas) places per replica are needed and at most 33 (limit 200 / 6) are allowed; 1.389 × the peak is the most, or at 2 × the peak any one of: limit >= 288 | mean latency <= 0.833 s | rate <= 166.7/s | refuse >= 30.6 %; with the limit divided in whole places: limit >= 288 | mean latency <= 0.825 s | rate <= 165/s | refuse >= 31.3 %
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func upstream() string {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "authorized")
	})).URL
}

func TestTheCodeOfTheREADMEIsThatOfTheExample(t *testing.T) {
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(source), "\t// README: from here\n")
	code, _, _ = strings.Cut(code, "\t// README: to here\n")
	code = strings.ReplaceAll(strings.TrimPrefix(code, "\t"), "\n\t", "\n")
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), "```go\n"+code+"```") {
		t.Errorf("README.md does not contain this code:\n%s", code)
	}
	_, message, _ := strings.Cut(string(source), "\t// capacity: ")
	message, _, _ = strings.Cut(message, "\n")
	if !strings.Contains(oneLine(string(readme)), oneLine(message)) {
		t.Errorf("README.md does not contain this message:\n%s", message)
	}
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
