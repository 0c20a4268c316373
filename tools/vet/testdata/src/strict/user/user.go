package user

import (
	"net/http"

	"strict/clients"
)

var own = http.Client{Timeout: 1} // want `OT201: http.Client constructed outside the client factory \(use strict/clients\)`

var made = clients.New()
