package check

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// ignore drops the findings that the contract accepts for a while, and adds one for
// each ignore that has expired or covers nothing. Those are not dropped by another
// ignore: it would have to be looked at in turn.
func (w *World) ignore(r *Report) {
	var own []Finding
	for i, ig := range w.Contract.Ignore {
		ref := w.at(fmt.Sprintf("ignore[%d]", i))
		// It holds to the end of its last day.
		if !w.now.Before(ig.Expires.AddDate(0, 0, 1)) {
			own = append(own, aboutInput(expiredIgnore, ig.Rule, ref, fmt.Sprintf("%s was accepted until %v: %s", ig.Rule, ig.Expires, ig.Reason), "the finding mended, or a later day"))
			continue
		}
		before := len(r.Findings)
		r.Findings = slices.DeleteFunc(r.Findings, func(f Finding) bool {
			return strings.EqualFold(f.Rule, ig.Rule) && (ig.Subject == "" || ig.Subject == f.Subject)
		})
		r.Ignored += before - len(r.Findings)
		if before == len(r.Findings) {
			own = append(own, aboutInput(unusedIgnore, ig.Rule, ref, fmt.Sprintf("%s does not fire%s", ig.Rule, about(ig.Subject)), "take it out"))
		}
	}
	r.Findings = append(r.Findings, own...)
}

func about(subject string) string {
	if subject == "" {
		return ""
	}
	return " for " + subject
}

// A Baseline lists findings that were there when the check was adopted. They are
// not reported, so that a new one is seen. Findings about an ignore are never among
// them: it would hide that what was accepted for a while is so no more, and to take
// out an entry costs nothing. The zero value is empty.
type Baseline struct {
	Findings []Known `json:"findings"`
}

// Known is a finding without its numbers, which change.
type Known struct {
	Rule    string `json:"rule"`
	Subject string `json:"subject"`
}

// BaselineOf lists the findings of a report.
func BaselineOf(r *Report) Baseline {
	b := Baseline{Findings: []Known{}}
	for _, f := range r.Findings {
		if k := (Known{f.Rule, f.Subject}); !aboutIgnore(f) && !slices.Contains(b.Findings, k) {
			b.Findings = append(b.Findings, k)
		}
	}
	return b
}

// ParseBaseline reads a baseline file.
func ParseBaseline(data []byte) (Baseline, error) {
	var b Baseline
	if err := json.Unmarshal(data, &b); err != nil {
		return Baseline{}, fmt.Errorf("check: baseline: %w", err)
	}
	return b, nil
}

// drop takes out what is known, and says of how much that is no more: it would hide
// the same finding when it comes back.
func (b Baseline) drop(r *Report) {
	gone := 0
	for _, k := range b.Findings {
		if !slices.ContainsFunc(r.Findings, func(f Finding) bool { return k == Known{f.Rule, f.Subject} }) {
			gone++
		}
	}
	if gone > 0 {
		r.Notes = append(r.Notes, say("the baseline has %s of which nothing is left, and would hide it if it came back; -write-baseline writes it anew", counted(gone, "finding")))
	}
	before := len(r.Findings)
	r.Findings = slices.DeleteFunc(r.Findings, func(f Finding) bool {
		return !aboutIgnore(f) && slices.Contains(b.Findings, Known{f.Rule, f.Subject})
	})
	r.Ignored += before - len(r.Findings)
}

func aboutIgnore(f Finding) bool { return f.Rule == expiredIgnore || f.Rule == unusedIgnore }
