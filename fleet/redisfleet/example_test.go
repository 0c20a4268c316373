package redisfleet_test

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/fleet/redisfleet"
)

// A limit of 200 is for all replicas together, of which at most 12 are ever alive.
// Without the store, or before it has answered, each has its floor.
func ExampleNew() {
	store := redis.NewClient(&redis.Options{
		Addr:                  "127.0.0.1:1", // nobody is there
		ContextTimeoutEnabled: true,
		MaxRetries:            -1,
	})
	defer store.Close()
	whole := capacity.Plan{InFlight: 200, Deadline: 100 * time.Millisecond}
	source, err := redisfleet.New(store, "card-processor", whole, 12, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("to start with:", source.Floor().InFlight, "places")
	// client, err := httpclient.New(target, source.Floor(), options)

	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	err = source.Follow(ctx, func(p capacity.Plan) error { // client.Resize
		fmt.Println("now", p.InFlight)
		return nil
	}, nil)
	fmt.Println(err)
	fmt.Println("still:", source.Status().Places, "places, and a reason:", source.Status().Err != nil)

	// Output:
	// to start with: 4 places
	// context deadline exceeded
	// still: 4 places, and a reason: true
}
