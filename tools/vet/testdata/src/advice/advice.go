package advice

import (
	"errors"
	"net/http"

	"github.com/offtake-go/offtake"
	"github.com/offtake-go/offtake/admission"
	"github.com/offtake-go/offtake/httpclient"
)

const size = 50

func pools(n int) {
	_ = &http.Transport{MaxConnsPerHost: n, MaxIdleConns: 100} // want `OT203: .*` `OT204: MaxIdleConns is 100, but MaxIdleConnsPerHost stays 2` `OT207: MaxIdleConns is the number 100`
	_ = &http.Transport{}                                      // want `OT203: .*` `OT205: MaxConnsPerHost is 0, no limit`
	_ = &http.Transport{MaxConnsPerHost: size}                 // want `OT203: .*` `OT207: MaxConnsPerHost is the number 50`
}

func derived(n int) {
	_ = &http.Transport{MaxConnsPerHost: n, MaxIdleConns: n, MaxIdleConnsPerHost: n} // want `OT203: .*`
	t := &http.Transport{}                                                           // want `OT203: .*`
	t.MaxConnsPerHost = n
	t.MaxIdleConnsPerHost = n
	_ = &http.Transport{MaxConnsPerHost: n, MaxIdleConns: 2 * n} // want `OT203: .*`
}

func broken(w http.ResponseWriter, r *http.Request, c *httpclient.Client) {
	resp, err := c.Get("https://peer.example")
	if err != nil {
		http.Error(w, "peer failed", http.StatusBadGateway) // want `OT803: an error of offtake's client is answered with 502`
		return
	}
	resp.Body.Close()
}

func asked(w http.ResponseWriter, r *http.Request, c *httpclient.Client) {
	_, err := c.Get("https://peer.example")
	if errors.Is(err, offtake.ErrBusy) {
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	if err != nil {
		http.Error(w, "peer failed", http.StatusBadGateway)
	}
}

func handedOn(w http.ResponseWriter, r *http.Request, c *httpclient.Client) {
	if _, err := c.Get("https://peer.example"); err != nil {
		admission.WriteError(w, err)
	}
}

func returned(c *httpclient.Client) error {
	_, err := c.Get("https://peer.example")
	return err
}

func badRequest(w http.ResponseWriter, c *httpclient.Client) {
	if _, err := c.Get("https://peer.example"); err != nil {
		http.Error(w, "no", http.StatusBadRequest)
	}
}

func standard(w http.ResponseWriter, c *http.Client) {
	if _, err := c.Get("https://peer.example"); err != nil {
		http.Error(w, "no", http.StatusBadGateway)
	}
}
