package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/telemetry"
	"github.com/parley-a2a/parley/internal/wake"
)

// ask requests the model's answer, and repeats the request as long as that may help and
// no part of the answer was emitted.
func (r *run) ask(ctx context.Context, lastly bool) (*answer, error) {
	a := r.a
	for try := 0; ; {
		r.out.begin()
		ans, err := r.attempt(ctx, lastly)
		if err == nil {
			return ans, nil
		}
		f, ok := errors.AsType[fault](err)
		if ctx.Err() != nil || !ok {
			return nil, a.told(ctx, err)
		}
		if r.out.said() {
			if f.again && f.api == nil {
				f.public = "the model's answer broke off"
				err = f
			}
			return nil, errors.Join(a.told(ctx, err), r.out.flush())
		}
		if r.adapt(&f) {
			continue // at most once for each feature
		}
		if !f.again || try >= a.opts.retries() {
			return nil, a.told(ctx, err)
		}
		wait := max(f.after, wake.Backoff(try, 40*time.Second)/2) // 500 ms, 1 s, 2 s and so on, or as the endpoint asks
		if f.after > maxWait {
			r.t.Log(a.opts.logger()).Warn("the model's endpoint asks to wait too long; it is not asked again", "after", f.after)
			return nil, a.told(ctx, err)
		}
		try++
		r.t.Log(a.opts.logger()).Info("asking the model again", "try", try+1, "in", wait, "error", a.without(f.cause.Error()))
		if wait >= blink {
			why, _, _ := strings.Cut(f.public, ";") // the advice after it is for a task that failed
			if err := r.t.Status(why + "; asking again in " + wait.Round(time.Second).String()); err != nil {
				return nil, err
			}
		}
		if err := wake.Pause(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// blink is how long a retry may be away before the caller is told of it in a status.
const blink = 2 * time.Second

// adapt notes a feature that the endpoint does not support, if that is why it refused,
// so that the request can be repeated without it.
func (r *run) adapt(f *fault) bool {
	a := r.a
	if f.api == nil || f.status != http.StatusBadRequest && f.status != http.StatusUnprocessableEntity {
		return false
	}
	// Look at the refused request: another turn may have noted the same since.
	switch {
	case f.api.has("max_completion_tokens"):
		a.newMaxTokens.Store(true)
		return r.sent["max_tokens"] != nil
	case f.api.has("stream_options"):
		a.noStreamOptions.Store(true)
		return r.sent["stream_options"] != nil
	case f.api.has("response_format", "json_schema", "json_object"):
		format, _ := r.sent["response_format"].(map[string]any)
		switch format["type"] {
		case "json_schema":
			a.noSchema.Store(true)
			return true
		case "json_object": // LM Studio
			a.noObject.Store(true)
			return true
		}
	}
	return false
}

// attempt makes one request and reads the answer, within a client span.
func (r *run) attempt(ctx context.Context, lastly bool) (*answer, error) {
	body, err := r.body(lastly)
	if err != nil {
		return nil, err
	}
	ctx, r.span = r.trace(ctx)
	ans, err := r.request(ctx, body)
	r.span.end(ans, err)
	return ans, err
}

func (r *run) request(parent context.Context, message []byte) (*answer, error) {
	a := r.a
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	late := time.AfterFunc(a.opts.maxTime(), func() { cancel(errLate) })
	defer late.Stop()
	defer r.out.rest()

	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.endpoint, bytes.NewReader(message))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream, application/json")
	telemetry.Inject(ctx, req.Header)
	a.sign(req)
	silent := &clock{time.AfterFunc(a.opts.timeout(), func() { cancel(errSilent) }), a.opts.timeout()}
	defer silent.Stop()
	res, err := a.client.Do(req)
	if err != nil {
		return nil, broken(why(ctx, err))
	}
	defer res.Body.Close()
	body := &heard{res.Body, silent}
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch {
	case res.StatusCode != http.StatusOK, media == "application/json":
		return r.whole(ctx, silent, res, body)
	case media == "text/html":
		return nil, garbled(errors.New("a web page: is the URL that of the API?"))
	}
	return r.stream(ctx, silent, body)
}

// why returns the cause for which a request was given up, if it was, instead of
// net/http's error.
func why(ctx context.Context, err error) error {
	if c := context.Cause(ctx); c != nil {
		return c
	}
	return err
}

// whole reads a response that is no stream: an error, or the answer of an endpoint that
// does not stream.
func (r *run) whole(ctx context.Context, silent *clock, res *http.Response, body io.Reader) (*answer, error) {
	max := 2*r.a.opts.maxAnswer() + maxError
	if res.StatusCode != http.StatusOK {
		max = maxError
	}
	silent.start()
	doc, err := io.ReadAll(io.LimitReader(body, int64(max)+1))
	silent.Stop()
	if res.StatusCode != http.StatusOK {
		return nil, refused(res.StatusCode, res.Header, readError(doc)) // as far as it was received
	}
	if err != nil {
		return nil, broken(why(ctx, err))
	}
	if len(doc) > max {
		return nil, fault{public: "the model's answer is too long", cause: fmt.Errorf("more than %d bytes", max)}
	}
	if b := bytes.TrimSpace(doc); bytes.HasPrefix(b, []byte("data:")) || bytes.HasPrefix(b, []byte(":")) {
		return r.stream(ctx, silent, bytes.NewReader(doc)) // it is a stream with a wrong content type
	}
	s := &assembly{max: r.a.opts.maxAnswer()}
	if _, err := r.event(s, doc); err != nil {
		return nil, err
	}
	if s.finish == "" && s.size == 0 {
		return nil, garbled(fmt.Errorf("an answer without choices: %q", short(string(doc), 200)))
	}
	return r.finish(s)
}

// garbled returns the fault for data that cannot be understood.
func garbled(err error) fault {
	return fault{public: "the model's endpoint sent something that cannot be understood", cause: err}
}
