package vet

import (
	"slices"
	"strings"
)

// A Profile is a set of rules that are switched on together.
type Profile string

const (
	// Bugs holds what can be proved from the code. It is always on.
	Bugs Profile = "bugs"

	// Strict holds policy: clients are built in the factory and nowhere else.
	Strict Profile = "strict"

	// Advice holds sizes and answers worth a second look.
	Advice Profile = "advice"

	// Meta holds the rules about suppressions. It is always on and can not be
	// suppressed.
	Meta Profile = "meta"
)

// A Severity is how much a report matters, for the formats that carry it. go
// vet knows no severities and prints all.
type Severity string

// The severities.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Note    Severity = "note"
)

// A Rule is one thing the analyzer reports. It is a plain value.
type Rule struct {
	// ID is "OT" and three digits. IDs are stable and never used again.
	ID string

	// Name says in two or three words what is reported.
	Name string

	// Title is one sentence for lists of rules.
	Title string

	Profile  Profile
	Severity Severity
}

// URL is where the rule is explained, with a bad and a good example.
func (r Rule) URL() string {
	return docURL + "#" + strings.ToLower(r.ID) + "-" + r.Name
}

const docURL = "https://github.com/offtake-go/offtake/blob/main/docs/vet.md"

// Rules returns all rules, ordered by ID.
func Rules() []Rule {
	return []Rule{
		{"OT001", "suppression-without-reason", "A suppression must say why.", Meta, Error},
		{"OT002", "unused-suppression", "A suppression that suppresses nothing must go.", Strict, Warning},
		{"OT003", "malformed-suppression", "A suppression names rules that exist.", Meta, Error},

		{"OT101", "default-client-call", "http.Get and its kin have neither timeout nor context.", Bugs, Error},
		{"OT102", "default-client-unbounded", "http.DefaultClient sends a request that nothing bounds.", Bugs, Error},
		{"OT104", "global-mutation", "A write changes http.DefaultClient or http.DefaultTransport for the whole process.", Bugs, Error},
		{"OT111", "default-client-ref", "http.DefaultClient is used outside the factory.", Strict, Warning},
		{"OT112", "default-transport-ref", "http.DefaultTransport is used outside the factory.", Strict, Warning},

		{"OT201", "raw-http-client", "An http.Client is built outside the factory.", Strict, Warning},
		{"OT202", "client-unbounded", "An http.Client without a timeout sends a request that nothing bounds.", Bugs, Error},
		{"OT203", "raw-http-transport", "An http.Transport is built outside the factory.", Strict, Warning},
		{"OT204", "idle-limit-default", "MaxIdleConns is raised while MaxIdleConnsPerHost stays 2.", Advice, Note},
		{"OT205", "no-per-host-cap", "MaxConnsPerHost is 0, which is no limit.", Advice, Note},
		{"OT206", "transport-per-call", "An http.Transport is built on every call and dropped.", Bugs, Error},
		{"OT207", "pool-size-literal", "A pool size is a number that no traffic derives.", Advice, Note},

		{"OT301", "dropped-context", "http.NewRequest drops the context in scope.", Bugs, Error},
		{"OT302", "background-context", "A request is made on context.Background although a context is in scope.", Bugs, Error},
		{"OT303", "request-without-context", "http.NewRequest takes no context.", Strict, Warning},

		{"OT401", "raw-grpc-client", "A grpc.ClientConn is made outside the factory.", Strict, Warning},
		{"OT402", "background-rpc", "An RPC is made on context.Background although a context is in scope.", Bugs, Error},

		{"OT501", "dial-unbounded", "A dial has no timeout.", Bugs, Warning},
		{"OT502", "reverse-proxy-default-transport", "A ReverseProxy forwards over http.DefaultTransport.", Strict, Warning},
		{"OT503", "raw-third-party-client", "Another library's client is built outside the factory.", Strict, Warning},
		{"OT504", "dial-unbounded-network", "A dial on a network that is not constant has no timeout.", Strict, Warning},

		{"OT601", "unbounded-from-dep", "Another package's client without a timeout sends a request that nothing bounds.", Bugs, Warning},

		{"OT701", "cancel-before-body", "The context of a response ends before its body can be read.", Bugs, Error},
		{"OT702", "shared-idle-close", "CloseIdleConnections on the shared client closes everyone's connections.", Strict, Warning},

		{"OT801", "own-client-field", "A field of offtake's own client is overwritten.", Bugs, Error},
		{"OT802", "plan-literal", "A capacity.Plan states numbers that no Demand derives.", Strict, Warning},
		{"OT803", "busy-as-broken", "A refusal by offtake is answered like a failure.", Advice, Note},
	}
}

// ruleByID returns the rule, or false.
func ruleByID(id string) (Rule, bool) {
	rules := Rules()
	i := slices.IndexFunc(rules, func(r Rule) bool { return r.ID == id })
	if i < 0 {
		return Rule{}, false
	}
	return rules[i], true
}
