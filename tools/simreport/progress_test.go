package simreport

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheBarFillsAndGoesAway(t *testing.T) {
	var b bytes.Buffer
	draw, wipe := bar(&b, "simulating")
	for _, done := range []float64{0.004, 0.5, 0.501, 1} {
		draw(done)
	}
	wipe()
	want := "\rsimulating " + strings.Repeat("░", 40) + "   0 %" +
		"\rsimulating " + strings.Repeat("█", 20) + strings.Repeat("░", 20) + "  50 %" +
		"\rsimulating " + strings.Repeat("█", 40) + " 100 %" +
		"\r\x1b[K"
	if got := b.String(); got != want {
		t.Errorf("the bar = %q, want %q", got, want)
	}
}

func TestOnlyATerminalHasABar(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if draw, wipe := progressOn(file, "simulating"); draw != nil {
		t.Error("progressOn(a file) draws, want nothing")
	} else {
		wipe()
	}
	var b bytes.Buffer
	if draw, _ := progressOn(&b, "simulating"); draw != nil {
		t.Error("progressOn(a buffer) draws, want nothing")
	}
	if info, err := file.Stat(); err != nil || info.Size() != 0 {
		t.Errorf("the file has %d bytes, want 0", info.Size())
	}
}
