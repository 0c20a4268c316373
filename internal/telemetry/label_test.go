package telemetry

import "testing"

func TestEveryLabelHasItsName(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{OfMethod("").String(), "GET"},
		{OfMethod("CONNECT").String(), "CONNECT"},
		{OfMethod("BREW").String(), "other"},
		{OfMethod("unary").String(), "other"},
		{Unary.String(), "unary"},
		{BidiStream.String(), "bidi_stream"},
		{OfStatus(204).String(), "2xx"},
		{OfStatus(999).String(), "protocol"},
		{ProxyBusy.String(), "proxy_busy"},
		{OfStatus(429).String(), "429"},
		{OfStatus(404).String(), "4xx"},
		{OfStatus(503).String(), "5xx"},
		{OfCode(0).String(), "OK"},
		{OfCode(1).String(), "CANCELLED"},
		{OfCode(8).String(), "RESOURCE_EXHAUSTED"},
		{OfCode(16).String(), "UNAUTHENTICATED"},
		{OfCode(17).String(), "UNKNOWN"},
		{RetryProxyBusy.String(), "proxy_busy"},
	} {
		if tt.got != tt.want {
			t.Errorf("label = %q, want %q", tt.got, tt.want)
		}
	}
}

func TestBusyIsNoFailureOfTheUpstream(t *testing.T) {
	for _, o := range []Outcome{Busy, Canceled, ProxyBusy, OfStatus(429), OfCode(8), OfCode(5), TooLarge} {
		if o.Failed() {
			t.Errorf("%v.Failed() = true, want false", o)
		}
	}
	for _, o := range []Outcome{OfStatus(503), OfCode(4), OfCode(14), Timeout} {
		if !o.Failed() {
			t.Errorf("%v.Failed() = false, want true", o)
		}
	}
}
