package contract

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// variable matches ${NAME} or ${NAME:-default} in a target.
func variable() *regexp.Regexp {
	return regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^{}$]*))?\}`)
}

// hasVariable says whether a target still has a variable without a default: what it
// is is known only where the variable is set.
func hasVariable(target string) bool { return variable().MatchString(target) }

// defaults puts the defaults of all targets in, and keeps what the file says for
// [Contract.Target]. It is tempting to expand the whole file before it is parsed.
// But then a value could add keys, and no message would have the right line.
func (c *Contract) defaults(found *mistakes) {
	c.targets = make(map[string]string)
	for _, name := range slices.Sorted(maps.Keys(c.Upstreams)) {
		u, path := c.Upstreams[name], "upstreams."+name+".target"
		if strings.Contains(variable().ReplaceAllString(u.Target, ""), "${") {
			found.add(&Mistake{c.Position(path), path, fmt.Sprintf("%q has a ${ that is no variable; ${CARD_ADDR} would do, or ${CARD_ADDR:-https://card.example}", brief(u.Target))})
		}
		c.targets[name] = u.Target
		u.Target = variable().ReplaceAllStringFunc(u.Target, func(s string) string {
			if m := variable().FindStringSubmatch(s); strings.Contains(s, ":-") {
				return m[2]
			}
			return s
		})
		c.Upstreams[name] = u
	}
}

// Target returns where an upstream is, with the variables of its target looked up
// as os.LookupEnv does. One that is set to "" counts as not set, and has its default.
// The error names every variable that has neither.
//
// Upstream.Target has the defaults alone, so that the same file gives the same plan
// everywhere.
func (c *Contract) Target(upstream string, lookup func(string) (string, bool)) (string, error) {
	var errs []error
	target := variable().ReplaceAllStringFunc(c.targets[upstream], func(s string) string {
		m := variable().FindStringSubmatch(s)
		if value, ok := lookup(m[1]); ok && value != "" {
			return value
		}
		if !strings.Contains(s, ":-") {
			errs = append(errs, fmt.Errorf("the variable %s is not set, and has no default; set it, or write ${%s:-https://card.example} with a default", m[1], m[1]))
		}
		return m[2]
	})
	if len(errs) == 0 {
		u := c.Upstreams[upstream]
		u.Target = target
		if problem := targetProblem(u); problem != "" {
			errs = append(errs, errors.New(problem))
		}
	}
	if err := errors.Join(errs...); err != nil {
		path := "upstreams." + upstream + ".target"
		return "", fmt.Errorf("%v: %s: %w", c.Position(path), path, err)
	}
	return target, nil
}
