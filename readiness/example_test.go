package readiness_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/offtake-go/offtake/readiness"
)

func Example() {
	var ready readiness.Gate
	attempt := 0
	ready.Add("card-processor", func(context.Context) error { // a client's Warm, in a service
		if attempt++; attempt < 3 {
			return errors.New("connection refused")
		}
		return nil
	})

	mux := http.NewServeMux()
	mux.Handle("GET /readyz", &ready)
	mux.Handle("GET /livez", readiness.Live())
	probe := func(path string) {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		fmt.Print(path, " ", w.Code, " ", w.Body)
	}

	probe("/readyz")
	if err := ready.Run(context.Background()); err != nil { // in a goroutine, in a service
		fmt.Println(err)
	}
	probe("/readyz")
	ready.Drain()
	probe("/readyz")
	probe("/livez")
	fmt.Println("attempts:", ready.Stats().Checks[0].Attempts)
	// Output:
	// /readyz 503 warming
	// /readyz 200 ready
	// /readyz 503 draining
	// /livez 200 live
	// attempts: 3
}
