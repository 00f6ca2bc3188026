package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// dialled connects to a server that handles all requests with h.
func dialled(t *testing.T, h http.HandlerFunc) *conn {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return dialledTo(t, s.Listener.Addr().String())
}

func dialledTo(t *testing.T, addr string) *conn {
	t.Helper()
	c, err := dial(t.Context(), addr, narrow, time.Now().Add(patience))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)
	return c
}

func TestConnKeepsItsPlaceBetweenAnswers(t *testing.T) {
	long := strings.Repeat("0123456789", 10_000)
	c := dialled(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("A2A-Version") != "1.0" {
			t.Errorf("A2A-Version is %q", r.Header.Get("A2A-Version"))
		}
		switch r.URL.Path {
		case "/chunked":
			for i := 0; i < len(long); i += 7777 {
				_, _ = io.WriteString(w, long[i:min(i+7777, len(long))])
				w.(http.Flusher).Flush()
			}
		case "/empty":
		default:
			_, _ = w.Write(body)
		}
	})
	for range 3 {
		for path, want := range map[string]string{"/length": "hello", "/chunked": long, "/empty": ""} {
			got, err := c.do(&call{path: path, version: "1.0", body: []byte("hello")})
			if err != nil || string(got) != want {
				t.Errorf("%s: %.40q, %v; want %.40q", path, got, err, want)
			}
		}
	}
}

func TestConnReportsStatus(t *testing.T) {
	c := dialled(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "too many", http.StatusTooManyRequests) })
	if _, err := c.do(&call{path: "/"}); err == nil || !strings.Contains(err.Error(), "429") || !strings.Contains(err.Error(), "too many") {
		t.Errorf("error is %v", err)
	}
	if err := c.events(&call{path: "/", stream: true}, func([]byte) error { return nil }); err == nil || !strings.Contains(err.Error(), "429") {
		t.Errorf("error of a stream is %v", err)
	}
}

func TestConnReadsEvents(t *testing.T) {
	long := strings.Repeat("x", 3*narrow)
	c := dialled(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		fmt.Fprintf(w, "id: 1\ndata: one\n\n: a comment\n\nda")
		w.(http.Flusher).Flush()
		fmt.Fprintf(w, "ta:two\r\n\r\nevent: e\ndata: %s\n\n", long)
	})
	for range 2 {
		var got []string
		if err := c.events(&call{path: "/", stream: true}, func(data []byte) error {
			got = append(got, string(data))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if want := []string{"one", "two", long}; strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("got %.80q", got)
		}
	}
}

func TestConnTellsCutStreamsFromEnds(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = http.ReadRequest(bufio.NewReader(c))
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n10\r\ndata: one\n\ndata")
			_ = c.Close()
		}
	}()
	seen := 0
	err = dialledTo(t, l.Addr().String()).events(&call{path: "/", stream: true}, func([]byte) error { seen++; return nil })
	if !errors.Is(err, io.ErrUnexpectedEOF) || seen != 1 {
		t.Errorf("%d events, %v", seen, err)
	}
}
