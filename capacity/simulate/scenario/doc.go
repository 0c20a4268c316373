// Package scenario reads what is to be simulated from files: a contract, which
// states the service and its upstream, and a scenario, which states what happens
// to them and when.
//
// Everything that the contract says is taken from it ([Of]), so that a change of
// the contract changes the outcome; the scenario adds what a contract does not
// say, such as the callers' proxies, and overrides what it must. Files are read as
// strictly as contracts are: all mistakes at once, each with its line and the
// nearest key.
package scenario
