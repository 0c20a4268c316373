package driver

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// The planted defect, and the rule that must see it.
const (
	canaryRule = "OT101"
	canaryMod  = "module offtakevet.canary\n\ngo 1.24\n"
	canaryCode = `// Package canary holds a defect that the analyzer must report.
package canary

import "net/http"

// Fetch has neither timeout nor context.
func Fetch(url string) (*http.Response, error) { return http.Get(url) }
`
)

// selfTest plants a defect in a module of its own and checks that the command,
// with ./... added, reports it and fails. There are many ways to run a vet tool
// such that it silently does nothing: a tool that was built with an
// x/tools older than the go command, an empty -vettool, a -vettool in GOFLAGS.
// All of them look like clean code. So CI should put its own command here.
func selfTest(args []string) error {
	if len(args) == 0 {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		args = []string{"go", "vet", "-vettool=" + self}
	}
	dir, err := os.MkdirTemp("", "offtakevet")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // what is left is in the system's own folder for it
	for name, text := range map[string]string{"go.mod": canaryMod, "canary.go": canaryCode} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			return err
		}
	}
	program, err := exec.LookPath(args[0])
	if err != nil {
		return err
	}
	if program, err = filepath.Abs(program); err != nil {
		return err
	}
	cmd := exec.Command(program, append(args[1:], "./...")...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.CombinedOutput()
	switch {
	case !bytes.Contains(out, []byte(canaryRule)):
		return fmt.Errorf("self-test: %v did not report the planted %s: the analyzer is not running\n%s", args, canaryRule, out)
	case err == nil:
		return fmt.Errorf("self-test: %v reports the planted %s and yet exits with 0: it can not be a gate", args, canaryRule)
	}
	return nil
}
