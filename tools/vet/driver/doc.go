// Package driver runs the analyzer of package vet: as a tool that the go command
// calls, and as a command of its own.
//
// The command of its own is go vet too, with this very program as its tool: so
// it shares go vet's cache, its build tags, its cgo and its memory of one
// package at a time, and adds what go vet lacks, which is SARIF, a baseline, and
// a test of itself.
//
// A program hosts it in two lines. The first must come before it reads its own
// arguments, because the go command will call the program again:
//
//	if driver.Called(os.Args[1:]) { driver.Unit(os.Args[1:]) }
//	os.Exit(driver.Run(args, os.Stdout, os.Stderr))
package driver
