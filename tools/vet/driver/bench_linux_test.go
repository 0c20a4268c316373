package driver_test

import (
	"flag"
	"fmt"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

var (
	benchDir      = flag.String("dir", "../..", "the module that BenchmarkBesideGoVet vets")
	benchPatterns = flag.String("packages", "./...", "the packages of it")
)

// The two vet the same packages in turn, with all packages built and neither in
// go vet's cache. Run it with -benchtime=3x; ns/op is the wall clock, the rest
// says where it went.
func BenchmarkBesideGoVet(b *testing.B) {
	// A setting that nobody has used keeps old results out, and changes nothing.
	fresh := func(setting string) string { return fmt.Sprintf("%sF%d", setting, time.Now().UnixNano()) }
	for _, bench := range []struct {
		name string
		args func() []string
	}{
		{"plain", func() []string { return []string{fresh("-printf.funcs=")} }},
		{"offtakevet", func() []string { return []string{"-vettool=" + tool, fresh("-offtake.third-party=example.com/x.")} }},
	} {
		b.Run(bench.name, func(b *testing.B) {
			build := exec.Command("go", "build", *benchPatterns)
			build.Dir = *benchDir
			if out, err := build.CombinedOutput(); err != nil {
				b.Fatalf("go build: %v\n%s", err, out)
			}
			var cpu time.Duration
			var rss int64
			for b.Loop() {
				cmd := exec.Command("go", append(append([]string{"vet"}, bench.args()...), *benchPatterns)...)
				cmd.Dir = *benchDir
				// Findings, of which each tool has its own, are no failure.
				if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != 1 {
					b.Fatal(err)
				}
				usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
				cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
				rss = max(rss, usage.Maxrss)
			}
			b.ReportMetric(cpu.Seconds()/float64(b.N), "cpu-s/op")
			b.ReportMetric(float64(rss)/1024, "max-MiB")
		})
	}
}
