package contract_test

import (
	"fmt"

	"github.com/offtake-go/offtake/capacity/contract"
)

func ExampleParse() {
	const file = `
service: payment-gateway
replicas: {min: 6}
callers:
  checkout: {rate: 120/s, deadline: 8s, attempts: 2}
upstreams:
  card-processor:
    target: https://processor.example
    rate: 120/s
    latency: 1200ms
    headroom: 1.3
    limit: 200
`
	c, err := contract.Parse("offtake.yaml", []byte(file), "")
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := c.Plan("card-processor")
	fmt.Println(plan.InFlight, plan.Deadline, err)
	// Output:
	// 33 7.2s <nil>
}

func ExampleParse_mistakes() {
	const file = `
service: payment-gateway
replicas: {min: 6}
upstreams:
  card-processor:
    target: https://processor.example
    rate: 120
    latencyy: 1200ms
`
	_, err := contract.Parse("offtake.yaml", []byte(file), "")
	fmt.Println(err)
	// Output:
	// offtake.yaml:7:11: upstreams.card-processor.rate: "120" has no unit of time; 120/s would do, or /m, or /h
	// offtake.yaml:8:5: upstreams.card-processor.latencyy: the key is not known; did you mean latency
}
