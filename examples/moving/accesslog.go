package moving

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/offtake-go/offtake/factory"
)

// Logged writes a line for each request, refused ones included, if it stands
// outside the door.
func Logged(next http.Handler, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began, noted := time.Now(), &noted{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(noted, r)
		log.LogAttrs(r.Context(), slog.LevelInfo, "request", slog.String("method", r.Method),
			slog.String("path", r.URL.Path), slog.Int("status", noted.status), slog.Duration("took", time.Since(began)))
	})
}

// noted keeps the status. Unwrap lets http.ResponseController through, and with it
// the door's bounds on slow clients; Flush is there for code that asks for it
// directly.
type noted struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (n *noted) WriteHeader(status int) {
	if status >= http.StatusOK { // what comes before is on the way to it
		n.status = status
	}
	n.ResponseWriter.WriteHeader(status)
}

// Flush implements http.Flusher.
func (n *noted) Flush() { _ = http.NewResponseController(n.ResponseWriter).Flush() }

// Unwrap is for http.ResponseController.
func (n *noted) Unwrap() http.ResponseWriter { return n.ResponseWriter }

// ServeLogged serves a service whose access log is outside its door: the factory
// has clients, gate and stop, and its handler, door included, is wrapped before it
// is served.
func ServeLogged(ctx context.Context, s *factory.Service, l net.Listener, app http.Handler, log *slog.Logger) error {
	server := &http.Server{Handler: Logged(s.Handler(app), log), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	return s.ServeOn(ctx, factory.Listener{Net: l, Server: logged{server}})
}

// logged is an http.Server as a factory.Server.
type logged struct{ *http.Server }

// Serve implements factory.Server.
func (l logged) Serve(on net.Listener) error {
	if err := l.Server.Serve(on); err != http.ErrServerClosed {
		return err
	}
	return nil
}

// Shutdown implements factory.Server.
func (l logged) Shutdown(ctx context.Context) error {
	err := l.Server.Shutdown(ctx)
	if err != nil {
		l.Server.Close()
	}
	return err
}
