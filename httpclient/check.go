package httpclient

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/offtake-go/offtake/capacity"
)

// check returns the mistakes that only options, plan and target together make.
func (o *Options) check(p capacity.Plan, scheme string) error {
	var errs []error
	switch {
	case scheme == "https" && !o.Protocols.HTTP1() && !o.Protocols.HTTP2():
		errs = append(errs, errors.New("Options.Protocols: nothing that an https target speaks; set HTTP1, HTTP2 or both"))
	case scheme == "http" && !o.Protocols.HTTP1() && !o.Protocols.UnencryptedHTTP2():
		errs = append(errs, errors.New("Options.Protocols: nothing that an http target speaks; set HTTP1, or UnencryptedHTTP2 alone"))
	case o.wantsStreams(scheme) && o.Base != nil && o.Base.TLSNextProto != nil && len(o.Base.TLSNextProto) == 0:
		errs = append(errs, errors.New("Options.Base: TLSNextProto is empty, which turns HTTP/2 off, and Options.Protocols has it; leave one of them nil"))
	case o.wantsStreams(scheme) && http2Off(os.Getenv("GODEBUG")):
		errs = append(errs, errors.New("Options.Protocols: has HTTP/2, which GODEBUG=http2client=0 turns off in net/http; leave one of them out"))
	case p.Streams > 1 && !o.wantsStreams(scheme):
		errs = append(errs, fmt.Errorf("Options.Protocols: HTTP/1.1 has one request on a connection at a time, and Plan.Streams is %d; set HTTP/2, or leave Streams 0", p.Streams))
	}
	if o.Connect > p.Attempt && o.Connect != defaultConnect && p.Attempt > 0 {
		errs = append(errs, fmt.Errorf("Options.Connect: %v is more than the Plan.Attempt of %v: every call would have given up; %v would do, or 0 for %v", o.Connect, p.Attempt, p.Attempt, defaultConnect))
	}
	return errors.Join(errs...)
}

// checkBase returns the mistakes in a base transport.
func checkBase(base *http.Transport) error {
	if base == nil {
		return nil
	}
	var errs []error
	if base.DialTLSContext != nil || base.DialTLS != nil { //nolint:staticcheck // deprecated, and checked for that very reason
		errs = append(errs, errors.New("Options.Base: DialTLSContext and DialTLS can't be used: the client must see its TLS connections; use TLSClientConfig"))
	}
	if base.DisableKeepAlives {
		errs = append(errs, errors.New("Options.Base: DisableKeepAlives can't be used: a place is a connection that is kept; leave it false"))
	}
	for protocol := range base.TLSNextProto {
		if protocol != "h2" && protocol != "unencrypted_http2" { // what net/http itself puts there
			errs = append(errs, fmt.Errorf("Options.Base: TLSNextProto has %q, which the client's own connections can't speak; leave it nil", protocol))
		}
	}
	if c := base.TLSClientConfig; c != nil && c.MinVersion != 0 && c.MinVersion < tls.VersionTLS12 {
		errs = append(errs, fmt.Errorf("Options.Base: TLSClientConfig.MinVersion is %s; the least is TLS 1.2 (RFC 8996)", tls.VersionName(c.MinVersion)))
	}
	return errors.Join(errs...)
}

// http2Off says whether a setting of GODEBUG turns HTTP/2 off; the last one holds.
func http2Off(settings string) (off bool) {
	for setting := range strings.SplitSeq(settings, ",") {
		if name, value, _ := strings.Cut(setting, "="); name == "http2client" {
			off = value == "0"
		}
	}
	return off
}

// wantsStreams says whether HTTP/2 may be spoken at all. Without TLS nothing is
// negotiated: only a client that can't do otherwise speaks it.
func (o *Options) wantsStreams(scheme string) bool {
	if scheme == "https" {
		return o.Protocols.HTTP2()
	}
	return o.Protocols.UnencryptedHTTP2() && !o.Protocols.HTTP1()
}
