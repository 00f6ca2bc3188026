package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/parley-a2a/parley/internal/wire"
)

// event is passed on by the goroutine that reads.
type event struct {
	data []byte
	err  error
}

// pulse notes when bytes came: a comment is a sign of life, but no event.
type pulse struct {
	r     io.Reader
	heard func()       // nil, or called when bytes came
	last  atomic.Int64 // nanoseconds since begin
	t0    time.Time
}

func (p *pulse) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	if n > 0 {
		p.beat()
		if p.heard != nil {
			p.heard()
		}
	}
	return n, err
}

// beat restarts the measurement of silence.
func (p *pulse) beat() { p.last.Store(int64(time.Since(p.t0))) }

// quiet returns for how long nothing has come.
func (p *pulse) quiet() time.Duration { return time.Since(p.t0) - time.Duration(p.last.Load()) }

// stream reads an answer as it comes, and emits its text. A second goroutine reads,
// because one goroutine cannot wait for bytes and a clock at once; it has ended when
// stream returns.
func (r *run) stream(ctx context.Context, cancel context.CancelCauseFunc, body io.ReadCloser) (*answer, error) {
	events := make(chan event)
	alive := &pulse{r: body, t0: time.Now()}
	go func() {
		defer close(events)
		// Some streams lack the final empty line that ends an event.
		in := wire.NewReader(io.MultiReader(alive, strings.NewReader("\n\n")), 2*r.a.opts.maxAnswer()+maxError)
		for {
			ev, err := in.Next()
			select {
			case events <- event{bytes.Clone(ev.Data), err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	defer func() {
		cancel(nil)
		body.Close()
		for range events { // until the goroutine has ended
		}
	}()

	s := &assembly{max: r.a.opts.maxAnswer()}
	idle := time.NewTimer(r.a.opts.timeout())
	defer idle.Stop()
	for {
		select {
		case ev := <-events:
			if ev.err != nil || ev.data == nil {
				return r.cut(s, why(ctx, ev.err))
			}
			r.span.chunk()
			done, err := r.event(s, ev.data)
			if err != nil {
				return nil, err
			}
			alive.beat() // emitting may have taken long, as on a full disk, and nothing was read meanwhile
			if done {
				return r.finish(s)
			}
		case <-r.out.due():
			if err := r.out.flush(); err != nil {
				return nil, err
			}
			alive.beat()
		case <-idle.C:
			left := r.a.opts.timeout() - alive.quiet()
			if left <= 0 {
				return nil, broken(errSilent)
			}
			idle.Reset(left)
		case <-ctx.Done():
			return nil, broken(context.Cause(ctx))
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
	if (err == nil || err == io.EOF) && s.finish != "" {
		return r.finish(s)
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if errors.Is(err, wire.ErrEventTooLarge) {
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
