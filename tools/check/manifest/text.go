package manifest

import (
	"bufio"
	"bytes"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Stats are counters and gauges from /stats, by their names.
type Stats struct {
	Values map[string]float64
}

// Hosts counts the hosts of the largest cluster that matches, as those of [Hosts]
// do: what is neither healthy nor ejected is unready.
func (s *Stats) Hosts(matches func(cluster string) bool) (largest HostCount, ok bool) {
	for _, name := range slices.Sorted(maps.Keys(s.Values)) {
		prefix, isTotal := strings.CutSuffix(name, ".membership_total")
		cluster, isCluster := strings.CutPrefix(prefix, "cluster.")
		if !isTotal || !isCluster || !matches(cluster) {
			continue
		}
		c := HostCount{Total: int(s.Values[name]), Ejected: int(s.Values[prefix+".outlier_detection.ejections_active"])}
		c.Unready = max(0, c.Total-int(s.Values[prefix+".membership_healthy"])-c.Ejected)
		if !ok || c.Total > largest.Total {
			largest, ok = c, true
		}
	}
	return largest, ok
}

// isAdminText reports whether data is what /clusters or /stats print: lines of
// name::value or name: number, and nothing that YAML would begin with.
func isAdminText(data []byte) bool {
	line, _, _ := bytes.Cut(bytes.TrimLeft(data, "\n"), []byte("\n"))
	if bytes.Contains(line, []byte("::")) && !bytes.ContainsAny(line, " {\"") {
		return true
	}
	name, value, ok := bytes.Cut(line, []byte(": "))
	if !ok || bytes.Count(name, []byte(".")) < 2 || bytes.ContainsAny(name, " {\"") {
		return false
	}
	_, err := strconv.ParseFloat(strings.TrimSpace(string(value)), 64)
	return err == nil
}

func (s *Set) addText(name string, in io.Reader) {
	hosts := map[string]map[string]*hostFlags{}
	stats := map[string]float64{}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if parts := strings.Split(line, "::"); len(parts) >= 4 {
			addHostLine(hosts, parts)
			continue
		}
		key, value, ok := strings.Cut(line, ": ")
		if x, err := strconv.ParseFloat(strings.TrimSpace(value), 64); ok && err == nil {
			stats[key] = x
		}
	}
	if err := lines.Err(); err != nil {
		s.Problems = append(s.Problems, Problem{Ref: Ref{name, 1}, Text: err.Error()})
	}
	if len(hosts) > 0 {
		s.Objects = append(s.Objects, &Object{Ref: Ref{name, 1}, Kind: "EnvoyClusters", Name: "clusters", Value: countHosts(hosts)})
	}
	if len(stats) > 0 {
		s.Objects = append(s.Objects, &Object{Ref: Ref{name, 1}, Kind: "EnvoyStats", Name: "stats", Value: &Stats{stats}})
	}
}

type hostFlags struct{ ejected, unready bool }

// addHostLine reads cluster::10.0.0.1:8080::health_flags::/failed_outlier_check.
func addHostLine(hosts map[string]map[string]*hostFlags, parts []string) {
	cluster, host, key, value := parts[0], parts[1], parts[2], parts[3]
	if !strings.Contains(host, ":") && !strings.Contains(host, ".") {
		return // default_priority::max_connections and the like
	}
	if hosts[cluster] == nil {
		hosts[cluster] = map[string]*hostFlags{}
	}
	h := hosts[cluster][host]
	if h == nil {
		h = &hostFlags{}
		hosts[cluster][host] = h
	}
	if key == "health_flags" {
		h.ejected = strings.Contains(value, "/failed_outlier_check")
		h.unready = !h.ejected && value != "healthy"
	}
}

func countHosts(hosts map[string]map[string]*hostFlags) *Hosts {
	all := &Hosts{Clusters: map[string]*HostCount{}}
	for cluster, set := range hosts {
		c := &HostCount{Total: len(set)}
		for _, h := range set {
			if h.ejected {
				c.Ejected++
			}
			if h.unready {
				c.Unready++
			}
		}
		all.Clusters[cluster] = c
	}
	return all
}
