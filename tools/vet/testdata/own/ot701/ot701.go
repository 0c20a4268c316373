package ot701

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/offtake-go/offtake/httpclient"
)

const peer = "https://peer.example"

func Ended(ctx context.Context, c *httpclient.Client) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", peer, nil)
	if err != nil {
		return nil, err
	}
	return c.Do(req) // want `OT701: `
}

func Read(ctx context.Context, c *httpclient.Client) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", peer, nil)
	if err != nil {
		return nil, err
	}
	resp, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(io.LimitReader(resp.Body, 1<<20))
}
