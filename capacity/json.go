package capacity

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
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
	BodyIdle duration `json:"bodyIdle,omitzero"`
}

// MarshalJSON writes the plan with its times as "80ms" and zero fields left out.
// It fails if a field is NaN or infinite.
func (p Plan) MarshalJSON() ([]byte, error) {
	return json.Marshal(planJSON{
		plain: plain(p), Wait: duration(p.Wait), Deadline: duration(p.Deadline),
		Attempt: duration(p.Attempt), BodyIdle: duration(p.BodyIdle),
	})
}

// UnmarshalJSON reads what MarshalJSON writes. It refuses unknown fields, and
// times without a unit. It replaces the whole plan, and leaves it as it was when
// it fails.
func (p *Plan) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	var v planJSON
	if err := d.Decode(&v); err != nil {
		return fmt.Errorf("capacity: plan: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("capacity: plan: more than one JSON value")
	}
	*p = Plan(v.plain)
	p.Wait, p.Deadline = time.Duration(v.Wait), time.Duration(v.Deadline)
	p.Attempt, p.BodyIdle = time.Duration(v.Attempt), time.Duration(v.BodyIdle)
	return nil
}
