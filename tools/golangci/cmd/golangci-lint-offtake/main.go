// Command golangci-lint-offtake is golangci-lint v2 with the offtake linter
// built in. It is what "golangci-lint custom" would make, without its need for
// a checkout: go install is enough.
package main

import (
	"fmt"
	"os"
	"runtime"

	"github.com/golangci/golangci-lint/v2/pkg/commands"
	"github.com/golangci/golangci-lint/v2/pkg/exitcodes"

	_ "github.com/offtake-go/offtake/tools/golangci"
)

// version is that of golangci-lint, which checks configurations against it.
const version = "2.15.0"

func main() {
	err := commands.Execute(commands.BuildInfo{GoVersion: runtime.Version(), Version: version, Commit: "offtake"})
	if err != nil {
		fmt.Fprintf(os.Stderr, "golangci-lint-offtake: %v\n", err)
		os.Exit(exitcodes.Failure)
	}
}
