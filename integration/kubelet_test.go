package integration

import (
	"os"
	"os/exec"
	"testing"
)

// TestTheKubeletsProbersAgree runs the tests of the module kubelet, which is
// outside of the workspace: see there.
func TestTheKubeletsProbersAgree(t *testing.T) {
	t.Log("building the kubelet's probers: about 80 s of CPU the first time")
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-v", "./...")
	cmd.Dir = "kubelet"
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go test in kubelet: %v\n%s", err, out)
	}
	t.Logf("%s", out)
}
