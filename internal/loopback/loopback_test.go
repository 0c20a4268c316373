package loopback

import (
	"net"
	"testing"
)

func TestEachAddressIsAnotherOnWhichNobodyListens(t *testing.T) {
	seen := make(map[string]bool)
	for range 100 {
		address := Free(t)
		if seen[address] {
			t.Fatalf("Free() = %s a second time", address)
		}
		seen[address] = true
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatalf("Free() = %s, on which nobody can listen: %v", address, err)
		}
		defer l.Close()
	}
}

func TestATakenPortIsPassedOver(t *testing.T) {
	given.Store(0)
	want := Free(t)
	given.Store(0)
	l, err := net.Listen("tcp", want)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if got := Free(t); got == want {
		t.Errorf("Free() = %s, where somebody listens", got)
	}
}
