package interop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// transcript is what both sides said, printed where a check fails.
type transcript struct {
	mu    sync.Mutex
	lines []string
}

func (t *transcript) add(line string) {
	if len(line) > 2000 {
		line = fmt.Sprintf("%s … (%d bytes)", line[:2000], len(line))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, strings.TrimSpace(line))
}

// say adds a value of the program, or the error in its place.
func (t *transcript) say(mark string, v any, err error) {
	if err != nil {
		t.add(mark + " error: " + err.Error())
		return
	}
	b, err := json.Marshal(v)
	if err != nil {
		b = fmt.Append(nil, err)
	}
	t.add(mark + " " + string(b))
}

// Write takes the log of a process.
func (t *transcript) Write(p []byte) (int, error) {
	t.add("parley: " + string(p))
	return len(p), nil
}

func (t *transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines, "\n")
}

// httpClient is an HTTP client that records, and does nothing else.
func (t *transcript) httpClient() *http.Client {
	return &http.Client{Transport: recorder{t}}
}

type recorder struct{ said *transcript }

func (r recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		body, _ = io.ReadAll(req.Body)
		req.Body = io.NopCloser(bytes.NewReader(body))
	}
	r.said.add(fmt.Sprintf("wire> %s %s (A2A-Version: %s) %s", req.Method, req.URL, req.Header.Get("A2A-Version"), body))
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		r.said.say("<wire", nil, err)
		return nil, err
	}
	r.said.add(fmt.Sprintf("<wire %d %s", resp.StatusCode, resp.Header.Get("Content-Type")))
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.TeeReader(resp.Body, wire{r.said}), resp.Body}
	return resp, nil
}

// watch records what a server is asked and answers.
func (t *transcript) watch(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		t.add(fmt.Sprintf("wire> %s %s (A2A-Version: %s) %s", r.Method, r.URL, r.Header.Get("A2A-Version"), body))
		h.ServeHTTP(&tap{w, t}, r)
	})
}

type tap struct {
	http.ResponseWriter
	said *transcript
}

func (w *tap) Write(p []byte) (int, error) {
	w.said.add("<wire " + string(p))
	return w.ResponseWriter.Write(p)
}

func (w *tap) Flush() { w.ResponseWriter.(http.Flusher).Flush() }

func (w *tap) Unwrap() http.ResponseWriter { return w.ResponseWriter }

type wire struct{ said *transcript }

func (w wire) Write(p []byte) (int, error) {
	w.said.add("<wire " + string(p))
	return len(p), nil
}
