package factory

import (
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
)

// controlHeader must be there, so that no page in somebody's browser can send the
// request: a form can't set it.
const controlHeader = "Offtake-Control"

// serveControl changes one thing:
//
//	?observe=card-processor&on=true   switch the observe mode of a client, or of the "door"
//	?reload                           read the file again
func (s *Service) serveControl(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get(controlHeader) == "" {
		http.Error(w, "set the header "+controlHeader+" to any value, to say that this is meant", http.StatusForbidden)
		return
	}
	query := r.URL.Query()
	var err error
	switch {
	case query.Has("observe"):
		err = s.observe(query.Get("observe"), query.Get("on"))
	case query.Has("reload"):
		err = s.Reload()
	default:
		err = fmt.Errorf("nothing asked for; ?observe=NAME&on=true, ?observe=NAME&on=false or ?reload would do")
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.options.Logger.LogAttrs(r.Context(), slog.LevelInfo, "controlled", slog.String("query", r.URL.RawQuery))
	fmt.Fprintln(w, "done")
}

// observe switches one limit between being applied and only counted.
func (s *Service) observe(name, on string) error {
	value, err := strconv.ParseBool(on)
	if err != nil {
		return fmt.Errorf("on=%q is neither true nor false", on)
	}
	if name == "door" && s.door != nil {
		s.door.Observe(value)
		return nil
	}
	c, ok := s.clients()[name]
	if !ok {
		return s.unknown(name)
	}
	c.Observe(value)
	return nil
}
