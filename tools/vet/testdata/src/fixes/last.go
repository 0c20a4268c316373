package fixes

import (
	"context"
	"net/http"
)

// The import of context would have no use after a fix, so there is none.
func lastUse(r *http.Request, c *http.Client, u string) {
	req, _ := http.NewRequestWithContext(context.Background(), "GET", u, nil) // want `OT302`
	c.Do(req)
}
