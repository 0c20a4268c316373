package offtake

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path"
	"strings"
	"testing"
)

const module = "github.com/offtake-go/offtake"

// allowed is which package may import which of this module's, and which modules
// besides. A package that is not listed may import nothing of either; what a row
// allows is allowed for the reason beside it.
var allowed = map[string][]string{
	"":                         {},                                                           // the words all share
	"capacity":                 {},                                                           // pure functions of plain values
	"capacity/contract":        {"capacity", yaml},                                           // the file holds demands
	"capacity/simulate":        {"capacity"},                                                 // plays plans
	"capacity/simulate/…":      {"capacity", "capacity/contract", "capacity/simulate", yaml}, // scenarios are files
	"httpclient":               {"", "capacity", "internal/…", metrics, traces},              // never gRPC
	"grpcclient":               {"", "capacity", "internal/…", metrics, traces, grpc, protobuf},
	"guard":                    {"", "capacity", "internal/…", metrics, traces},          // never a protocol
	"sqlclient":                {"", "capacity", "guard", "internal/…", metrics, traces}, // a guard around a pool; never a driver
	"admission":                {"", "capacity", "internal/…", metrics},
	"admission/…":              {"", "admission", "capacity", "internal/…", grpc, protobuf},
	"readiness":                {}, // it must answer when all else is stuck
	"readiness/grpcready":      {"readiness", grpc, protobuf},
	"internal/gate":            {""}, // the two refusals
	"internal/verdict":         {""}, // as above; apart from the next, which links gRPC
	"internal/verdict/…":       {"internal/verdict", grpc, protobuf},
	"internal/budget":          {},
	"internal/backoff":         {},
	"internal/retryafter":      {},
	"internal/cause":           {},
	"internal/endpoint":        {},                                                            // both clients are to judge by it
	"internal/pool":            {"internal/backoff", "internal/endpoint", "internal/pipenet"}, // knows nothing of calls
	"internal/incoming":        {},
	"internal/loopback":        {},
	"internal/pipenet":         {},
	"internal/redact":          {},
	"internal/telemetry":       {"", "internal/redact", metrics, traces}, // keeps the last errors
	"internal/clienttest":      {"", "capacity", "internal/…"},
	"internal/grpctest":        {"internal/pipenet", grpc}, // apart, since httpclient's tests need no gRPC
	"fleet":                    {"capacity"},
	"debug":                    {"internal/redact"},                                     // takes snapshots
	"debug/registry":           {"debug", metrics},                                      // reads what the clients have registered
	"factory":                  {"…", "internal/telemetry", metrics, traces, yaml},      // the one that builds all others, but for gRPC
	"factory/grpcfactory":      {"…", grpc, protobuf},                                   // apart, so that a service over HTTP does not link it
	"offtaketest":              {"capacity", "httpclient", "internal/pipenet", metrics}, // what a test of a service needs, without gRPC
	"offtaketest/grpcupstream": {"capacity", "grpcclient", "internal/pipenet", metrics, grpc, protobuf},
	"examples/…":               {"…", metrics, traces, grpc, protobuf, yaml}, // what a user may import
}

// The modules beside the standard library. docs/dependencies.md says why.
const (
	metrics  = "github.com/prometheus/client_golang github.com/prometheus/client_model" // its data model
	traces   = "go.opentelemetry.io/otel"
	grpc     = "google.golang.org/grpc"
	protobuf = "google.golang.org/protobuf google.golang.org/genproto" // they come with grpc
	yaml     = "go.yaml.in/yaml"
	pacing   = "golang.org/x/time"
)

func TestImportsPointOneWay(t *testing.T) {
	for _, p := range packages(t, "./...") {
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		may := rule(name)
		for _, imported := range p.Imports {
			if own, ok := strings.CutPrefix(imported, module); ok {
				if !permits(may, strings.TrimPrefix(own, "/")) {
					t.Errorf("%s imports %s, which its row in the table does not allow", p.ImportPath, imported)
				}
			} else if first, _, _ := strings.Cut(imported, "/"); strings.Contains(first, ".") && !permitsModule(may, imported) {
				t.Errorf("%s imports %s, which its row in the table does not allow", p.ImportPath, imported)
			}
		}
	}
}

// TestAServiceInheritsOnlyWhatItUses names what must never be in a binary that
// imports only the first.
func TestAServiceInheritsOnlyWhatItUses(t *testing.T) {
	for name, never := range map[string][]string{
		"httpclient":        {grpc, yaml},
		"admission":         {grpc, yaml},
		"guard":             {grpc, yaml},
		"readiness":         {grpc, yaml, metrics, traces},
		"offtaketest":       {grpc, yaml},
		"factory":           {grpc, module + "/grpcclient"}, // 9 MB of a binary
		"sqlclient":         {grpc, yaml, "github.com/jackc", "github.com/lib/pq", "github.com/go-sql-driver"},
		"capacity":          {grpc, yaml, metrics, traces},
		"capacity/contract": {grpc, metrics, traces, "k8s.io", "istio.io"},
		"fleet":             {grpc, yaml, metrics, traces, "k8s.io", "github.com/redis"},
	} {
		for _, p := range packages(t, "-deps", "./"+name) {
			for _, prefix := range never {
				if strings.HasPrefix(p.ImportPath, prefix) {
					t.Errorf("%s pulls in %s", name, p.ImportPath)
				}
			}
		}
	}
}

// rule is the row of a package: its own, or that of the nearest folder above
// with "…".
func rule(name string) []string {
	if may, ok := allowed[name]; ok {
		return may
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if may, ok := allowed[dir+"/…"]; ok {
			return may
		}
	}
	return nil
}

func permits(may []string, own string) bool {
	for _, m := range may {
		if m == own || m == "…" && !strings.HasPrefix(own, "internal/") ||
			strings.HasSuffix(m, "/…") && strings.HasPrefix(own, strings.TrimSuffix(m, "…")) {
			return true
		}
	}
	return false
}

func permitsModule(may []string, imported string) bool {
	for _, m := range strings.Fields(strings.Join(may, " ")) {
		if strings.Contains(m, ".") && (imported == m || strings.HasPrefix(imported, m+"/")) {
			return true
		}
	}
	return strings.HasPrefix(imported, pacing)
}

type listed struct {
	ImportPath string
	Imports    []string
}

// packages asks the go command.
func packages(t *testing.T, args ...string) []listed {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", append([]string{"list", "-json=ImportPath,Imports"}, args...)...).Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			err = errors.New(string(exit.Stderr))
		}
		t.Fatalf("go list %v: %v", args, err)
	}
	var all []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}
