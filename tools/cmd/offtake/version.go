package main

import (
	"fmt"
	"runtime/debug"
)

func printVersion(c *call, args []string) (int, error) {
	if _, err := c.parse(c.flags("version"), args); err != nil {
		return exitBadInput, err
	}
	_, err := fmt.Fprintf(c.stdout, "offtake %s\n", version())
	return exitOK, err
}

// version is what the Go command recorded: the module's version, or the commit it
// was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return "devel"
}
