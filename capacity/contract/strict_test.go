package contract

import (
	"testing"
	"time"
)

type strictFile struct {
	Name  string        `yaml:"name,required"`
	Wait  time.Duration `yaml:"wait"`
	Inner *struct {
		Count int `yaml:"count"`
		Size  int `yaml:"size"`
	} `yaml:"inner"`
}

func TestDecodeLaysOverlaysOverTheFile(t *testing.T) {
	v := strictFile{Wait: time.Second}
	at, err := Decode("scenario.yaml", []byte("name: a\ninner: {count: 1, size: 2}\n"), &v, []byte("inner: {count: 3}"))
	if err != nil {
		t.Fatal(err)
	}
	if v.Wait != time.Second {
		t.Errorf("Wait = %v, want the second it had", v.Wait)
	}
	if v.Inner.Count != 3 || v.Inner.Size != 2 {
		t.Errorf("Inner = %+v, want count 3 from the overlay beside size 2", *v.Inner)
	}
	if got, want := at.Of("inner.size.unit").String(), "scenario.yaml:2:25"; got != want {
		t.Errorf("Of(inner.size.unit) = %s, want %s", got, want)
	}
}

func TestDecodeReturnsAllMistakesWithTheirPlace(t *testing.T) {
	_, err := Decode("scenario.yaml", []byte("wait: 5\ninner: {cuont: 1}\n"), new(strictFile))
	want := "scenario.yaml:1:1: name: it is required\n" +
		"scenario.yaml:1:7: wait: \"5\" has no unit; 5s would do, or 5ms\n" +
		"scenario.yaml:2:9: inner.cuont: the key is not known; did you mean count"
	if err == nil || err.Error() != want {
		t.Errorf("Decode = %v, want\n%s", err, want)
	}
}
