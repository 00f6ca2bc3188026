package upload

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/internal/port/porttest"
)

// inMemory calls f with a transport to a server of h, over HTTP/1 and over HTTP/2.
// over is closed when f has returned.
func inMemory(t *testing.T, h func(w http.ResponseWriter, r *http.Request, over <-chan struct{}), f func(t *testing.T, rt http.RoundTripper)) {
	for name, two := range map[string]bool{"HTTP/1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := porttest.NewPipes()
				p := new(http.Protocols)
				p.SetHTTP1(!two)
				p.SetUnencryptedHTTP2(two)
				over := make(chan struct{})
				srv := &http.Server{Protocols: p, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h(w, r, over) })}
				served := make(chan struct{})
				go func() { defer close(served); _ = srv.Serve(l) }()
				tr := &http.Transport{Protocols: p, DialContext: l.DialContext}
				f(t, tr)
				close(over)
				tr.CloseIdleConnections()
				srv.Close()
				<-served
				time.Sleep(time.Minute) // fake: net/http lingers before it closes
			})
		})
	}
}

func post(t *testing.T, size int) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://peer.test/", bytes.NewReader(make([]byte, size)))
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// A request ends if its peer stops reading.
func TestUnreadRequestEnds(t *testing.T) {
	inMemory(t, func(_ http.ResponseWriter, r *http.Request, over <-chan struct{}) {
		_, _ = io.CopyN(io.Discard, r.Body, 100<<10)
		<-over
	}, func(t *testing.T, rt http.RoundTripper) {
		began := time.Now()
		_, err := RoundTrip(rt, post(t, 8<<20))
		var late interface{ Timeout() bool }
		if !errors.As(err, &late) || !late.Timeout() || time.Since(began) > 2*Time {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// A request also ends if its peer stops reading after it has begun to answer.
func TestUnreadRequestEndsItsAnswer(t *testing.T) {
	inMemory(t, func(w http.ResponseWriter, _ *http.Request, over <-chan struct{}) {
		rc := http.NewResponseController(w)
		_ = rc.EnableFullDuplex()
		_ = rc.Flush()
		<-over
	}, func(t *testing.T, rt http.RoundTripper) {
		began := time.Now()
		res, err := RoundTrip(rt, post(t, 8<<20))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if _, err := io.ReadAll(res.Body); err != (errUnread{}) || time.Since(began) > 2*Time {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// A slow upload and a late answer succeed: neither has a limit on its whole duration.
func TestSlowUploadPasses(t *testing.T) {
	const size = 3 << 20
	inMemory(t, func(w http.ResponseWriter, r *http.Request, _ <-chan struct{}) {
		for n := 0; n < size; n += 32 << 10 { // half a minute would be too long for each
			time.Sleep(20 * time.Second)
			if _, err := io.CopyN(io.Discard, r.Body, 32<<10); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(time.Hour)
		_, _ = io.WriteString(w, "all of it")
	}, func(t *testing.T, rt http.RoundTripper) {
		res, err := RoundTrip(rt, post(t, size))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if all, err := io.ReadAll(res.Body); err != nil || string(all) != "all of it" {
			t.Errorf("%q, %v", all, err)
		}
	})
}

// If the peer stops reading an HTTP/2 connection, the connection is closed, not only the
// request on it.
func TestUnreadConnectionIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := new(http.Protocols)
		p.SetUnencryptedHTTP2(true)
		closed := make(chan struct{})
		tr := &http.Transport{Protocols: p, HTTP2: HTTP2(), DialContext: func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			go func() {
				_, _ = io.CopyN(io.Discard, far, 1<<10) // and no more
			}()
			return &closing{Conn: near, closed: closed}, nil
		}}
		defer tr.CloseIdleConnections()
		if res, err := RoundTrip(tr, post(t, 8<<20)); err == nil {
			t.Errorf("got %v", res)
		}
		select {
		case <-closed:
		case <-time.After(time.Hour):
			t.Error("the connection is open")
		}
	})
}

// closing is a connection that closes the channel closed when it is closed.
type closing struct {
	net.Conn
	once   sync.Once
	closed chan struct{}
}

func (c *closing) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// The limit for each piece also holds when a transport sends a body again.
func TestRepeatedUploadIsLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		again := roundTripper(func(req *http.Request) (*http.Response, error) {
			body, err := req.GetBody()
			if err != nil {
				return nil, err
			}
			if n, err := body.Read(make([]byte, 1<<20)); n != pieceSize || err != nil {
				t.Errorf("a piece of %d bytes, %v", n, err)
			}
			<-req.Context().Done()
			return nil, req.Context().Err()
		})
		if _, err := RoundTrip(again, post(t, 1<<20)); err != (errUnread{}) {
			t.Errorf("got %v", err)
		}
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
