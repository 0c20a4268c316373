// Command offtakevet finds the calls to other services that nothing bounds, and
// the clients that are built outside the shared factory.
//
// It is one program with four uses:
//
//	offtakevet ./...                             on its own
//	go vet -vettool="$(command -v offtakevet)" ./...
//	go fix -fixtool="$(command -v offtakevet)" ./...
//	go tool offtakevet ./...                     after go get -tool
//
// Run it with -h for its flags. The rules are explained in docs/vet.md.
package main

import (
	"os"

	"github.com/offtake-go/offtake/tools/vet/driver"
)

func main() {
	if driver.Called(os.Args[1:]) {
		driver.Unit(os.Args[1:])
	}
	os.Exit(driver.Run(os.Args[1:], os.Stdout, os.Stderr))
}
