package ot101

import (
	"net/http"
	"testing"
)

// A helper for tests in a file that is none.
func Ping(t testing.TB, u string) { http.Get(u) }
