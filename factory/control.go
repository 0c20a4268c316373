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
//	?upstream=card-processor&observe=true   switch the observe mode of a client
//	?door&observe=true                      switch that of the door
//	?reload                                 read the file again
func (s *Service) serveControl(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get(controlHeader) == "" {
		http.Error(w, "set the header "+controlHeader+" to any value, to say that this is meant", http.StatusForbidden)
		return
	}
	query := r.URL.Query()
	var err error
	switch {
	case query.Has("door"):
		err = s.observeDoor(query.Get("observe"))
	case query.Has("upstream"):
		err = s.observeUpstream(query.Get("upstream"), query.Get("observe"))
	case query.Has("reload"):
		err = s.Reload()
	default:
		err = fmt.Errorf("nothing asked for; ?upstream=NAME&observe=true, ?door&observe=false or ?reload would do")
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.options.Logger.LogAttrs(r.Context(), slog.LevelInfo, "controlled", slog.String("query", r.URL.RawQuery))
	fmt.Fprintln(w, "done")
}

// observeDoor switches the door's limits between being applied and only counted.
func (s *Service) observeDoor(observe string) error {
	on, err := parseObserve(observe)
	if err != nil {
		return err
	}
	if s.door == nil {
		return fmt.Errorf("no door in %s", s.path)
	}
	s.door.Observe(on)
	return nil
}

// observeUpstream does it with a client's.
func (s *Service) observeUpstream(name, observe string) error {
	on, err := parseObserve(observe)
	if err != nil {
		return err
	}
	c, ok := s.clients[name]
	if !ok {
		return s.unknown(name)
	}
	c.Observe(on)
	return nil
}

// observe does it with all.
func (s *Service) observe(on bool) {
	if s.door != nil {
		s.door.Observe(on)
	}
	for _, c := range s.clients {
		c.Observe(on)
	}
}

func parseObserve(value string) (bool, error) {
	on, err := strconv.ParseBool(value)
	if err != nil {
		return false, fmt.Errorf("observe=%q is neither true nor false", value)
	}
	return on, nil
}
