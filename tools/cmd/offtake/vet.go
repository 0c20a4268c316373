package main

import "github.com/offtake-go/offtake/tools/vet/driver"

// vet hands over: its flags are those of offtakevet.
func vet(c *call, args []string) (int, error) {
	return driver.Run(args, c.stdout, c.stderr), nil
}
