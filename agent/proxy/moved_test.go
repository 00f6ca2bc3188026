package proxy_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent/proxy"
)

// An agent that has moved is found where its card says by now, however long the card may
// be kept.
func TestCardIsAskedForAgain(t *testing.T) {
	t.Parallel()
	up := (&puppet{stream: says(task("up", a2a.TaskStateCompleted))}).serve(t)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	var at atomic.Pointer[string]
	at.Store(&gone.URL)
	cards := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=3600")
		_, _ = io.WriteString(w, strings.ReplaceAll(`{"name":"a","supportedInterfaces":[{"url":"URL","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"capabilities":{"streaming":true}}`, "URL", *at.Load()))
	}))
	defer cards.Close()
	front := behind(t, cards.URL, &proxy.Options{Patience: 3 * time.Second}, nil) // has the card
	at.Store(&up.url)
	want(t, send(t, dial(t, front, nil), say("x")), a2a.TaskStateCompleted, "")
}
