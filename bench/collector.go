package main

import (
	"io"
	"net/http"
	"net/http/httptest"
)

// collect returns the URL of a collector of OTLP that takes everything and keeps
// nothing. It is started with the first, and computes on the generator's processors.
func (b *bench) collect() string {
	if b.collector == nil {
		b.collector = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // a server that is killed breaks off
		}))
	}
	return b.collector.URL
}

// endCollector ends the collector, if there is one.
func (b *bench) endCollector() {
	if b.collector != nil {
		b.collector.Close()
	}
}
