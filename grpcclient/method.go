package grpcclient

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
)

// Method is what a method has of its own. Its zero value has the plan's times and
// allows no retry of what the server may have begun.
type Method struct {
	// Deadline bounds a whole unary call. The default is Plan.Deadline.
	Deadline time.Duration

	// Attempt bounds one attempt of a unary call, or the opening of a stream. The
	// default is Plan.Attempt for a call that may be repeated, Plan.Once for others and
	// for streams.
	Attempt time.Duration

	// Idle is the longest a stream may go without progress while its caller waits
	// for it. The default is Plan.BodyIdle.
	Idle time.Duration

	// Lifetime bounds a stream. The default is Options.Lifetime.
	Lifetime time.Duration

	// Retry are the codes after which a unary call may be sent again, because doing
	// it twice is doing it once. There are none by default, and with Plan.Idempotent
	// UNAVAILABLE and DEADLINE_EXCEEDED. What was certainly not
	// sent, a RESOURCE_EXHAUSTED with a word on when to come back, and what a server
	// that drains has refused, may always be. DEADLINE_EXCEEDED stands for an attempt
	// that ran out of time, too; CANCELLED stands for what the server has said, and
	// never for the caller's own end of a call.
	Retry []codes.Code
}

// methodTable finds a method's entry.
type methodTable map[string]*Method

var noMethod Method

func newMethodTable(methods map[string]Method) methodTable {
	t := make(methodTable, len(methods))
	for name, m := range methods {
		m.Retry = slices.Clone(m.Retry)
		t[name] = &m
	}
	return t
}

// of is the entry of a method, of its service, or an empty one.
func (t methodTable) of(name string) *Method {
	if len(t) == 0 {
		return &noMethod
	}
	if m, ok := t[name]; ok {
		return m
	}
	if m, ok := t[name[:strings.LastIndexByte(name, '/')+1]+"*"]; ok {
		return m
	}
	return &noMethod
}

func checkMethods(methods map[string]Method) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(methods)) {
		m := methods[name]
		field := fmt.Sprintf("Options.Methods[%q]", name)
		if service, method, ok := strings.Cut(strings.TrimPrefix(name, "/"), "/"); name == "" || name[0] != '/' || !ok || service == "" || method == "" || strings.Contains(method, "/") {
			errs = append(errs, fmt.Errorf("%s: no method is named so; \"/package.Service/Method\" would do, or \"/package.Service/*\"", field))
		}
		for _, d := range []struct {
			name  string
			value time.Duration
		}{{"Deadline", m.Deadline}, {"Attempt", m.Attempt}, {"Idle", m.Idle}, {"Lifetime", m.Lifetime}} {
			if d.value < 0 || d.value > longest {
				errs = append(errs, fmt.Errorf("%s.%s: %v is not in [0s, %v]; 0 is the plan's", field, d.name, d.value, longest))
			}
		}
		for _, code := range m.Retry {
			errs = append(errs, checkRetry(field, code))
		}
	}
	return errors.Join(errs...)
}

func checkRetry(field string, code codes.Code) error {
	switch code {
	case codes.ResourceExhausted:
		return fmt.Errorf("%s.Retry: RESOURCE_EXHAUSTED is repeated on the server's word, and never without; leave it out", field)
	case codes.OK:
		return fmt.Errorf("%s.Retry: %v is the end of a call; leave it out", field, code)
	}
	if code > codes.Unauthenticated {
		return fmt.Errorf("%s.Retry: %d is no status code; UNAVAILABLE (%d) would do", field, code, codes.Unavailable)
	}
	return nil
}
