// Package peers sets up what a user would pick instead of offtake, each as its own
// documentation recommends, so that all can be measured in one run.
package peers
