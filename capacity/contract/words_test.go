package contract

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestTheFieldsOwnWordsAreAnsweredWithOurs(t *testing.T) {
	const head = "service: a\nreplicas: {min: 6}\nupstreams:\n  b:\n    target: http://b\n    rate: 10/s\n    latency: 10ms\n    "
	for theirs, ours := range map[string]string{
		"timeout: 2s": "deadline", "retries: 2": "attempts", "max_retries: 2": "attempts", "maxConns: 10": "connections", "poolSize: 10": "connections",
		"perTryTimeout: 1s": "attempt", "maxConcurrency: 4": "inFlight", "max-pending-requests: 4": "queue", "poolTimeout: 1s": "wait", "url: http://b": "target",
		"qps: 10": "rate", "idleTimeout: 60s": "serverIdle", "retryBudget: 20%": "retryShare",
	} {
		key, _, _ := strings.Cut(theirs, ":")
		_, err := Parse("offtake.yaml", []byte(head+theirs+"\n"), "")
		want := "offtake.yaml:8:5: upstreams.b." + key + ": the key is not known; here it is " + ours + ", "
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%s) = %v, want %q", theirs, err, want)
		}
	}
	if _, err := Parse("f", []byte(head+"client: {maxConns: 4, timeout: 1s}\n"), ""); err != nil {
		t.Errorf("Parse of a client = %v, want its own words taken", err)
	}
}

// TestEveryAnswerIsAKey holds the words to the keys that there are, and no word to two.
func TestEveryAnswerIsAKey(t *testing.T) {
	keys := map[string]bool{}
	for _, of := range []any{Contract{}, Upstream{}, Door{}, Caller{}} {
		for _, f := range fieldsOf(reflect.TypeOf(of)) {
			keys[f.key] = true
		}
	}
	var seen []string
	for _, w := range words() {
		if !keys[w.ours] {
			t.Errorf("%v lead to %s, which is no key", w.theirs, w.ours)
		}
		for _, theirs := range w.theirs {
			if slices.Contains(seen, theirs) || theirs != strings.ToLower(theirs) {
				t.Errorf("%s stands twice, or has capitals", theirs)
			}
			seen = append(seen, theirs)
		}
	}
}
