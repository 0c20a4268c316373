package xds

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	clusterpb "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corepb "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointpb "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerpb "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routepb "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	routerpb "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	managerpb "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	discoverypb "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// The names of what the management server serves.
const (
	nodeID   = "client"
	upstream = "orders"
	target   = "xds:///" + upstream
	routes   = "routes"
	cluster  = "cluster"
)

// mesh is a management server, in one process with those it speaks of.
type mesh struct {
	address  string
	snapshot cache.SnapshotCache
	version  int
	bound    time.Duration // of a call, on the route
}

func newMesh(t *testing.T, backends ...*backend) *mesh {
	t.Helper()
	m := &mesh{snapshot: cache.NewSnapshotCache(true, cache.IDHash{}, nil), bound: time.Hour}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	m.address = serve(t, new(atomic.Int64), func(s *grpc.Server) {
		discoverypb.RegisterAggregatedDiscoveryServiceServer(s, server.NewServer(ctx, m.snapshot, nil))
	}).String()
	m.name(t, backends...)
	return m
}

// name has the upstream be these backends from now on.
func (m *mesh) name(t *testing.T, backends ...*backend) {
	t.Helper()
	m.version++
	snapshot, err := cache.NewSnapshot(fmt.Sprint(m.version), map[resource.Type][]types.Resource{
		resource.ListenerType: {listener(t)},
		resource.RouteType:    {route(m.bound)},
		resource.ClusterType: {&clusterpb.Cluster{
			Name:                 cluster,
			ClusterDiscoveryType: &clusterpb.Cluster_Type{Type: clusterpb.Cluster_EDS},
			EdsClusterConfig:     &clusterpb.Cluster_EdsClusterConfig{EdsConfig: ads()},
		}},
		resource.EndpointType: {endpoints(t, backends)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.snapshot.SetSnapshot(t.Context(), nodeID, snapshot); err != nil {
		t.Fatal(err)
	}
}

// bootstrap is what a client must know of the mesh.
func (m *mesh) bootstrap() []byte {
	return fmt.Appendf(nil, `{"xds_servers":[{"server_uri":%q,"channel_creds":[{"type":"insecure"}],"server_features":["xds_v3"]}],"node":{"id":%q}}`, m.address, nodeID)
}

func ads() *corepb.ConfigSource {
	return &corepb.ConfigSource{ConfigSourceSpecifier: &corepb.ConfigSource_Ads{Ads: &corepb.AggregatedConfigSource{}}}
}

func pack(t *testing.T, m proto.Message) *anypb.Any {
	t.Helper()
	a, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func listener(t *testing.T) *listenerpb.Listener {
	t.Helper()
	manager := &managerpb.HttpConnectionManager{
		RouteSpecifier: &managerpb.HttpConnectionManager_Rds{Rds: &managerpb.Rds{ConfigSource: ads(), RouteConfigName: routes}},
		HttpFilters: []*managerpb.HttpFilter{{
			Name:       "router",
			ConfigType: &managerpb.HttpFilter_TypedConfig{TypedConfig: pack(t, &routerpb.Router{})},
		}},
	}
	return &listenerpb.Listener{Name: upstream, ApiListener: &listenerpb.ApiListener{ApiListener: pack(t, manager)}}
}

// route brings retries of its own, more than any plan here.
func route(bound time.Duration) *routepb.RouteConfiguration {
	return &routepb.RouteConfiguration{Name: routes, VirtualHosts: []*routepb.VirtualHost{{
		Name:    "all",
		Domains: []string{"*"},
		Routes: []*routepb.Route{{
			Match: &routepb.RouteMatch{PathSpecifier: &routepb.RouteMatch_Prefix{}},
			Action: &routepb.Route_Route{Route: &routepb.RouteAction{
				ClusterSpecifier:  &routepb.RouteAction_Cluster{Cluster: cluster},
				MaxStreamDuration: &routepb.RouteAction_MaxStreamDuration{MaxStreamDuration: durationpb.New(bound)},
				RetryPolicy:       &routepb.RetryPolicy{RetryOn: "unavailable", NumRetries: wrapperspb.UInt32(4)},
			}},
		}},
	}}}
}

func endpoints(t *testing.T, backends []*backend) *endpointpb.ClusterLoadAssignment {
	t.Helper()
	zone := &endpointpb.LocalityLbEndpoints{Locality: &corepb.Locality{Zone: "zone"}, LoadBalancingWeight: wrapperspb.UInt32(1)}
	for _, b := range backends {
		at := b.address.(*net.TCPAddr)
		zone.LbEndpoints = append(zone.LbEndpoints, &endpointpb.LbEndpoint{HostIdentifier: &endpointpb.LbEndpoint_Endpoint{Endpoint: &endpointpb.Endpoint{
			Address: &corepb.Address{Address: &corepb.Address_SocketAddress{SocketAddress: &corepb.SocketAddress{
				Address:       at.IP.String(),
				PortSpecifier: &corepb.SocketAddress_PortValue{PortValue: uint32(at.Port)},
			}}},
		}}})
	}
	return &endpointpb.ClusterLoadAssignment{ClusterName: cluster, Endpoints: []*endpointpb.LocalityLbEndpoints{zone}}
}
