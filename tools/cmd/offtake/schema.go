package main

import "github.com/offtake-go/offtake/capacity/contract"

func schema(c *call, args []string) (int, error) {
	if _, err := c.parse(c.flags("schema"), args); err != nil {
		return exitBadInput, err
	}
	_, err := c.stdout.Write(contract.Schema())
	return exitOK, err
}
