package b

import (
	"net/http"

	"ot601/a"
)

func call(u string) {
	a.New().Get(u) // want `OT601: a.New returns an http.Client without Timeout, used here for Client.Get: nothing bounds this call`
}

func variable(u string) {
	_, c := a.Pair()
	c.Get(u) // want `OT601: .*`
}

func bounded(u string) { a.Bounded().Get(u) }

func maybe(u string) { a.Maybe(true).Get(u) }

func configured(u string) { a.Configured().Get(u) }

func given(u string) { a.Given(nil).Get(u) }

func timeoutHere(u string) {
	c := a.New()
	c.Timeout = 1
	c.Get(u)
}

func returned() *http.Client { return a.New() }

func writer() {
	a.Insecure(http.DefaultClient) // want `OT104: Insecure sets Transport of what it is given, here http.DefaultClient`
}

func writerOfOwn() { a.Insecure(&http.Client{}) }

func reader() { a.Reads(http.DefaultClient) }

func withContext(req *http.Request) { a.New().Do(req) }

func handedOver(u string, configure func(*http.Client)) {
	c := a.New()
	configure(c)
	c.Get(u)
}

func loopback() { a.New().Get("http://localhost/healthz") }
