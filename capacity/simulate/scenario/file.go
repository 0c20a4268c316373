package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/offtake-go/offtake/capacity/contract"
	"github.com/offtake-go/offtake/capacity/simulate"
)

// A File is a scenario as the file states it, laid over its contract. Treat it as
// read-only, then goroutines may share it.
type File struct {
	// Name heads the report; the default is the name of the file.
	Name string `yaml:"name"`

	// About says in a sentence or two what happens and why it matters.
	About string `yaml:"about"`

	// Contract says what is simulated. Required.
	Contract Source `yaml:"contract,required"`

	// Seeds is how many runs the result is reported over; the default is 5.
	Seeds int `yaml:"seeds"`

	// Settle runs before anything counts; the default is 1m. Duration is measured;
	// the default is 10m.
	Settle   time.Duration `yaml:"settle"`
	Duration time.Duration `yaml:"duration"`

	// What follows overrides what the contract says, key by key.
	Callers  simulate.Callers  `yaml:"callers"`
	Proxy    simulate.Proxy    `yaml:"proxy"`
	Service  simulate.Service  `yaml:"service"`
	Upstream simulate.Upstream `yaml:"upstream"`

	// Events happen at their times, counted from the start of the run, Settle
	// included.
	Events []simulate.Event `yaml:"events"`
}

// A Source names one upstream of a contract.
type Source struct {
	// File is the contract's path, relative to the scenario's. Required.
	File string `yaml:"file,required"`

	// Environment is the overlay to apply; the default is none.
	Environment string `yaml:"environment"`

	// Upstream is the name of the upstream; it may be left out if there is one only.
	Upstream string `yaml:"upstream"`
}

const (
	defaultSeeds    = 5
	defaultSettle   = time.Minute
	defaultDuration = 10 * time.Minute

	maxSeeds = 1000
	maxSize  = 1 << 20 // bytes of a scenario; a recorded load of a day by seconds
)

// Load reads the scenario in the file at path and the contract that it names.
// Overlays are laid over the file, as an environment is over a contract. Load
// returns all mistakes at once, each a [*contract.Mistake].
func Load(path string, overlays ...[]byte) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	return parse(path, data, overlays, func(s Source) (*contract.Contract, error) {
		at := s.File
		if !filepath.IsAbs(at) {
			at = filepath.Join(filepath.Dir(path), at)
		}
		return contract.Load(at, s.Environment)
	})
}

// Parse is Load for the bytes of a scenario, whose name is for messages, beside a
// contract that was read already.
func Parse(name string, data []byte, c *contract.Contract) (*File, error) {
	return parse(name, data, nil, func(Source) (*contract.Contract, error) { return c, nil })
}

func parse(name string, data []byte, overlays [][]byte, load func(Source) (*contract.Contract, error)) (*File, error) {
	// The file is read twice: first to learn which contract lies under it, then over
	// that. The first time finds all mistakes of spelling and form.
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, &contract.Mistake{Position: contract.Position{File: name, Line: 1, Column: 1}, Problem: `the file is empty; "contract: {file: offtake.yaml}" would begin it`}
	}
	var first File
	at, err := contract.Decode(name, data, &first, overlays...)
	if err != nil {
		return nil, err
	}
	c, err := load(first.Contract)
	if err != nil {
		return nil, err
	}
	upstream, err := first.Contract.choose(c)
	if err != nil {
		return nil, &contract.Mistake{Position: at.Of("contract.upstream"), Path: "contract.upstream", Problem: err.Error()}
	}
	base, err := Of(c, upstream)
	if err != nil {
		return nil, err
	}
	f := &File{
		Name: strings.TrimSuffix(filepath.Base(name), filepath.Ext(name)), Seeds: defaultSeeds,
		Settle: defaultSettle, Duration: defaultDuration,
		Callers: base.Callers, Proxy: base.Proxy, Service: base.Service, Upstream: base.Upstream,
	}
	if first.Callers.Load != nil {
		f.Callers.Rate = 0 // the contract's rate is what the load replaces
	}
	if given(first.Upstream.Latency) {
		f.Upstream.Latency = simulate.Latency{}
	}
	if at, err = contract.Decode(name, data, f, overlays...); err != nil {
		return nil, err
	}
	f.Contract.Upstream = upstream
	if f.Seeds < 1 || f.Seeds > maxSeeds {
		return nil, &contract.Mistake{Position: at.Of("seeds"), Path: "seeds", Problem: fmt.Sprintf("%d is not in [1, %d]; 5 would do", f.Seeds, maxSeeds)}
	}
	return f, locate(f, at)
}

// given reports whether any form of the latency is stated: its forms exclude each
// other, so one of the file replaces the contract's instead of joining it.
func given(l simulate.Latency) bool {
	return l.P50 != 0 || l.P99 != 0 || l.Mean != 0 || l.CV != 0 || l.Exponential != 0 || len(l.Samples) > 0
}

// choose returns the upstream that is meant.
func (s Source) choose(c *contract.Contract) (string, error) {
	names := slices.Sorted(maps.Keys(c.Upstreams))
	switch {
	case s.Upstream == "" && len(names) == 1:
		return names[0], nil
	case s.Upstream == "" && len(names) == 0:
		return "", fmt.Errorf("%s has no upstream to simulate", c.Service)
	case slices.Contains(names, s.Upstream):
		return s.Upstream, nil
	}
	return "", fmt.Errorf("%q is no upstream of %s; one of %s would do", s.Upstream, c.Service, strings.Join(names, ", "))
}

// Scenario returns what the file states in the simulator's words.
func (f *File) Scenario() simulate.Scenario {
	return simulate.Scenario{
		Name: f.Name, Settle: f.Settle, Duration: f.Duration,
		Callers: f.Callers, Proxy: f.Proxy, Service: f.Service, Upstream: f.Upstream, Events: f.Events,
	}
}

// locate checks the scenario and says where in the file its mistakes are.
func locate(f *File, at contract.Positions) error {
	_, err := f.Scenario().Resolve()
	if err == nil {
		return nil
	}
	var found []error
	for _, e := range err.(interface{ Unwrap() []error }).Unwrap() {
		m, ok := errors.AsType[*simulate.Mistake](e)
		if !ok {
			return err
		}
		path := keyOf(m.Field)
		found = append(found, &contract.Mistake{Position: at.Of(path), Path: path, Problem: m.Problem + "; " + m.Remedy})
	}
	return errors.Join(found...)
}

// keyOf is the path of keys for a path of Go fields: Proxy.PerTry is proxy.perTry.
func keyOf(field string) string {
	parts := strings.Split(field, ".")
	for i, p := range parts {
		name, index, _ := strings.Cut(p, "[")
		if name == strings.ToUpper(name) {
			name = strings.ToLower(name)
		} else {
			name = strings.ToLower(name[:1]) + name[1:]
		}
		parts[i] = name
		if index != "" {
			parts[i] += "[" + index
		}
	}
	return strings.Join(parts, ".")
}
