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

// Transport logs each request, answer and line of a body at level DEBUG. Headers show
// their values only if they cannot be credentials. Redact takes known secrets out of
// bodies, before they are cut; the writer below the log takes them out of the rest.
type Transport struct {
	Next   http.RoundTripper
	Log    *slog.Logger
	Redact func(string) string
}

// maxLine is of a body in the log, in bytes. As much again of a line is kept, so that a
// secret at the cut is known.
const maxLine = 64 << 10

// harmless are headers whose values cannot be credentials.
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

// Base and Over let the client choose the transport below the log: see
// a2aclient.Options.AnyAddress.
func (w *Transport) Base() *http.Transport {
	t, _ := w.Next.(*http.Transport)
	return t
}

func (w *Transport) Over(next http.RoundTripper) http.RoundTripper {
	return &Transport{Next: next, Log: w.Log, Redact: w.Redact}
}

// wireURL is the URL without the values of its query, where an API key may be.
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

// shown is a text as the log has it. Where its end is not known, it may end within a
// secret, which the redactor does not know by its beginning: as much of it stays away
// as a secret may be long.
func (w *Transport) shown(b []byte, endless bool) string {
	s := w.Redact(string(b))
	room := maxLine
	if endless {
		room = min(room, max(0, len(s)-maxLine))
	}
	if endless || len(s) > room {
		return s[:room] + "… (cut)"
	}
	return s
}

// loggedBody logs a response's body as it is read, line by line: what is cut
// by the reads themselves could hide a secret from the redactor.
type loggedBody struct {
	io.ReadCloser
	wire *Transport
	line []byte // the beginning of the line that is being read
	cut  bool   // the line is longer than that
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
