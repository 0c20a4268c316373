package main

import "github.com/offtake-go/offtake/tools/simreport"

// simulate hands over: its flags and its report are package simreport's.
func simulate(c *call, args []string) (int, error) {
	return simreport.Run(c.ctx, args, c.stdout, c.stderr), nil
}
