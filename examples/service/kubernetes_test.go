package main

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// container is what the Deployment says of the program.
type container struct {
	Args  []string
	Ports []struct {
		Name          string
		ContainerPort string `yaml:"containerPort"`
	}
	Lifecycle struct {
		PreStop struct {
			Sleep struct{ Seconds int }
		} `yaml:"preStop"`
	}
}

func TestTheDeploymentIsOfThisProgram(t *testing.T) {
	text, err := os.ReadFile("kubernetes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var deployment struct {
		Spec struct {
			Template struct {
				Spec struct {
					Grace      int `yaml:"terminationGracePeriodSeconds"`
					Containers []container
				}
			}
		}
	}
	if err := yaml.Unmarshal(text, &deployment); err != nil {
		t.Fatal(err)
	}
	pod := deployment.Spec.Template.Spec
	if len(pod.Containers) != 1 {
		t.Fatalf("%d containers, want 1", len(pod.Containers))
	}
	only := pod.Containers[0]
	var c config
	if err := c.flags(flag.ContinueOnError).Parse(only.Args); err != nil {
		t.Fatalf("the program does not take %q: %v", only.Args, err)
	}
	for _, port := range only.Ports {
		address := map[string]string{"http": c.options.Address, "admin": c.options.Admin}[port.Name]
		if !strings.HasSuffix(address, ":"+port.ContainerPort) {
			t.Errorf("the program listens on %q for port %s, want %s", address, port.Name, port.ContainerPort)
		}
	}
	left := time.Duration(pod.Grace-only.Lifecycle.PreStop.Sleep.Seconds) * time.Second
	if c.options.Grace != left {
		t.Errorf("-grace = %v, want the %v that are left after preStop", c.options.Grace, left)
	}
}
