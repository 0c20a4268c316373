package fixes

import (
	"context"
	"net/http"

	"google.golang.org/grpc"
)

type reply struct{}

type peer interface {
	Get(ctx context.Context, in *reply, opts ...grpc.CallOption) (*reply, error)
}

func dropped(ctx context.Context, c *http.Client, u string) {
	req, _ := http.NewRequest(http.MethodGet, u, nil) // want `OT301`
	c.Do(req)
}

func ofRequest(w http.ResponseWriter, r *http.Request, c *http.Client) {
	req, _ := http.NewRequest("GET", "https://peer.example", nil) // want `OT301`
	c.Do(req)
}

func background(ctx context.Context, c *http.Client, u string) {
	req, _ := http.NewRequestWithContext(context.Background(), "GET", u, nil) // want `OT302`
	c.Do(req)
}

func rpc(ctx context.Context, p peer) {
	p.Get(context.TODO(), &reply{}) // want `OT402`
}

// Which of the two is for the author to say.
func two(ctx, other context.Context, c *http.Client, u string) {
	req, _ := http.NewRequest("GET", u, nil) // want `OT301`
	c.Do(req)
}

func unused() {
	//offtake:allow OT201 -- was needed once upon a time // want `OT002`
	_ = 0
}
