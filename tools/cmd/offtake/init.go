package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"text/template"
	"time"

	"github.com/offtake-go/offtake/capacity/contract"
)

//go:embed starter.yaml.tmpl
var starter string

// starterValues fill the template.
type starterValues struct {
	Service  string
	Replicas int
	Caller   string
	Deadline time.Duration
	Upstream string
	Target   string
	Rate     contract.Rate
	Latency  time.Duration
	Limit    int
}

// initialize is offtake init; the name init is taken by the language.
func initialize(c *call, args []string) (int, error) {
	v := starterValues{Rate: 100, Deadline: 8 * time.Second, Latency: 200 * time.Millisecond}
	f := c.flags("init")
	f.StringVar(&v.Service, "service", "my-service", "name of the service")
	f.IntVar(&v.Replicas, "replicas", 3, "least number of replicas")
	f.StringVar(&v.Caller, "caller", "my-caller", "name of a service that calls it")
	durationFlag(f, &v.Deadline, "deadline", "`time` after which that caller gives up (default 8s)")
	f.StringVar(&v.Upstream, "upstream", "my-upstream", "name of a service that it calls")
	f.StringVar(&v.Target, "target", "https://my-upstream.example", "where that is")
	f.TextVar(&v.Rate, "rate", v.Rate, "peak rate to it, of all replicas together")
	durationFlag(f, &v.Latency, "latency", "its mean latency (default `200ms`)")
	f.IntVar(&v.Limit, "limit", 0, "connections it allows to all replicas together (default: none stated)")
	names, err := c.parse(f, args)
	if err != nil {
		return exitBadInput, err
	}
	path := "offtake.yaml"
	if len(names) > 1 {
		return exitBadInput, fmt.Errorf("offtake init: %d arguments; one file would do", len(names))
	}
	if len(names) == 1 {
		path = names[0]
	}
	text, err := v.render(path)
	if err != nil {
		return exitBadInput, err
	}
	if path == "-" {
		_, err := c.stdout.Write(text)
		return exitOK, err
	}
	return exitOK, c.writeNew(path, text)
}

// render fills the template, and reads the outcome as a service would, so that no
// flag makes a file that does not load.
func (v starterValues) render(path string) ([]byte, error) {
	t, err := template.New("starter").Parse(starter)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, v); err != nil {
		return nil, err
	}
	if _, err := contract.Parse(path, b.Bytes(), ""); err != nil {
		return nil, fmt.Errorf("offtake init: these flags make no contract:\n%w", err)
	}
	return b.Bytes(), nil
}

// writeNew writes a file that must not exist.
func (c *call) writeNew(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("offtake init: %s exists, and is never overwritten; another name would do", path)
	}
	if err != nil {
		return err
	}
	if _, err := f.Write(text); err != nil {
		return errors.Join(err, f.Close())
	}
	fmt.Fprintf(c.stderr, "offtake init: wrote %s; offtake plan shows the sizes that follow\n", path)
	return f.Close()
}
