package kubefleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	discovery "k8s.io/api/discovery/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/fleet"
)

// Options are what a source may be told. Nil is all defaults.
type Options struct {
	// Options are those of a counting source. Lag is 5 s here unless stated: what
	// the endpoint slice controller needs under load, since a list is never old. It
	// writes within a second when it has little to do. Resolver and Self are not
	// used.
	fleet.Options

	// Pod is the name of this replica's pod. The default is the host name, which is
	// the pod's name unless hostNetwork, hostname or subdomain are set.
	Pod string
}

const defaultLag = 5 * time.Second

// page is how many slices are read at once: a hundred endpoints each.
const page = 100

// New returns a source that counts the endpoints of a Service, which should select
// all pods that hold places, and nothing else.
//
// Every endpoint counts, whatever its conditions: ready, or serving while it
// terminates. One that is neither may hold places too: it was ready a moment ago,
// or it is on the far side of a partition. Kubernetes itself takes it out of the
// slices when its containers have ended.
//
// whole is the plan whose InFlight all replicas have together, and maxReplicas the
// most that are ever alive at the same time: see fleet.NewReserve.
func New(client kubernetes.Interface, namespace, service string, whole capacity.Plan, maxReplicas int, options *Options) (*fleet.Counted, error) {
	var o Options
	if options != nil {
		o = *options
	}
	if o.Lag == 0 {
		o.Lag = defaultLag
	}
	var errs []error
	if o.Pod == "" {
		name, err := os.Hostname()
		if err != nil {
			errs = append(errs, fmt.Errorf("kubefleet: Options.Pod: %w; the pod's name would do", err))
		}
		o.Pod = name
	}
	if client == nil {
		errs = append(errs, errors.New("kubefleet: client: it is nil; kubernetes.NewForConfig makes one"))
	}
	if namespace == "" {
		errs = append(errs, errors.New("kubefleet: namespace: it is empty; that of the Service would do"))
	}
	if service == "" {
		errs = append(errs, errors.New("kubefleet: service: it is empty; the name of a Service that selects this fleet would do"))
	}
	e := endpoints{client: client, namespace: namespace, service: service, pod: o.Pod}
	source, err := fleet.NewCounted(e.count, whole, maxReplicas, &o.Options)
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	return source, nil
}

type endpoints struct {
	client                  kubernetes.Interface
	namespace, service, pod string
}

// count lists the slices of the Service.
//
// It is tempting to watch them with an informer. But an informer that has lost its
// watch goes on to say what it last knew, and nothing tells how old that is; a list
// that has come back says what was so after it was asked for, from the store and
// not from a cache, since it names no resource version.
func (e endpoints) count(ctx context.Context) (fleet.Count, error) {
	list := meta.ListOptions{
		LabelSelector: labels.Set{discovery.LabelServiceName: e.service}.String(),
		Limit:         page,
	}
	var slices []discovery.EndpointSlice
	for {
		found, err := e.client.DiscoveryV1().EndpointSlices(e.namespace).List(ctx, list)
		if err != nil {
			return fleet.Count{}, fmt.Errorf("kubefleet: list the endpoints of %s/%s: %w", e.namespace, e.service, err)
		}
		slices = append(slices, found.Items...)
		if list.Continue = found.Continue; list.Continue == "" {
			return tally(slices, e.pod), nil
		}
	}
}

// tally counts each pod once, though it is in a slice for each family of addresses,
// and for a moment in two while the controller moves it.
func tally(slices []discovery.EndpointSlice, pod string) fleet.Count {
	seen := map[string]bool{}
	self := false
	for _, s := range slices {
		for _, e := range s.Endpoints {
			switch {
			case e.TargetRef != nil:
				seen[e.TargetRef.Kind+"/"+e.TargetRef.Name] = true
				self = self || e.TargetRef.Kind == "Pod" && e.TargetRef.Name == pod
			case len(e.Addresses) > 0:
				seen[e.Addresses[0]] = true
			}
		}
	}
	return fleet.Count{Replicas: len(seen), Self: self}
}
