package ot803

import (
	"errors"
	"net/http"

	"github.com/offtake-go/offtake"
	"github.com/offtake-go/offtake/admission"
	"github.com/offtake-go/offtake/httpclient"
)

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

func header(w http.ResponseWriter, c *httpclient.Client) {
	if _, err := c.Get("https://peer.example"); err != nil {
		w.WriteHeader(http.StatusServiceUnavailable) // want `OT803: .* with 503`
	}
}

func successFirst(w http.ResponseWriter, c *httpclient.Client) {
	resp, err := c.Get("https://peer.example")
	if err == nil {
		resp.Body.Close()
		return
	}
	http.Error(w, "no", http.StatusBadGateway) // want `OT803: .* with 502`
}

func otherwise(w http.ResponseWriter, c *httpclient.Client) {
	if resp, err := c.Get("https://peer.example"); err == nil {
		resp.Body.Close()
	} else {
		http.Error(w, "no", http.StatusBadGateway) // want `OT803: .* with 502`
	}
}

func unrelated(w http.ResponseWriter, c *httpclient.Client) {
	_, _ = c.Get("https://peer.example")
	http.Error(w, "closed for repairs", http.StatusServiceUnavailable)
}
