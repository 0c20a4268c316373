package factory_test

import (
	"context"
	"io"
	"log"
	"net/http"

	"github.com/offtake-go/offtake/admission"
	"github.com/offtake-go/offtake/factory"
)

// A whole service: clients, door, readiness, metrics, debug page, and a stop that
// loses nothing.
func Example() {
	service, err := factory.Open("offtake.yaml", &factory.Options{Environment: "production"})
	if err != nil {
		log.Fatal(err) // every mistake of the file, with its line
	}
	processor, err := service.HTTP("card-processor")
	if err != nil {
		log.Fatal(err)
	}
	app := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		req, _ := http.NewRequestWithContext(r.Context(), http.MethodPost, "/authorize", r.Body)
		resp, err := processor.Do(req)
		if err != nil {
			admission.WriteError(w, err)
			return
		}
		defer resp.Body.Close()
		io.Copy(w, resp.Body)
	})
	log.Fatal(service.Run(context.Background(), app))
}
