package driver

import (
	"strings"
	"testing"

	"github.com/offtake-go/offtake/tools/vet"
)

func TestConfigNamesEveryMistakeWithItsPlace(t *testing.T) {
	const text = `# a comment
profile = lax
 colour = blue
tests
factory = example.com/clients
factory = example.com/more
disable = OT999,OT1
`
	err := parseConfig("f", []byte(text), new(vet.Options))
	if err == nil {
		t.Fatal("parseConfig(bad text) = nil, want an error")
	}
	for _, want := range []string{"f:2:10: ", "f:3:", "f:4:1: ", "f:6:1: ", `f:7:10: `, `"OT999"`, `"OT1"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("parseConfig(bad text) = %q, want it to contain %q", err, want)
		}
	}
}

func TestConfigSetsOptions(t *testing.T) {
	var o vet.Options
	const text = "profile = strict, advice # both\r\ntests = true\n\ndisable=OT501\n"
	if err := parseConfig("f", []byte(text), &o); err != nil {
		t.Fatal(err)
	}
	if len(o.Profiles) != 2 || !o.Tests || len(o.Disable) != 1 {
		t.Errorf("parseConfig = %+v, want two profiles, tests, one rule disabled", o)
	}
}

func FuzzParseConfig(f *testing.F) {
	for _, seed := range []string{"profile = strict\n", "a", "=", "tests = true # x", "\x00=\n\n#", "factory = a/b, c/...\r\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var o vet.Options
		if parseConfig("f", text, &o) != nil {
			return
		}
		if _, err := vet.New(&o); err != nil {
			t.Errorf("parseConfig(%q) accepts what New refuses: %v", text, err)
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"p": {"offtake": [{"category": "OT101", "posn": "/a.go:1:2", "end": "/a.go:1:3", "message": "m"}]}}`))
	f.Add([]byte(`{"p": {"offtake": {"error": "failed"}}}`))
	f.Add([]byte(`{}{}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		findings, err := decode(strings.NewReader(string(text)))
		if err != nil && findings != nil {
			t.Errorf("decode(%q) = findings and %v, want one of them", text, err)
		}
	})
}
