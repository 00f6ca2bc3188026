package acts

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/parley-a2a/parley/internal/wire"
)

// kept counts the bytes of answers, events and webhooks that a test keeps.
type kept struct{ bytes atomic.Int64 }

const (
	// maxKept is far more than any test needs.
	maxKept = 16 << 20
	// keptItem is the size of an event or a delivery in addition to its text.
	keptItem = 1 << 10
)

var errTooMuch = fmt.Errorf("the agent sent more than %d bytes in one test", maxKept)

func (k *kept) add(n int) error {
	if k.bytes.Add(int64(n)) > maxKept {
		return errTooMuch
	}
	return nil
}

// over makes all further bytes exceed the limit.
func (k *kept) over() { k.bytes.Store(maxKept) }

// keptBody counts the bytes read from a body.
type keptBody struct {
	io.Reader
	kept *kept
}

func (b keptBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	return n, cmp.Or(b.kept.add(n), err)
}

// exchange makes an HTTP request. event decodes an event of a stream; if it is nil, no stream is
// expected. The caller sets the fields of the Answer that depend on the binding.
func exchange(ctx context.Context, client *http.Client, on *iface, r *request, event func(e *StreamEvent, o obj)) *Answer {
	a := newAnswer(on, r.op)
	ctx, cancel := context.WithCancel(ctx)
	req, err := http.NewRequestWithContext(ctx, r.method, r.url, bytes.NewReader(r.body))
	if err != nil {
		cancel()
		a.broken = err
		return a
	}
	req.Header = r.header
	a.exchange.Request = slices.Concat([]string{r.method + " " + r.url}, headerLines(r.header), bodyLines(r.body))
	res, err := client.Do(req)
	if err != nil {
		cancel()
		a.broken = err
		return a
	}
	a.status, a.header = res.StatusCode, res.Header
	a.exchange.Response = append([]string{fmt.Sprintf("HTTP %d", res.StatusCode)}, headerLines(res.Header)...)
	if a.contentType() == "text/event-stream" && event != nil {
		a.exchange.Response = append(a.exchange.Response, "")
		frames := wire.NewReader(keptBody{res.Body, r.kept}, maxKept)
		a.stream = openStream(cancel, r.kept, func() (*StreamEvent, error) {
			ev, err := frames.Next()
			if err != nil {
				res.Body.Close()
				return nil, err
			}
			e := &StreamEvent{}
			e.raw, _ = decode(ev.Data)
			if o, ok := e.raw.(obj); ok {
				event(e, o)
			} else {
				e.bad = "its data is not a JSON object: " + cut(string(ev.Data), maxShown)
			}
			return e, nil
		})
		return a
	}
	defer cancel()
	defer res.Body.Close()
	text, err := io.ReadAll(keptBody{res.Body, r.kept})
	a.exchange.Response = append(a.exchange.Response, bodyLines(text)...)
	if err != nil {
		a.broken = err
		return a
	}
	if v, err := decode(text); err == nil {
		a.raw = v
	}
	return a
}

const maxShownBody = 4096

// bodyLines returns an empty line and a body, in the form for a report.
func bodyLines(body []byte) []string {
	if len(body) == 0 {
		return nil
	}
	return append([]string{""}, strings.Split(cut(strings.ToValidUTF8(string(body), "\uFFFD"), maxShownBody), "\n")...)
}

func headerLines(h http.Header) (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, v := range h[name] {
			lines = append(lines, name+": "+v)
		}
	}
	return lines
}

// contentType returns the media type of an answer.
func (a *Answer) contentType() string {
	kind, _, _ := mime.ParseMediaType(a.header.Get("Content-Type"))
	return kind
}
