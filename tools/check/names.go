package check

import (
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/capacity/contract"
)

// hostOf returns the host of an upstream's target, without its port.
func hostOf(u contract.Upstream) string {
	host := u.Target
	if parsed, err := url.Parse(u.Target); err == nil && parsed.Host != "" {
		host = parsed.Host
	}
	host = host[strings.LastIndexByte(host, '/')+1:] // dns:///fraud-check:8443
	host, _, _ = strings.Cut(host, ":")
	return host
}

// portOf returns the port of an upstream's target; 0 if it has none and its scheme
// names none.
func portOf(u contract.Upstream) int {
	parsed, err := url.Parse(u.Target)
	if err != nil || parsed.Host == "" {
		_, port, _ := strings.Cut(u.Target[strings.LastIndexByte(u.Target, '/')+1:], ":")
		n, _ := strconv.Atoi(port) // dns:///fraud-check:8443, or b:80
		return n
	}
	if n, err := strconv.Atoi(parsed.Port()); err == nil {
		return n
	}
	return map[string]int{"http": 80, "https": 443}[parsed.Scheme]
}

// sameHost reports whether two names mean the same service: equal, or one the short
// form of the other as Kubernetes completes it.
func sameHost(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	if a == b {
		return true
	}
	if len(a) > len(b) {
		a, b = b, a
	}
	rest, ok := strings.CutPrefix(b, a+".")
	if !ok {
		return false
	}
	// What completes a short name is a namespace, alone or with the cluster's
	// domain: payments, payments.svc, payments.svc.cluster.local.
	_, suffix, more := strings.Cut(rest, ".")
	return !more && !strings.Contains(a, ".") || strings.HasPrefix(suffix, "svc") || strings.HasPrefix(rest, "svc")
}

func meanOf(u contract.Upstream) float64 {
	if u.P50 != 0 && u.P99 >= u.P50 {
		return capacity.FitLognormal(u.P50.Seconds(), u.P99.Seconds()).Mean()
	}
	return u.Latency.Seconds()
}

func infeasible(err error) (*capacity.Infeasible, bool) {
	return errors.AsType[*capacity.Infeasible](err)
}
