package httpagent_test

import (
	"context"
	"log"
	"net/http"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent/httpagent"
)

func Example() {
	ag, err := httpagent.New("http://127.0.0.1:8000/agent", nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := parley.Serve("127.0.0.1:7275", httpagent.Card("weather"), ag); err != nil {
		log.Fatal(err)
	}
}

// A service that calls back, and is told who it is that calls.
func ExampleNewCallbacks() {
	calls, err := httpagent.NewCallbacks("https://agents.example.org/callbacks/weather", "a secret that stays the same")
	if err != nil {
		log.Fatal(err)
	}
	ag, err := httpagent.New("https://weather.example.org/agent", &httpagent.Options{
		Headers:   map[string]a2a.Secret{"Authorization": "Bearer …"},
		Callbacks: calls,
	})
	if err != nil {
		log.Fatal(err)
	}
	srv, err := parley.New(httpagent.Card("weather"), ag, nil)
	if err != nil {
		log.Fatal(err)
	}
	ran := make(chan error, 1)
	go func() { ran <- srv.Run(context.Background()) }()
	mux := http.NewServeMux()
	mux.Handle("/callbacks/weather/", calls.Handler())
	mux.Handle("/", srv.Handler())
	go func() { ran <- http.ListenAndServe("127.0.0.1:7275", mux) }()
	log.Fatal(<-ran)
}
