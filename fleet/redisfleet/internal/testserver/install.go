package testserver

import (
	"context"
	"fmt"
	"os"
	"os/exec"
)

// Debian has Valkey from version 13 on, and Redis in every one.
const (
	valkey = "valkey-server"
	redis  = "redis-server"
)

// find is the path of a server. It installs one if there is none, this is Debian or
// a child of it, and root asks. It never lets a test pass by without one.
func find(ctx context.Context) (string, error) {
	if path, ok := installed(); ok {
		return path, nil
	}
	apt, err := exec.LookPath("apt-get")
	if err != nil || os.Geteuid() != 0 {
		return "", fmt.Errorf("testserver: neither %s nor %s is installed; install Valkey or Redis, on Debian with: apt-get install %s",
			valkey, redis, redis)
	}
	var out []byte
	for _, args := range [][]string{
		{"install", "-y", "--no-install-recommends", redis},
		{"update"},
		{"install", "-y", "--no-install-recommends", redis},
		{"install", "-y", "--no-install-recommends", valkey},
	} {
		command := exec.CommandContext(ctx, apt, args...)
		command.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		out, err = command.CombinedOutput()
		if path, ok := installed(); ok {
			return path, nil
		}
	}
	return "", fmt.Errorf("testserver: no server could be installed: %w\n%s", err, out)
}

func installed() (string, bool) {
	for _, program := range []string{valkey, redis} {
		if path, err := exec.LookPath(program); err == nil {
			return path, true
		}
	}
	return "", false
}
