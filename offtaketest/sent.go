package offtaketest

import (
	"slices"
	"testing"
)

// Sent returns the requests that came, in their order.
func (u *Upstream) Sent() []Request {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.sent)
}

// WantSent fails the test unless exactly these requests came, each as "GET /orders".
func (u *Upstream) WantSent(t testing.TB, want ...string) {
	t.Helper()
	var got []string
	for _, r := range u.Sent() {
		got = append(got, r.Method+" "+r.Path)
	}
	if !slices.Equal(got, want) {
		t.Errorf("the upstream got %q, want %q", got, want)
	}
}

// WantCount fails the test unless so many requests came.
func (u *Upstream) WantCount(t testing.TB, want int) {
	t.Helper()
	if got := len(u.Sent()); got != want {
		t.Errorf("the upstream got %d requests, want %d", got, want)
	}
}
