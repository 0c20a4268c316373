package fleet_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/fleet"
)

// A limit of 200 is for all replicas together, of which at most 12 are ever alive.
func ExampleNewDNS() {
	whole := capacity.Plan{InFlight: 200, Deadline: 5 * time.Second}
	source, err := fleet.NewDNS("checkout.shop.svc.cluster.local.", whole, 12, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("to start with:", source.Floor().InFlight, "places")
	fmt.Println("more once the count has stood for", source.Settle())
	// client, err := httpclient.New(target, source.Floor(), options)
	// running.Go(func() { source.Follow(ctx, client.Resize, nil) })

	// Output:
	// to start with: 4 places
	// more once the count has stood for 55s
}

// A count of one's own: here six replicas, this one among them.
func ExampleNewCounted() {
	six := func(context.Context) (fleet.Count, error) { return fleet.Count{Replicas: 6, Self: true}, nil }
	whole := capacity.Plan{InFlight: 200, Deadline: 10 * time.Millisecond}
	source, err := fleet.NewCounted(six, whole, 12,
		&fleet.Options{Interval: 10 * time.Millisecond, Lag: time.Millisecond, Grace: time.Millisecond})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var once sync.Once
	err = source.Follow(ctx, func(p capacity.Plan) error { // client.Resize
		fmt.Println(p.InFlight, "places")
		once.Do(cancel)
		return nil
	}, nil)
	fmt.Println(err)

	// Output:
	// 29 places
	// 4 places
	// context canceled
}

func ExampleReserve() {
	r, err := fleet.NewReserve(capacity.Plan{InFlight: 200}, 12, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("each of 12 has %d, all share %d\n", r.Floor(), r.Pool())
	for _, n := range []int{3, 6, 12} {
		fmt.Printf("%2d alive: %d each\n", n, r.Floor()+r.Even(n))
	}
	// Output:
	// each of 12 has 4, all share 152
	//  3 alive: 54 each
	//  6 alive: 29 each
	// 12 alive: 16 each
}
