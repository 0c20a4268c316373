//go:build !unix

package httpclient

import "testing"

// reportCPU can't tell here.
func reportCPU(*testing.B) func() { return func() {} }
