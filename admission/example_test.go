package admission_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/offtake-go/offtake"
	"github.com/offtake-go/offtake/admission"
	"github.com/offtake-go/offtake/capacity"
)

func ExampleDoor_Handler() {
	door, err := admission.New(capacity.Plan{InFlight: 1, Queue: capacity.NoQueue}, &admission.Options{Name: "checkout"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer door.Close()

	var app http.Handler
	app = door.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/second" {
			fmt.Fprintln(w, "served")
			return
		}
		second := httptest.NewRecorder() // while this one has the only place
		app.ServeHTTP(second, httptest.NewRequest("GET", "/second", nil))
		fmt.Println(second.Code, "Retry-After:", second.Header().Get("Retry-After"))
	}))
	app.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/first", nil))

	w := httptest.NewRecorder()
	app.ServeHTTP(w, httptest.NewRequest("GET", "/second", nil))
	fmt.Println(w.Code)
	// Output:
	// 429 Retry-After: 1
	// 200
}

func ExampleDoor_Acquire() {
	door, err := admission.New(capacity.Plan{InFlight: 2, Queue: capacity.NoQueue}, &admission.Options{Name: "settlement"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer door.Close()

	work := func(message string) {
		place, err := door.Acquire(context.Background())
		if errors.Is(err, offtake.ErrBusy) {
			fmt.Println(message, "goes back to the queue")
			return
		}
		defer place.Release()
		fmt.Println(message, "is worked on")
	}
	work("one")
	work("two")
	first, _ := door.Acquire(context.Background())
	second, _ := door.Acquire(context.Background())
	work("three")
	first.Release()
	second.Release()
	// Output:
	// one is worked on
	// two is worked on
	// three goes back to the queue
}

func ExampleWriteError() {
	w := httptest.NewRecorder()
	admission.WriteError(w, fmt.Errorf("pay: %w", &offtake.Error{Upstream: "card-processor", Err: offtake.ErrBusy}))
	fmt.Println(w.Code, w.Header().Get("Retry-After"))
	fmt.Print(w.Body)

	w = httptest.NewRecorder()
	admission.WriteError(w, context.DeadlineExceeded)
	fmt.Println(w.Code)
	// Output:
	// 429 1
	// {"type":"about:blank","title":"Too Many Requests","status":429,"detail":"The service is busy. Try again later."}
	// 504
}
