package clients

import (
	"net/http"
	"time"
)

func New() *http.Client { return &http.Client{} }

func Bounded() *http.Client { return &http.Client{Timeout: time.Second} }
