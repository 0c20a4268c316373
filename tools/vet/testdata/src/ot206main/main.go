// Command ot206main makes one call and exits, and serves.
package main

import (
	"net/http"
	"time"
)

func main() {
	once("https://peer.example")
	http.HandleFunc("/", handle)
}

func once(u string) {
	c := &http.Client{Transport: &http.Transport{}, Timeout: time.Second}
	c.Get(u)
}

func handle(w http.ResponseWriter, r *http.Request) {
	c := &http.Client{Transport: &http.Transport{}, Timeout: time.Second} // want `OT206: .*handle.*`
	c.Get("https://peer.example")
}
