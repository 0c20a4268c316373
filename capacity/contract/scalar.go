package contract

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

func (d *decoder) scalar(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.ScalarNode {
		d.mistake(n, path, "it is %s; a single value would do", kindOf(n))
		return
	}
	if err := setScalar(n, v); err != nil {
		d.mistake(n, path, "%v", err)
	}
}

// setScalar parses the text of a node into v. Its errors end in a value that would
// do.
func setScalar(n *yaml.Node, v reflect.Value) error {
	s := n.Value
	if len(s) > 1000 {
		return fmt.Errorf("it has %d characters; 1000 would do", len(s))
	}
	if n.Tag == "!!str" && decimal(s) && isPlainNumber(v) {
		if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle|yaml.TaggedStyle) == 0 {
			return fmt.Errorf("%q is more than a number can be; 10 would do", s) // so large that YAML takes it for text
		}
		return fmt.Errorf("%q is text; the number without quotes would do", s)
	}
	switch p := v.Addr().Interface().(type) {
	case encoding.TextUnmarshaler:
		return p.UnmarshalText([]byte(s))
	case *time.Duration:
		return setDuration(s, p)
	case *bool:
		if s != "true" && s != "false" || n.Tag != "!!bool" {
			return fmt.Errorf("%q is neither true nor false", s)
		}
		*p = s == "true"
	case *int:
		x, err := strconv.Atoi(s)
		if err != nil || x < 0 || x > maxNumber {
			return fmt.Errorf("%q is not a whole number in [0, %d]; 10 would do", s, maxNumber)
		}
		*p = x
	case *float64:
		x, err := strconv.ParseFloat(s, 64)
		if err != nil || !decimal(s) {
			return fmt.Errorf("%q is not a number; 1.5 would do", s)
		}
		*p = x
	case interface{ words() []string }:
		return setWord(s, v, p.words())
	case *string:
		if n.Tag != "!!str" {
			return fmt.Errorf("%s is not text; %q would do", s, s)
		}
		*p = s
	}
	return nil
}

// Bounds against slips and overflow; package capacity has tighter ones for what it
// sizes.
const (
	maxDuration = 24 * time.Hour
	maxNumber   = 1_000_000_000
)

func setDuration(s string, p *time.Duration) error {
	if _, err := strconv.ParseFloat(s, 64); err == nil && decimal(s) {
		return fmt.Errorf("%q has no unit; %ss would do, or %sms", s, s, s)
	}
	v, err := time.ParseDuration(s)
	switch {
	case err != nil || v < 0:
		return fmt.Errorf("%q is not a time; 500ms would do, or 8s", s)
	case v > maxDuration:
		return fmt.Errorf("%q is longer than a day; %v would do if milliseconds were meant", s, min(v/1000, maxDuration))
	}
	*p = v
	return nil
}

func setWord(s string, v reflect.Value, words []string) error {
	if slices.Contains(words, s) {
		v.SetString(s)
		return nil
	}
	if w := Nearest(s, words); w != "" {
		return fmt.Errorf("%q is not known; did you mean %s", s, w)
	}
	return fmt.Errorf("%q is not known; one of %s would do", s, strings.Join(words, ", "))
}

// isPlainNumber reports whether v is a number without a unit, which stands without
// quotes.
func isPlainNumber(v reflect.Value) bool {
	switch v.Interface().(type) {
	case int, float64:
		return true
	}
	return false
}
