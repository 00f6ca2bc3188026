package mcp

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/internal/upload"
)

// A server that does not read a request has half a minute for each piece of it.
func TestRequestThatIsNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deaf := roundTripper(func(req *http.Request) (*http.Response, error) {
			_, _ = req.Body.Read(make([]byte, 1)) // and never again
			<-req.Context().Done()
			return nil, req.Context().Err()
		})
		at := &url.URL{Scheme: "http", Host: "tools.test"}
		c := httpClient(t.Context(), &Server{URL: at.String()}, at, &Options{Client: &http.Client{Transport: deaf}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, at.String(), strings.NewReader("a request"))
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, err = c.Do(req)
		var late interface{ Timeout() bool }
		if !errors.As(err, &late) || !late.Timeout() || time.Since(began) != upload.Time {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// Options have the times that count: the client's would end calls.
func TestTimeoutOfTheClientDoesNotCount(t *testing.T) {
	at := &url.URL{Scheme: "http", Host: "tools.test"}
	given := &http.Client{Timeout: time.Second}
	if c := httpClient(t.Context(), &Server{URL: at.String()}, at, &Options{Client: given}); c.Timeout != 0 || given.Timeout != time.Second {
		t.Errorf("timeouts of %v, and %v of the given client", c.Timeout, given.Timeout)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
