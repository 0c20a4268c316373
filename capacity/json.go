package capacity

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"time"
)

// duration is a time.Duration that JSON writes as "80ms". A bare number is
// refused: nobody can tell whether it was meant in seconds.
type duration time.Duration

func (d duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

func (d *duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	*d = duration(v)
	return err
}

// plain has Plan's fields without its methods, so that encoding them does not
// come back here.
type plain Plan

// planJSON hides the times of the embedded plan behind fields of the same name
// that carry their unit.
type planJSON struct {
	plain
	Wait     duration `json:"wait,omitzero"`
	Deadline duration `json:"deadline,omitzero"`
	Attempt  duration `json:"attempt,omitzero"`
	Once     duration `json:"once,omitzero"`
	BodyIdle duration `json:"bodyIdle,omitzero"`
	Latency  duration `json:"latency,omitzero"`
}

// MarshalJSON writes the plan with its times as "80ms" and zero fields left out.
// It fails if a field is NaN or infinite.
func (p Plan) MarshalJSON() ([]byte, error) {
	return json.Marshal(planJSON{
		plain: plain(p), Wait: duration(p.Wait), Deadline: duration(p.Deadline),
		Attempt: duration(p.Attempt), Once: duration(p.Once), BodyIdle: duration(p.BodyIdle), Latency: duration(p.Latency),
	})
}

// UnmarshalJSON reads what MarshalJSON writes. It refuses unknown fields, and
// times without a unit, and names all of them at once. It replaces the whole plan,
// and leaves it as it was when it fails.
func (p *Plan) UnmarshalJSON(b []byte) error {
	var v planJSON
	if err := v.decode(b); err != nil {
		return explainJSON(b, err)
	}
	*p = Plan(v.plain)
	p.Wait, p.Deadline = time.Duration(v.Wait), time.Duration(v.Deadline)
	p.Attempt, p.Once, p.BodyIdle = time.Duration(v.Attempt), time.Duration(v.Once), time.Duration(v.BodyIdle)
	p.Latency = time.Duration(v.Latency)
	return nil
}

func (v *planJSON) decode(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("more than one JSON value")
	}
	return nil
}

// explainJSON names each field that does not decode, with its value. The decoder
// stops at the first, and speaks of Go's types.
func explainJSON(b []byte, err error) error {
	var fields map[string]json.RawMessage
	if json.Unmarshal(b, &fields) != nil {
		return fmt.Errorf("capacity: plan: %w", err)
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if problem := problemOf(name, fields[name]); problem != "" {
			errs = append(errs, fmt.Errorf("capacity: plan: %s: %s", name, problem))
		}
	}
	if len(errs) == 0 { // of two with one name the map has the last
		return fmt.Errorf("capacity: plan: %w", err)
	}
	return errors.Join(errs...)
}

// problemOf says what is the matter with one field and what would do, or nothing.
func problemOf(name string, value json.RawMessage) string {
	alone, err := json.Marshal(map[string]json.RawMessage{name: value})
	if err != nil {
		return err.Error()
	}
	err = json.Unmarshal(alone, new(planJSON))
	mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case err == nil && new(planJSON).decode(alone) == nil:
		return ""
	case err == nil:
		return "there is no such field; inFlight, queue or deadline would do"
	case ok && mismatch.Type.Kind() == reflect.Int:
		return fmt.Sprintf("%s is no whole number, or too large; 24 would do", value)
	case ok && mismatch.Type.Kind() == reflect.Float64:
		return fmt.Sprintf("%s is no number, or too large; 0.1 would do", value)
	}
	return fmt.Sprintf("%s is no time with its unit; \"80ms\" would do", value)
}
