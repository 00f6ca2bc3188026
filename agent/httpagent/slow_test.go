package httpagent

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
)

// slowHost takes each chunk after a pause, as an engine does whose disk is full.
type slowHost struct {
	*host
	pause time.Duration
}

func (h *slowHost) Artifact(a *a2a.Artifact, add, last bool) error {
	time.Sleep(h.pause)
	return h.host.Artifact(a, add, last)
}

// piecewise is a transport whose answer is a stream that comes a piece a read, for as
// long as its request lasts.
type piecewise []string

func (p piecewise) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Request: req,
		Body: io.NopCloser(&pieceReader{req.Context(), p}),
	}, nil
}

type pieceReader struct {
	ctx  context.Context
	left piecewise
}

func (r *pieceReader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil || len(r.left) == 0 {
		return 0, cmp.Or(err, io.EOF)
	}
	n := copy(b, r.left[0])
	r.left = r.left[1:]
	return n, nil
}

// A service is not silent while nobody reads what it sent.
func TestSlowTaskIsNotSilence(t *testing.T) {
	for name, c := range map[string]struct{ answer, chunk, end string }{
		"events":  {"", `{"type":"artifact","text":"x"}`, `{"type":"complete"}`},
		"foreign": {".delta", `{"delta":"x"}`, "[DONE]"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				chunk := "data: " + c.chunk + "\n\n"
				a, err := New("http://service.test", &Options{
					Client: &http.Client{Transport: piecewise{chunk, chunk, chunk, "data: " + c.end + "\n\n"}}, Answer: c.answer, Idle: time.Minute, Retries: -1,
				})
				if err != nil {
					t.Fatal(err)
				}
				h := &slowHost{&host{disk: newDisk(), attempt: 1, crash: func(error) {}}, 2 * time.Minute}
				err = a.Run(t.Context(), agent.NewTurn(h))
				if text := h.look(); err != nil || h.task.Status.State != a2a.TaskStateCompleted || strings.Count(text, "x") != 3 {
					t.Errorf("got %v, %v, %s", err, h.task.Status.State, text)
				}
			})
		})
	}
}

// Over HTTP/2 a service that takes nothing keeps neither the connection nor the goroutine
// that writes to it; internal/upload tests what the field does.
func TestUnreadConnectionsEnd(t *testing.T) {
	if c := new(Options).client().Transport.(*http.Transport).HTTP2; c == nil || c.WriteByteTimeout <= 0 {
		t.Errorf("the default client has %+v", c)
	}
}
