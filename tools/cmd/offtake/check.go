package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/offtake-go/offtake/tools/check"
	"github.com/offtake-go/offtake/tools/check/manifest"
	"github.com/offtake-go/offtake/tools/check/report"
	"github.com/offtake-go/offtake/tools/internal/plain"
)

// checkFlags are what offtake check is told.
type checkFlags struct {
	file, environment       string
	format, baseline        string
	writeBaseline, noColour bool
	verbose                 bool
	failOn                  check.Severity
	plane, version          string
	namespace               string
	network, graph          bool
}

func runCheck(c *call, args []string) (int, error) {
	var o checkFlags
	f := c.flags("check")
	f.StringVar(&o.file, "f", "", "the contract (default: offtake.yaml here, or in the one DIR that has it)")
	f.StringVar(&o.environment, "env", "", "the environment of the contract")
	f.StringVar(&o.format, "format", "text", "text, json, sarif, markdown or github")
	f.BoolVar(&o.verbose, "v", false, "text with all evidence, remedies and sources, and not on one screen")
	f.BoolVar(&o.verbose, "verbose", false, "the same as -v")
	f.TextVar(&o.failOn, "fail-on", check.Error, "least severity that fails: info, warning or error")
	f.StringVar(&o.baseline, "baseline", "", "file with findings that were there before, which are not reported")
	f.BoolVar(&o.writeBaseline, "write-baseline", false, "write the findings to the -baseline file instead of reporting them")
	f.BoolVar(&o.noColour, "no-colour", false, "plain text on a terminal too")
	f.StringVar(&o.plane, "control-plane", "", "istio, envoy, envoy-gateway, contour, consul or grpc (default: from the contract or the manifests)")
	f.StringVar(&o.version, "mesh-version", "", "version of the control plane, such as 1.29.2 (default: from the contract or the manifests)")
	f.StringVar(&o.namespace, "namespace", "", "namespace of the service, where several have a workload of its name")
	f.BoolVar(&o.network, "network", false, "hold the contracts of several services, below each DIR, against each other, and no manifests")
	f.BoolVar(&o.graph, "graph", false, "draw that network as Mermaid, worst edge first, instead of reporting")
	paths, err := c.parse(f, args)
	if err != nil {
		return exitBadInput, err
	}
	if o.network || o.graph {
		return c.checkNetwork(o, paths)
	}
	options := check.Options{Plane: check.ControlPlane(o.plane), Version: o.version, Namespace: o.namespace, Now: c.now}
	if err := options.Err(); err != nil {
		return exitBadInput, err
	}
	if o.file == "" {
		if o.file, err = findContract(paths); err != nil {
			return exitBadInput, err
		}
	}
	k, err := load(o.file, o.environment)
	if err != nil {
		return exitBadInput, err
	}
	set, err := manifest.Read(paths, c.stdin)
	if err != nil {
		return exitBadInput, err
	}
	known, err := o.readBaseline()
	if err != nil {
		return exitBadInput, err
	}
	r := check.NewWorld(k, set, options).Check(known)
	if o.writeBaseline && len(r.Broken) == 0 { // else it would lack what is in them
		return exitOK, c.writeBaseline(o.baseline, r)
	}
	if err := c.report(o, r); err != nil {
		return exitBadInput, err
	}
	return exitOf(r, o.failOn), nil
}

// contractName is what a contract is called where nothing says.
const contractName = "offtake.yaml"

// findContract is the contract of a check that names none: the one here, or else that
// of the folder it is pointed to.
func findContract(paths []string) (string, error) {
	if _, err := os.Stat(contractName); err == nil {
		return contractName, nil
	}
	var found []string
	for _, path := range paths {
		name := filepath.Join(path, contractName)
		if _, err := os.Stat(name); err == nil {
			found = append(found, name)
		}
	}
	if len(found) > 1 {
		return "", fmt.Errorf("offtake check: there is a contract in each of %s; -f %s would do, or -network to hold them against each other", strings.Join(found, ", "), found[0])
	}
	if len(found) == 1 {
		return found[0], nil
	}
	return contractName, nil // which load misses
}

// exitOf is the exit code of a report. What could not be read comes first: findings
// may be missing for it.
func exitOf(r *check.Report, failOn check.Severity) int {
	if len(r.Broken) > 0 {
		return exitBadInput
	}
	if worst, found := r.Worst(); found && worst >= failOn {
		return exitFindings
	}
	return exitOK
}

func (c *call) report(o checkFlags, r *check.Report) error {
	switch o.format {
	case "text":
		if o.verbose {
			return report.Text(c.stdout, r, c.colour && !o.noColour)
		}
		return report.Brief(c.stdout, r, c.colour && !o.noColour, c.width)
	case "json":
		return report.JSON(c.stdout, r)
	case "sarif":
		return report.SARIF(c.stdout, r, version())
	case "markdown":
		return report.Markdown(c.stdout, r)
	case "github":
		return report.GitHub(c.stdout, r)
	}
	return fmt.Errorf("offtake check: format %q is not known; one of %s would do", o.format, strings.Join([]string{"text", "json", "sarif", "markdown", "github"}, ", "))
}

// readBaseline reads the baseline, which need not exist when it is to be written.
// While it is written, an old one must not hide anything.
func (o checkFlags) readBaseline() (check.Baseline, error) {
	if o.writeBaseline && o.baseline == "" {
		return check.Baseline{}, errors.New("offtake check: -write-baseline needs a file; -baseline offtake-baseline.json would do")
	}
	if o.baseline == "" || o.writeBaseline {
		return check.Baseline{}, nil
	}
	data, err := os.ReadFile(o.baseline)
	if errors.Is(err, fs.ErrNotExist) {
		return check.Baseline{}, fmt.Errorf("%w; offtake check -write-baseline -baseline %s would write it", err, o.baseline)
	}
	if err != nil {
		return check.Baseline{}, err
	}
	return check.ParseBaseline(data)
}

func (c *call) writeBaseline(path string, r *check.Report) error {
	known := check.BaselineOf(r)
	b, err := json.MarshalIndent(known, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, append(b, '\n'), 0o644); err != nil {
		return err
	}
	fmt.Fprintf(c.stderr, "offtake check: wrote %s to %s\n", count(len(known.Findings), "finding"), path)
	for _, f := range r.Findings {
		if f.Rule == "I01" || f.Rule == "I02" {
			fmt.Fprintf(c.stderr, "offtake check: %s is not among them, as no baseline covers it: %s: %s\n", f.Rule, plain.Text(f.Ref.String()), plain.Text(f.Evidence))
		}
	}
	return nil
}

func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
