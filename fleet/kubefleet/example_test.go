package kubefleet_test

import (
	"fmt"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/fleet/kubefleet"
)

// A limit of 200 is for all pods together, of which at most 24 are ever alive. In a
// cluster rest.InClusterConfig has the configuration.
func ExampleNew() {
	client, err := kubernetes.NewForConfig(&rest.Config{Host: "https://kubernetes.default.svc"})
	if err != nil {
		fmt.Println(err)
		return
	}
	source, err := kubefleet.New(client, "shop", "checkout", capacity.Plan{InFlight: 200}, 24, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("to start with:", source.Floor().InFlight, "places")
	fmt.Println("more once the count has stood for", source.Settle())
	// client, err := httpclient.New(target, source.Floor(), options)
	// running.Go(func() { source.Follow(ctx, client.Resize, nil) })

	// Output:
	// to start with: 2 places
	// more once the count has stood for 50s
}
