//go:build unix

package httpclient

import (
	"syscall"
	"testing"
)

// reportCPU reports the CPU time of the process, garbage collection included,
// for each operation. On a machine that others use too it is the only time that
// means something.
func reportCPU(b *testing.B) func() {
	before := cpu(b)
	return func() { b.ReportMetric(float64(cpu(b)-before)/float64(b.N), "cpu-ns/op") }
}

func cpu(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
