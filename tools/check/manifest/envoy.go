package manifest

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
)

// Envoy is the clusters and routes of a proxy's configuration.
type Envoy struct {
	Clusters []*clusterv3.Cluster
	Routes   []*routev3.RouteConfiguration

	// Running tells a dump of a proxy from a file that someone wrote.
	Running bool

	paths map[any][]string
}

// Path is where one of the clusters or route configurations stands, for Object.At.
func (e *Envoy) Path(of any) []string { return e.paths[of] }

func (e *Envoy) addCluster(c *clusterv3.Cluster, path ...string) {
	e.Clusters = append(e.Clusters, c)
	e.remember(c, path)
}

func (e *Envoy) remember(of any, path []string) {
	if e.paths == nil {
		e.paths = map[any][]string{}
	}
	e.paths[of] = slices.Clone(path)
}

func index(i int) string { return "[" + strconv.Itoa(i) + "]" }

func decodeEnvoyCluster(tree map[string]any) (any, []string, error) {
	c := new(clusterv3.Cluster)
	unknown, err := envoy(tree, c)
	return &Envoy{Clusters: []*clusterv3.Cluster{c}}, unknown, err
}

func decodeEnvoyRoutes(tree map[string]any) (any, []string, error) {
	r := new(routev3.RouteConfiguration)
	unknown, err := envoy(tree, r)
	return &Envoy{Routes: []*routev3.RouteConfiguration{r}}, unknown, err
}

// decodeBootstrap reads the clusters of static_resources, and every route
// configuration wherever a listener has it.
func decodeBootstrap(tree map[string]any) (any, []string, error) {
	e := &Envoy{}
	static, _ := tree["static_resources"].(map[string]any)
	clusters, _ := static["clusters"].([]any)
	var unknown []string
	for i, item := range clusters {
		c := new(clusterv3.Cluster)
		more, err := envoy(item, c)
		if err != nil {
			return nil, nil, err
		}
		for _, path := range more {
			unknown = append(unknown, "static_resources.clusters"+index(i)+"."+path)
		}
		e.addCluster(c, "static_resources", "clusters", index(i))
	}
	return e, unknown, e.findRoutes(static["listeners"], "static_resources", "listeners")
}

// decodeConfigDump reads /config_dump. Envoy wrote it, so what is unknown to our
// types is only newer, and no mistake of anyone's.
func decodeConfigDump(tree map[string]any) (any, []string, error) {
	e := &Envoy{Running: true}
	configs, _ := tree["configs"].([]any)
	var errs []error
	for i, item := range configs {
		config, _ := item.(map[string]any)
		for _, key := range []string{"static_clusters", "dynamic_active_clusters"} {
			list, _ := config[key].([]any)
			for j, entry := range list {
				m, _ := entry.(map[string]any)
				body, ok := m["cluster"].(map[string]any)
				if !ok {
					continue
				}
				delete(body, "@type")
				c := new(clusterv3.Cluster)
				if _, err := envoy(body, c); err != nil {
					errs = append(errs, err)
					continue
				}
				e.addCluster(c, "configs", index(i), key, index(j), "cluster")
			}
		}
		errs = append(errs, e.findRoutes(config, "configs", index(i)))
	}
	return e, nil, errors.Join(errs...)
}

// findRoutes looks for route configurations at any depth, in the order of keys, so
// that the same dump always has the same first one.
func (e *Envoy) findRoutes(v any, path ...string) error {
	switch x := v.(type) {
	case []any:
		for i, item := range x {
			if err := e.findRoutes(item, append(path, index(i))...); err != nil {
				return err
			}
		}
	case map[string]any:
		if _, ok := x["virtual_hosts"].([]any); ok {
			delete(x, "@type")
			r := new(routev3.RouteConfiguration)
			if _, err := envoy(x, r); err != nil {
				return err
			}
			e.Routes = append(e.Routes, r)
			e.remember(r, path)
			return nil
		}
		for _, key := range slices.Sorted(maps.Keys(x)) {
			if err := e.findRoutes(x[key], append(path, key)...); err != nil {
				return err
			}
		}
	}
	return nil
}

// Hosts is the state of a cluster's hosts as a proxy sees them, from /clusters.
type Hosts struct {
	// Clusters are by their names in the proxy.
	Clusters map[string]*HostCount
}

// Hosts counts the hosts of the largest cluster that matches: a service has one for
// each of its ports and subsets, and a subset is only a part of it.
func (h *Hosts) Hosts(matches func(cluster string) bool) (largest HostCount, ok bool) {
	for _, name := range slices.Sorted(maps.Keys(h.Clusters)) {
		if c := *h.Clusters[name]; matches(name) && (!ok || c.Total > largest.Total) {
			largest, ok = c, true
		}
	}
	return largest, ok
}

// HostCount counts the hosts of one cluster.
type HostCount struct {
	Total, Ejected, Unready int
}

func decodeClusters(tree map[string]any) (any, []string, error) {
	var v struct {
		Statuses []struct {
			Name  string `json:"name"`
			Hosts []struct {
				Health struct {
					Ejected bool   `json:"failed_outlier_check"`
					EDS     string `json:"eds_health_status"`
					Active  bool   `json:"failed_active_health_check"`
				} `json:"health_status"`
			} `json:"host_statuses"`
		} `json:"cluster_statuses"`
	}
	if err := remarshal(tree, &v); err != nil {
		return nil, nil, err
	}
	h := &Hosts{Clusters: map[string]*HostCount{}}
	for _, s := range v.Statuses {
		c := &HostCount{}
		for _, host := range s.Hosts {
			c.Total++
			if host.Health.Ejected {
				c.Ejected++
			} else if host.Health.Active || host.Health.EDS == "UNHEALTHY" || host.Health.EDS == "DRAINING" {
				c.Unready++
			}
		}
		h.Clusters[s.Name] = c
	}
	return h, nil, nil
}

// Host returns the service that a cluster of a proxy stands for: the last part of
// outbound|443||authz.prod.svc.cluster.local, or the name itself.
func Host(cluster string) string {
	if i := strings.LastIndexByte(cluster, '|'); i >= 0 {
		return cluster[i+1:]
	}
	return cluster
}
