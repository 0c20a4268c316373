package retryablehttp

import "net/http"

type Client struct{ HTTPClient *http.Client }

func NewClient() *Client { return &Client{} }

func Unmarshal() {}
