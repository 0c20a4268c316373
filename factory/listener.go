package factory

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
)

// Listener is one address and what is served there. The zero value is
// http.DefaultServeMux on Options.Address.
type Listener struct {
	// Address is where to listen. The default is Options.Address.
	Address string

	// Net, if set, is a listener that stands already, in place of Address. It is
	// closed in any case.
	Net net.Listener

	// Handler takes requests over HTTP, behind the door: see [Service.Handler]. The
	// default is http.DefaultServeMux, or nobody if there is a Server.
	Handler http.Handler

	// Server serves another protocol: a *grpcfactory.Server. The default is none.
	//
	// With Handler beside it both are on one port: connections that speak HTTP/2 are
	// the server's, those that speak HTTP/1.1 the handler's. A connection shows it by
	// its first bytes, or with TLS by what was agreed on (ALPN). grpc-go can also be
	// an http.Handler, which needs no such rule; but that way of serving is
	// experimental, and lacks its limits and its keepalive. What speaks HTTP/2 and is
	// not gRPC, as browsers do over TLS, needs a port of its own.
	Server Server

	// TLS, if set, has the connections encrypted. Its NextProtos are set here. Its
	// GetCertificate may be that of a [Certificate]. A handler of gRPC does not see
	// the caller's certificate; if it must, leave TLS nil and give the server its
	// grpc.Creds.
	TLS *tls.Config
}

// Server serves a listener in another protocol than HTTP. Implement it for a
// protocol of your own.
type Server interface {
	// Serve serves until Shutdown, and then returns nil.
	Serve(l net.Listener) error

	// Shutdown takes nothing new, lets what runs finish, and ends it when ctx ends;
	// it then returns an error that wraps context.Cause(ctx). It is called once or
	// more often.
	Shutdown(ctx context.Context) error
}

// serving is something that serves, with its listener.
type serving interface {
	serve() error
	shutdown(ctx context.Context) error
}

// foreign is a Server on its listener.
type foreign struct {
	Server
	listener net.Listener
}

func (f *foreign) serve() error {
	if err := f.Serve(f.listener); err != nil {
		return fmt.Errorf("factory: %v: %w", f.listener.Addr(), err)
	}
	return nil
}

func (f *foreign) shutdown(ctx context.Context) error { return f.Shutdown(ctx) }

// listen opens all listeners, or none.
func (s *Service) listen(ctx context.Context, on []Listener) (all []serving, err error) {
	var open []net.Listener
	defer func() {
		if err != nil {
			for _, l := range open {
				l.Close()
			}
		}
	}()
	for _, l := range on { // those that stand are ours to close from here on
		if l.Net != nil {
			open = append(open, l.Net)
		}
	}
	add := func(field, address string) (net.Listener, error) {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
		if err != nil {
			return nil, fmt.Errorf("factory: %s: %w", field, err)
		}
		open = append(open, l)
		return l, nil
	}
	for i, l := range on {
		if l.Net == nil {
			field := fmt.Sprintf("Listener %d", i)
			if l.Address == "" {
				field, l.Address = "Options.Address", s.options.Address
			}
			if l.Net, err = add(field, l.Address); err != nil {
				return nil, err
			}
		}
		all = append(all, s.serving(l)...)
	}
	if s.options.Admin != "" {
		admin, err := add("Options.Admin", s.options.Admin)
		if err != nil {
			return nil, err
		}
		all = append(all, s.newServer(admin, s.scraped(), nil))
	}
	if s.options.Debug != NoDebug {
		stated := s.options.Debug != ""
		l, err := add("Options.Debug", cmp.Or(s.options.Debug, defaultDebug))
		switch {
		case err == nil:
			all = append(all, s.newServer(l, s.AdminHandler(), nil))
		case stated:
			return nil, err
		default: // two services on one machine; the second goes on without
			s.options.Logger.LogAttrs(ctx, slog.LevelWarn, "the debug page is not served", slog.Any("error", err))
		}
	}
	return all, nil
}

// serving is who serves a listener: one, or two and who tells them apart.
func (s *Service) serving(l Listener) []serving {
	if l.Server == nil {
		return []serving{s.newServer(l.Net, s.Handler(l.Handler), l.TLS)}
	}
	if l.Handler == nil {
		if l.TLS != nil {
			l.Net = tls.NewListener(l.Net, speaking(l.TLS, "h2"))
		}
		return []serving{&foreign{l.Server, l.Net}}
	}
	if l.TLS != nil {
		l.TLS = speaking(l.TLS, "h2", "http/1.1")
	}
	both := newSplit(l.Net, l.TLS, s.options.Inbound.HeaderTime)
	return []serving{both, &foreign{l.Server, both.http2}, s.newServer(both.http1, s.Handler(l.Handler), nil)}
}

// speaking is a configuration that agrees on certain protocols.
func speaking(c *tls.Config, protocols ...string) *tls.Config {
	c = c.Clone()
	c.NextProtos = slices.Clone(protocols)
	return c
}

// checkListeners returns all mistakes.
func checkListeners(on []Listener) error {
	var errs []error
	if len(on) == 0 {
		errs = append(errs, errors.New("factory: no Listener; the zero one would do"))
	}
	for i, l := range on {
		if l.Net != nil && l.Address != "" {
			errs = append(errs, fmt.Errorf("factory: Listener %d: it has both Net and Address %s; one would do", i, l.Address))
		}
		if t := l.TLS; t != nil && len(t.Certificates) == 0 && t.GetCertificate == nil && t.GetConfigForClient == nil {
			errs = append(errs, fmt.Errorf("factory: Listener %d: TLS has no certificate; the Get of a factory.Certificate as GetCertificate would do", i))
		}
	}
	return errors.Join(errs...)
}
