package ot101

import "net/http"

func inTest(u string) { http.Get(u) }
