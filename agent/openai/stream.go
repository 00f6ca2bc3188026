package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/wire"
)

// clock ends a request whose endpoint is silent for too long. It runs while bytes are
// read, and starts over when some come: a comment is a sign of life, but no event.
type clock struct {
	*time.Timer
	most time.Duration
}

func (c *clock) start() { c.Reset(c.most) }

// heard is a body that starts the clock over when bytes come.
type heard struct {
	io.Reader
	silent *clock
}

func (h *heard) Read(b []byte) (int, error) {
	n, err := h.Reader.Read(b)
	if n > 0 {
		h.silent.start()
	}
	return n, err
}

// stream reads an answer as it comes, and emits its text.
func (r *run) stream(ctx context.Context, silent *clock, body io.Reader) (*answer, error) {
	// Some streams lack the final empty line that ends an event.
	in := wire.NewReader(io.MultiReader(body, strings.NewReader("\n\n")), 2*r.a.opts.maxAnswer()+maxError)
	s := &assembly{max: r.a.opts.maxAnswer()}
	for {
		silent.start()
		ev, err := in.Next()
		silent.Stop() // emitting may take long, as on a full disk, and nothing is read meanwhile
		if err != nil {
			return r.cut(s, why(ctx, err))
		}
		r.span.chunk()
		if done, err := r.event(s, ev.Data); err != nil {
			return nil, err
		} else if done {
			return r.finish(s)
		}
	}
}

// event handles the chunks of an event.
func (r *run) event(s *assembly, data []byte) (done bool, err error) {
	chunks, done, err := readChunks(data)
	for i := range chunks {
		if err := r.chunk(s, &chunks[i]); err != nil {
			return false, err
		}
	}
	if err != nil {
		return false, garbled(err)
	}
	return done, nil
}

func (r *run) chunk(s *assembly, c *chunk) error {
	if api := c.found(); api != nil && (len(c.Choices) == 0 || len(c.Error) > 0) {
		status := api.status()
		if status == 0 {
			status = http.StatusInternalServerError // the response began with 200
			if api.has("rate_limit", "rate limit", "overloaded") {
				status = http.StatusTooManyRequests
			}
		}
		return refused(status, nil, api)
	}
	text, err := s.add(c)
	if err != nil {
		return err
	}
	return r.out.add(text)
}

// cut handles a stream that ended without [DONE]. This is no error if the answer has a
// finish reason: some endpoints omit [DONE].
func (r *run) cut(s *assembly, err error) (*answer, error) {
	switch {
	case err == io.EOF && s.finish != "":
		return r.finish(s)
	case err == io.EOF:
		err = io.ErrUnexpectedEOF
	case errors.Is(err, wire.ErrEventTooLarge):
		return nil, fault{public: "the model's answer is too long", cause: err}
	}
	return nil, broken(err)
}

// finish ends an answer that was received in full. Its gathered text is emitted with
// the next answer.
func (r *run) finish(s *assembly) (*answer, error) {
	ans := s.end()
	if ans.finish == "error" || ans.finish == "insufficient_system_resource" { // OpenRouter, DeepSeek
		return nil, fault{
			public: "the model's endpoint has a problem; try again later", again: true,
			cause: fmt.Errorf("finish_reason %s after %d bytes", ans.finish, s.size),
		}
	}
	return ans, nil
}
