package mocks

import "net/http"

func get(u string) { http.Get(u) }
