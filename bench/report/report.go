// Package report holds the figures of one run and writes them for people.
package report

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/offtake-go/offtake/bench/measure"
	"github.com/offtake-go/offtake/bench/peers"
)

// Report is one run.
type Report struct {
	Command  string            `json:"command"` // that made it, in the folder bench
	Machine  string            `json:"machine"`
	Go       string            `json:"go"`
	Date     string            `json:"date"`
	Short    bool              `json:"short"`
	Versions map[string]string `json:"versions"`

	Layer       []measure.Cost        `json:"layer"`
	Loopback    []measure.Cost        `json:"loopback"`
	TLS         []measure.Cost        `json:"loopbackTLS"`
	HTTP2       []measure.Cost        `json:"loopbackHTTP2"`
	GRPC        []measure.Cost        `json:"grpc"`
	Doors       []measure.Cost        `json:"doors"`
	Overload    []measure.Overload    `json:"overload"`
	Outage      []measure.Outage      `json:"outage"`
	Death       []measure.Death       `json:"queryOfDeath"`
	Waiters     []measure.Waiters     `json:"waiters"`
	BrownOut    []measure.BrownOut    `json:"brownOut"`
	FirstBurst  []measure.FirstBurst  `json:"firstBurst"`
	Recovery    []measure.Recovery    `json:"recovery"`
	HungDial    []measure.HungDial    `json:"hungDial"`
	DeadAddress []measure.DeadAddress `json:"deadAddress"`
	Leak        []measure.Leak        `json:"leak"`
	Scaling     []measure.Scaling     `json:"scaling"`

	// Others are in the folders beside it, by their names: runs of a part that takes
	// too long for every run.
	Others map[string]*Report `json:"-"`
}

// New describes the machine and the peers.
func New() *Report {
	r := &Report{
		Machine:  fmt.Sprintf("%s, %d CPUs, %s/%s", processor(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH),
		Go:       runtime.Version(),
		Date:     time.Now().UTC().Format(time.DateOnly),
		Versions: map[string]string{},
	}
	var modules []string
	for _, s := range peers.HTTPStacks() {
		modules = append(modules, s.Module)
	}
	for _, s := range peers.GRPCStacks() {
		modules = append(modules, s.Module)
	}
	for _, d := range peers.Doors() {
		modules = append(modules, d.Module)
	}
	built, _ := debug.ReadBuildInfo()
	for _, m := range built.Deps {
		if slices.Contains(modules, m.Path) {
			r.Versions[m.Path] = m.Version
		}
	}
	delete(r.Versions, "github.com/offtake-go/offtake")
	return r
}

// processor is what Linux says of it; elsewhere it is not told.
func processor() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(info)) {
		if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}

// Read reads a report that Write wrote, and those in the folders beside it.
func Read(dir string) (*Report, error) {
	data, err := os.ReadFile(filepath.Join(dir, "results.json"))
	if err != nil {
		return nil, err
	}
	r := &Report{Others: make(map[string]*Report)}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.IsDir() {
			if r.Others[e.Name()], err = Read(filepath.Join(dir, e.Name())); err != nil {
				return nil, err
			}
		}
	}
	return r, nil
}

// Write writes results.json, results.md and results.html into a folder, and the
// others into those beside it.
func (r *Report) Write(dir string) error {
	for folder, other := range r.Others {
		if err := other.Write(filepath.Join(dir, folder)); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	data, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	page, err := r.HTML()
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		"results.json": append(data, '\n'), "results.md": []byte(r.Markdown()), "results.html": page,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
