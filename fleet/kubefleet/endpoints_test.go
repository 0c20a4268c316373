package kubefleet

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/fleet"
)

// apiServer answers lists of the endpoint slices of shop/checkout, one slice a page,
// as the real one does over HTTP.
type apiServer struct {
	*httptest.Server
	t *testing.T

	mu     sync.Mutex
	pages  []discovery.EndpointSlice
	broken bool
}

func newAPIServer(t *testing.T) (*apiServer, kubernetes.Interface) {
	t.Helper()
	a := &apiServer{t: t}
	a.Server = httptest.NewServer(http.HandlerFunc(a.list))
	t.Cleanup(a.Close)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: a.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	return a, client
}

func (a *apiServer) set(broken bool, pages ...discovery.EndpointSlice) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.broken, a.pages = broken, pages
}

func (a *apiServer) list(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	query := r.URL.Query()
	if got, want := r.URL.Path, "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices"; got != want {
		a.t.Errorf("path = %s, want %s", got, want)
	}
	if got, want := query.Get("labelSelector"), "kubernetes.io/service-name=checkout"; got != want {
		a.t.Errorf("labelSelector = %s, want %s", got, want)
	}
	if query.Has("resourceVersion") {
		a.t.Errorf("resourceVersion = %q, want none: a cache would do for it", query.Get("resourceVersion"))
	}
	if a.broken {
		http.Error(w, "etcd is gone", http.StatusInternalServerError)
		return
	}
	list := discovery.EndpointSliceList{TypeMeta: meta.TypeMeta{Kind: "EndpointSliceList", APIVersion: "discovery.k8s.io/v1"}}
	page := len(query.Get("continue"))
	if page < len(a.pages) {
		list.Items = a.pages[page : page+1]
	}
	if page+1 < len(a.pages) {
		list.Continue = strings.Repeat("x", page+1)
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(list); err != nil {
		a.t.Error(err)
	}
}

// pod is an endpoint with these conditions.
func pod(name, address string, ready, serving, terminating bool) discovery.Endpoint {
	return discovery.Endpoint{
		Addresses:  []string{address},
		Conditions: discovery.EndpointConditions{Ready: &ready, Serving: &serving, Terminating: &terminating},
		TargetRef:  &core.ObjectReference{Kind: "Pod", Namespace: "shop", Name: name},
	}
}

func slice(endpoints ...discovery.Endpoint) discovery.EndpointSlice {
	return discovery.EndpointSlice{Endpoints: endpoints}
}

func TestEveryPodThatMayHoldPlacesCountsOnce(t *testing.T) {
	api, client := newAPIServer(t)
	e := endpoints{client: client, namespace: "shop", service: "checkout", pod: "checkout-a"}
	for _, c := range []struct {
		name  string
		pages []discovery.EndpointSlice
		want  fleet.Count
	}{
		{"nobody", nil, fleet.Count{}},
		{"ready ones", []discovery.EndpointSlice{
			slice(pod("checkout-a", "10.0.0.1", true, true, false), pod("checkout-b", "10.0.0.2", true, true, false)),
		}, fleet.Count{Replicas: 2, Self: true}},
		{"one that terminates and still serves", []discovery.EndpointSlice{
			slice(pod("checkout-a", "10.0.0.1", true, true, false), pod("checkout-b", "10.0.0.2", false, true, true)),
		}, fleet.Count{Replicas: 2, Self: true}},
		{"one that terminates and no longer serves, one cut off, one that starts", []discovery.EndpointSlice{
			slice(pod("checkout-a", "10.0.0.1", false, false, true), pod("checkout-b", "10.0.0.2", false, false, false), pod("checkout-c", "10.0.0.3", false, false, false)),
		}, fleet.Count{Replicas: 3, Self: true}},
		{"both families, and one that moves between slices", []discovery.EndpointSlice{
			slice(pod("checkout-a", "10.0.0.1", true, true, false), pod("checkout-b", "10.0.0.2", true, true, false)),
			slice(pod("checkout-a", "fd00::1", true, true, false), pod("checkout-b", "fd00::2", true, true, false)),
			slice(pod("checkout-b", "10.0.0.2", true, true, false)),
		}, fleet.Count{Replicas: 2, Self: true}},
		{"this one missing", []discovery.EndpointSlice{
			slice(pod("checkout-b", "10.0.0.2", true, true, false)),
		}, fleet.Count{Replicas: 1}},
		{"endpoints written by hand", []discovery.EndpointSlice{
			slice(discovery.Endpoint{Addresses: []string{"192.0.2.1"}}, discovery.Endpoint{Addresses: []string{"192.0.2.2"}}, discovery.Endpoint{}),
		}, fleet.Count{Replicas: 2}},
	} {
		api.set(false, c.pages...)
		if got, err := e.count(t.Context()); err != nil || got != c.want {
			t.Errorf("count(%s) = %+v, %v, want %+v", c.name, got, err, c.want)
		}
	}
}

func TestAServerThatFailsIsAnErrorAndNotACount(t *testing.T) {
	api, client := newAPIServer(t)
	api.set(true)
	e := endpoints{client: client, namespace: "shop", service: "checkout", pod: "checkout-a"}
	if got, err := e.count(t.Context()); err == nil || !strings.Contains(err.Error(), "shop/checkout") {
		t.Errorf("count(broken) = %+v, %v, want an error that names shop/checkout", got, err)
	}
}

func TestNewFollowsTheEndpointsOfThisPod(t *testing.T) {
	api, client := newAPIServer(t)
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	api.set(false, slice(pod(host, "10.0.0.1", true, true, false), pod("checkout-b", "10.0.0.2", true, true, false)))
	const moment = 20 * time.Millisecond
	source, err := New(client, "shop", "checkout", capacity.Plan{InFlight: 200, Deadline: moment}, 12,
		&Options{Options: fleet.Options{Interval: moment, Lag: moment, Grace: moment}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	places := make(chan int, 100)
	done := make(chan error, 1)
	go func() {
		done <- source.Follow(ctx, func(p capacity.Plan) error {
			places <- p.InFlight
			return nil
		}, nil)
	}()
	// On a machine that stalls the count may be lost for a while, so wait for it.
	for got := range places {
		if got == 4+152/2 {
			break
		}
	}
	cancel()
	if err := <-done; err != context.Canceled {
		t.Errorf("Follow(canceled) = %v, want %v", err, context.Canceled)
	}
}

func TestNewNamesEveryMistakeAtOnce(t *testing.T) {
	_, err := New(nil, "", "", capacity.Plan{InFlight: 200}, 0, &Options{Options: fleet.Options{Grace: -1}})
	if err == nil {
		t.Fatal("New(mistakes) = nil, want an error")
	}
	for _, want := range []string{"client: it is nil", "namespace: it is empty", "service: it is empty", "maxReplicas: 0", "Options.Grace: -1ns"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("New(mistakes) = %q, want it to name %q", err, want)
		}
	}
}

func TestASlicesLagIsShortUnlessStated(t *testing.T) {
	_, client := newAPIServer(t)
	for lag, want := range map[time.Duration]time.Duration{
		0:           50 * time.Second, // the grace of 30 s decides, plus four intervals of 5 s
		time.Minute: 90 * time.Second,
	} {
		source, err := New(client, "shop", "checkout", capacity.Plan{InFlight: 200}, 12, &Options{Options: fleet.Options{Lag: lag}})
		if err != nil {
			t.Fatal(err)
		}
		if got := source.Settle(); got != want {
			t.Errorf("Settle() with a lag of %v = %v, want %v", lag, got, want)
		}
	}
}
