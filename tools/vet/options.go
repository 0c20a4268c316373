package vet

import (
	"errors"
	"flag"
	"fmt"
	"go/token"
	"slices"
	"strings"
)

// Options says which rules run and what they know of the code. The zero value
// runs the profile bugs. It is read by New, and by the analyzer's flags; do not
// change it afterwards.
type Options struct {
	// Profiles are the rules to run beside bugs: strict, advice, or both. The
	// default is none.
	Profiles []string `json:"profile,omitempty"`

	// Factories are the import paths of the packages that may build clients. No
	// rule of strict speaks inside of them, and messages point to the first. A
	// path that ends in /... names the packages below it too. The packages of
	// offtake are always among them.
	Factories []string `json:"factory,omitempty"`

	// Disable lists rule IDs that do not run. The default is none.
	Disable []string `json:"disable,omitempty"`

	// Constructors are functions of other libraries that build a client, as
	// "import/path.Func" or "import/path.Type.Method", in addition to the known ones; for OT503.
	Constructors []string `json:"third-party,omitempty"`

	// Tests turns on test files and packages that only serve tests, which are
	// passed over by default: a test may hang, its runner has a timeout.
	Tests bool `json:"tests,omitempty"`

	// Skip passes over the package altogether. A driver that knows a package to
	// be no more than a dependency from another module sets it.
	Skip bool `json:"-"`
}

// Set sets the option that a flag of this name sets. The error names every
// mistake in value.
func (o *Options) Set(name, value string) error {
	var names []string
	for _, s := range settings() {
		if s.name == name {
			return s.set(o, value)
		}
		names = append(names, s.name)
	}
	return fmt.Errorf("no setting %q, want one of %s", name, strings.Join(names, ", "))
}

// setting is one named part of Options, for flags and configuration files alike.
type setting struct {
	name, usage string
	bool        bool
	set         func(*Options, string) error
}

func settings() []setting {
	return []setting{
		{"profile", "`rules` to run beside bugs, which always run: strict, advice, or both", false, func(o *Options, v string) error {
			if v == "both" {
				v = "strict,advice"
			}
			return assign(&o.Profiles, v, validProfile)
		}},
		{"factory", "`packages` that may build clients, by import path; a trailing /... takes those below", false, func(o *Options, v string) error {
			return assign(&o.Factories, v, validPackage)
		}},
		{"disable", "rule `IDs` that do not run, such as OT501", false, func(o *Options, v string) error {
			return assign(&o.Disable, v, validRule)
		}},
		{"third-party", "`functions` of other libraries that build a client, as import/path.Func or import/path.Type.Method", false, func(o *Options, v string) error {
			return assign(&o.Constructors, v, validFunc)
		}},
		{"tests", "report on test files and test support too", true, func(o *Options, v string) error {
			switch v {
			case "true", "1":
				o.Tests = true
			case "false", "0":
				o.Tests = false
			default:
				return fmt.Errorf("tests: got %q, want true or false", v)
			}
			return nil
		}},
	}
}

// assign splits a comma-separated list and takes it only if all of it is valid.
func assign(to *[]string, list string, valid func(string) error) error {
	var got []string
	var errs []error
	for item := range strings.SplitSeq(list, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		errs = append(errs, valid(item))
		got = append(got, item)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	*to = got
	return nil
}

// bind makes a flag of every setting. Flags, not a file, are the first way to
// configure: go vet's cache knows them.
func (o *Options) bind(fs *flag.FlagSet) {
	for _, s := range settings() {
		set := func(v string) error { return s.set(o, v) }
		if s.bool {
			fs.BoolFunc(s.name, s.usage, set)
		} else {
			fs.Func(s.name, s.usage, set)
		}
	}
}

func (o *Options) validate() error {
	var errs []error
	check := func(list []string, valid func(string) error) {
		for _, item := range list {
			errs = append(errs, valid(item))
		}
	}
	check(o.Profiles, validProfile)
	check(o.Factories, validPackage)
	check(o.Disable, validRule)
	check(o.Constructors, validFunc)
	return errors.Join(errs...)
}

func validProfile(p string) error {
	switch Profile(p) {
	case Bugs, Strict, Advice:
		return nil
	}
	return fmt.Errorf("profile: unknown %q, want bugs, strict or advice", p)
}

func validPackage(path string) error {
	if strings.ContainsAny(path, " \t\"") || strings.HasPrefix(path, ".") || strings.HasPrefix(path, "/") {
		return fmt.Errorf("factory: %q is no import path, want one such as example.com/service/clients", path)
	}
	return nil
}

func validRule(id string) error {
	rule, ok := ruleByID(id)
	if !ok {
		return fmt.Errorf("disable: no rule %q, want an ID such as OT501", id)
	}
	if rule.Profile == Meta {
		return fmt.Errorf("disable: %s can not be disabled", id)
	}
	return nil
}

func validFunc(name string) error {
	// What follows the last slash is a package's element, a dot, and one or two
	// names. An element may have dots itself, as yaml.v3 does.
	dot := strings.LastIndexByte(name, '.')
	if dot <= strings.LastIndexByte(name, '/')+1 || strings.ContainsAny(name, " \t\"()*") || !token.IsExported(name[dot+1:]) {
		return fmt.Errorf("third-party: %q is no function, want one such as example.com/lib.NewClient, or example.com/lib.Config.Client for a method", name)
	}
	return nil
}

// enabled returns the rules that these options switch on, by ID.
func (o *Options) enabled() map[string]Rule {
	on := make(map[string]Rule)
	for _, r := range Rules() {
		switch {
		case slices.Contains(o.Disable, r.ID):
		case r.Profile == Bugs, r.Profile == Meta, slices.Contains(o.Profiles, string(r.Profile)):
			on[r.ID] = r
		}
	}
	return on
}
