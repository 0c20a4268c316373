package driver_test

import (
	"encoding/json"
	"testing"
)

// The log says that its columns are code points, and the compiler counts bytes.
func TestSARIFColumnsAreCodePoints(t *testing.T) {
	module(t, "p/p.go", "package p\n\nimport \"net\"\n\nfunc Dial(a string) { _ = \"äöüß€𝄞\"; net.Dial(\"tcp\", a) }\n\n//line page.txt:10\nfunc Other(a string) { net.Dial(\"tcp\", a) }\n")
	_, out, _ := run("-sarif", "./...")
	var log struct {
		Runs []struct {
			Results []struct {
				Locations []struct {
					PhysicalLocation struct {
						Region struct{ StartLine, StartColumn, EndColumn int }
					}
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &log); err != nil {
		t.Fatal(err)
	}
	type region struct{ StartLine, StartColumn, EndColumn int }
	want := map[region]bool{{5, 37, 55}: true, {10, 0, 0}: true}
	for _, r := range log.Runs[0].Results {
		if got := region(r.Locations[0].PhysicalLocation.Region); !want[got] {
			t.Errorf("offtakevet(-sarif) prints the region %+v, want one of %v", got, want)
		}
	}
	if n := len(log.Runs[0].Results); n != 2 {
		t.Errorf("offtakevet(-sarif) prints %d results, want 2", n)
	}
}
