package httpclient

import (
	"net/http"

	"github.com/offtake-go/offtake/capacity"
)

type Options struct{ Name string }

type Client struct{ *http.Client }

func New(target string, plan capacity.Plan, opts *Options) (*Client, error) {
	return &Client{Client: &http.Client{}}, nil
}
