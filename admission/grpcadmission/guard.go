package grpcadmission

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/offtake-go/offtake/admission"
)

// Options is how a guard is wired. Nil, and every zero field, is a default.
type Options struct {
	// Exempt are methods that pass without a place, each as
	// "/package.Service/Method", or as "/package.Service/*" for a whole service.
	// Health and reflection are always exempt: a client that watches its server's
	// health takes a refusal for a dead server, and all its calls fail.
	Exempt []string
}

// always are exempt, whatever the options say.
var always = [...]string{
	"/grpc.health.v1.Health/*",
	"/grpc.reflection.v1.ServerReflection/*",
	"/grpc.reflection.v1alpha.ServerReflection/*",
}

// Guard is a door as the interceptors of a grpc server. Make one with [New], and
// use it for any number of servers. It has nothing to close: its door has.
type Guard struct {
	door   *admission.Door
	exempt map[string]bool // by method, and by service with its slashes
	answer answers

	overrunning atomic.Int64
	overran     atomic.Uint64
}

// New returns a guard for a door, or every mistake of its options at once.
func New(door *admission.Door, options *Options) (*Guard, error) {
	var errs []error
	if door == nil {
		errs = append(errs, errors.New("door: it is nil; make one with admission.New"))
	}
	exempt := make(map[string]bool)
	for _, method := range always {
		exempt[strings.TrimSuffix(method, "*")] = true
	}
	if options != nil {
		for i, method := range options.Exempt {
			if !isMethod(method) {
				errs = append(errs, fmt.Errorf("Options.Exempt[%d]: %q is not a method; \"/package.Service/Method\" or \"/package.Service/*\" would do", i, method))
			}
			exempt[strings.TrimSuffix(method, "*")] = true
		}
	}
	answer, err := newAnswers()
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, fmt.Errorf("grpcadmission: %w", err)
	}
	return &Guard{door: door, exempt: exempt, answer: answer}, nil
}

// isMethod says whether s is a full method's name, or a service's with "/*".
func isMethod(s string) bool {
	rest, slash := strings.CutPrefix(s, "/")
	service, name, two := strings.Cut(rest, "/")
	return slash && two && service != "" && name != "" && !strings.Contains(name, "/") && !strings.Contains(service, "*")
}

func (g *Guard) isExempt(method string) bool {
	return g.exempt[method] || g.exempt[method[:strings.LastIndexByte(method, '/')+1]]
}

// Stats counts the handlers that go on after their call is over: its deadline has
// passed, or its caller has left. They hold places for nobody; and grpc-go, once
// a connection has as many as its limit on streams, stops reading from it, which
// no other figure shows.
type Stats struct {
	// Overrunning is how many do so at this moment.
	Overrunning int

	// Overran counts those that went on for more than 100 ms.
	Overran uint64
}

// Stats reads the guard. The places are in the Stats of its door.
func (g *Guard) Stats() Stats {
	return Stats{Overrunning: int(g.overrunning.Load()), Overran: g.overran.Load()}
}
