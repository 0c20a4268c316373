package a

import (
	"net/http"
	"time"
)

func New() *http.Client { return &http.Client{} } // want New:`unboundedClient\(0\)`

func Pair() (string, *http.Client) { // want Pair:`unboundedClient\(1\)`
	c := &http.Client{}
	return "", c
}

func Bounded() *http.Client { return &http.Client{Timeout: time.Second} }

func Maybe(slow bool) *http.Client {
	if slow {
		return &http.Client{}
	}
	return &http.Client{Timeout: time.Second}
}

func Configured() *http.Client {
	c := &http.Client{}
	c.Timeout = time.Second
	return c
}

func Given(c *http.Client) *http.Client { return c }

func Insecure(c *http.Client) { c.Transport = &http.Transport{} } // want Insecure:`writes\(0, Transport\)`

func Reads(c *http.Client) bool { return c.Timeout == 0 }
