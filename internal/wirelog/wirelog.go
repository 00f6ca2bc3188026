// Package wirelog logs what an HTTP client sends and receives, without credentials.
package wirelog

import (
	"bytes"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/plain"
)

// Transport logs each request, answer and line of a body at level DEBUG. It shows a
// header's value only if the value cannot be a credential. Redact removes known secrets
// from bodies before they are cut; the log's own writer removes them from the rest.
type Transport struct {
	Next   http.RoundTripper
	Log    *slog.Logger
	Redact func(string) string
}

// maxLine limits how much of one line of a body is logged, in bytes. Twice as much of a
// received line is kept, so that Redact sees a secret at the cut whole.
const maxLine = 64 << 10

// harmless names the headers whose values cannot be credentials.
var harmless = map[string]bool{
	"Accept": true, "Accept-Encoding": true, "Accept-Ranges": true, "A2a-Version": true, "A2a-Extensions": true,
	"Cache-Control": true, "Content-Length": true, "Content-Type": true, "Date": true, "Etag": true,
	"Idempotency-Key": true, "If-None-Match": true, "Last-Event-Id": true, "Last-Modified": true, "Retry-After": true,
	"Server": true, "Vary": true, "Www-Authenticate": true, "X-Accel-Buffering": true, "X-Content-Type-Options": true,
}

func (w *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	start := time.Now()
	w.Log.Debug("sending", "method", req.Method, "url", wireURL(req), "header", headerLine(req.Header), "body", w.sentBody(req))
	res, err := w.Next.RoundTrip(req)
	if err != nil {
		w.Log.Debug("no answer", "after", time.Since(start).Round(time.Microsecond), "error", err)
		return nil, err
	}
	w.Log.Debug("answer", "status", res.StatusCode, "after", time.Since(start).Round(time.Microsecond), "header", headerLine(res.Header))
	res.Body = &loggedBody{ReadCloser: res.Body, wire: w}
	return res, nil
}

// wireURL returns the URL without its query's values, which may hold an API key.
func wireURL(req *http.Request) string {
	u := *req.URL
	if q := u.Query(); len(q) > 0 {
		u.RawQuery = ""
		var pairs []string
		for _, name := range slices.Sorted(maps.Keys(q)) {
			pairs = append(pairs, name+"=…")
		}
		return u.Redacted() + "?" + strings.Join(pairs, "&")
	}
	return u.Redacted()
}

func headerLine(h http.Header) string {
	var fields []string
	for _, name := range slices.Sorted(maps.Keys(h)) {
		value := plain.Redacted
		if harmless[name] {
			value = strings.Join(h[name], ", ")
		}
		fields = append(fields, name+": "+value)
	}
	return strings.Join(fields, "; ")
}

func (w *Transport) sentBody(req *http.Request) string {
	if req.GetBody == nil {
		return ""
	}
	body, err := req.GetBody()
	if err != nil {
		return ""
	}
	defer body.Close()
	b, _ := io.ReadAll(body)
	return w.shown(b, false)
}

// shown returns a text as it is logged. Text that was cut when it was read may end within
// a secret, and the redactor does not know a secret by its beginning. So shown omits its
// last maxLine bytes, the longest that a secret may be.
func (w *Transport) shown(b []byte, wasCut bool) string {
	s := w.Redact(string(b))
	room := maxLine
	if wasCut {
		room = min(room, max(0, len(s)-maxLine))
	}
	if wasCut || len(s) > room {
		return s[:room] + "… (cut)"
	}
	return s
}

// loggedBody logs a response's body line by line as it is read. If it logged the pieces
// that single reads return, a secret split between two would hide from the redactor.
type loggedBody struct {
	io.ReadCloser
	wire *Transport
	line []byte // the current line, or its first 2*maxLine bytes
	cut  bool   // the current line is longer than line
}

func (b *loggedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	for read := p[:n]; len(read) > 0; {
		line, rest, ends := bytes.Cut(read, []byte("\n"))
		b.add(line)
		if ends {
			b.show()
		}
		read = rest
	}
	if err != nil {
		b.show()
	}
	return n, err
}

func (b *loggedBody) Close() error {
	b.show()
	return b.ReadCloser.Close()
}

func (b *loggedBody) add(text []byte) {
	if room := 2*maxLine - len(b.line); len(text) > room {
		text, b.cut = text[:room], true
	}
	b.line = append(b.line, text...)
}

func (b *loggedBody) show() {
	if len(b.line) > 0 {
		b.wire.Log.Debug("received", "body", b.wire.shown(b.line, b.cut))
	}
	b.line, b.cut = b.line[:0], false
}
