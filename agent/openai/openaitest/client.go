package openaitest

import (
	"errors"
	"io"
	"net/http"
	"sync"
)

// Client returns a client whose requests all come to s, without a network: also
// where time is fake (testing/synctest).
func (s *Server) Client() *http.Client { return &http.Client{Transport: inside{s}} }

type inside struct{ handler http.Handler }

func (t inside) RoundTrip(r *http.Request) (*http.Response, error) {
	body, out := io.Pipe()
	w := &writer{header: http.Header{}, out: out, began: make(chan struct{})}
	go func() {
		defer func() {
			if recover() != nil { // http.ErrAbortHandler
				w.WriteHeader(http.StatusOK)
				out.CloseWithError(io.ErrUnexpectedEOF)
			}
		}()
		t.handler.ServeHTTP(w, r)
		w.WriteHeader(http.StatusOK)
		out.Close()
	}()
	select {
	case <-w.began:
	case <-r.Context().Done():
		body.CloseWithError(errGone)
		return nil, r.Context().Err()
	}
	return &http.Response{
		StatusCode: w.status, Status: http.StatusText(w.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.sent, Body: &reader{body, r}, ContentLength: -1, Request: r,
	}, nil
}

var errGone = errors.New("the client went away")

type reader struct {
	*io.PipeReader
	request *http.Request
}

// Read ends with the request, as it does over a network.
func (b *reader) Read(p []byte) (int, error) {
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-b.request.Context().Done():
			b.PipeReader.CloseWithError(errGone)
		case <-stop:
		}
	}()
	return b.PipeReader.Read(p)
}

type writer struct {
	header http.Header
	out    *io.PipeWriter
	began  chan struct{} // closed once the fields below are set
	once   sync.Once
	status int
	sent   http.Header
}

func (w *writer) Header() http.Header { return w.header }

func (w *writer) WriteHeader(status int) {
	w.once.Do(func() {
		w.status, w.sent = status, w.header.Clone()
		close(w.began)
	})
}

func (w *writer) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.out.Write(p)
}

// Flush is there because a stream needs it; each Write is handed over at once.
func (w *writer) Flush() { w.WriteHeader(http.StatusOK) }
