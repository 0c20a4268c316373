package debug

import (
	"mime"
	"strconv"
	"strings"
)

// accepted is the form that the Accept headers prefer among those there are, or
// "" for plain text: nobody asked for anything else by name.
func accepted(headers []string) string {
	best, form := 0.0, ""
	for media := range strings.SplitSeq(strings.Join(headers, ","), ",") {
		name, params, err := mime.ParseMediaType(media)
		if err != nil {
			continue
		}
		q := 1.0
		if text, ok := params["q"]; ok {
			if q, err = strconv.ParseFloat(text, 64); err != nil {
				continue
			}
		}
		if !(q > best) { // NaN is no preference
			continue
		}
		switch name {
		case "text/html", "application/json", "text/event-stream":
			best, form = q, name
		case "text/plain":
			best, form = q, ""
		}
	}
	return form
}
