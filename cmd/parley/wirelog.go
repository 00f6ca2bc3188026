package main

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

// wireLog logs what goes over the wire (--debug). Of headers, only those known
// to be harmless show their values. Known secrets are taken out of bodies here,
// before they are cut, and of all the rest by the writer below the log.
type wireLog struct {
	next   http.RoundTripper
	log    *slog.Logger
	redact func(string) string
}

// maxWireBody caps a line of a body in the log, in bytes.
const maxWireBody = 64 << 10

// harmless are headers whose values cannot be credentials.
var harmless = map[string]bool{
	"Accept": true, "Accept-Encoding": true, "Accept-Ranges": true, "A2a-Version": true, "A2a-Extensions": true,
	"Cache-Control": true, "Content-Length": true, "Content-Type": true, "Date": true, "Etag": true,
	"Idempotency-Key": true, "If-None-Match": true, "Last-Event-Id": true, "Last-Modified": true, "Retry-After": true,
	"Server": true, "Vary": true, "Www-Authenticate": true, "X-Accel-Buffering": true, "X-Content-Type-Options": true,
}

func (w *wireLog) RoundTrip(req *http.Request) (*http.Response, error) {
	start := time.Now()
	w.log.Debug("sending", "method", req.Method, "url", wireURL(req), "header", headerLine(req.Header), "body", w.sentBody(req))
	res, err := w.next.RoundTrip(req)
	if err != nil {
		w.log.Debug("no answer", "after", time.Since(start).Round(time.Microsecond), "err", err)
		return nil, err
	}
	w.log.Debug("answer", "status", res.StatusCode, "after", time.Since(start).Round(time.Microsecond), "header", headerLine(res.Header))
	res.Body = &loggedBody{ReadCloser: res.Body, wire: w}
	return res, nil
}

// Base and Over let the client choose the transport below the log: see
// a2aclient.Options.AnyAddress.
func (w *wireLog) Base() *http.Transport {
	t, _ := w.next.(*http.Transport)
	return t
}

func (w *wireLog) Over(next http.RoundTripper) http.RoundTripper {
	return &wireLog{next: next, log: w.log, redact: w.redact}
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

func (w *wireLog) sentBody(req *http.Request) string {
	if req.GetBody == nil {
		return ""
	}
	body, err := req.GetBody()
	if err != nil {
		return ""
	}
	defer body.Close()
	b, _ := io.ReadAll(body)
	return w.shown(b)
}

func (w *wireLog) shown(b []byte) string {
	s := w.redact(string(b))
	if len(s) > maxWireBody {
		return s[:maxWireBody] + "… (cut)"
	}
	return s
}

// loggedBody logs a response's body as it is read, line by line: what is cut
// by the reads themselves could hide a secret from the redactor.
type loggedBody struct {
	io.ReadCloser
	wire *wireLog
	line []byte
}

func (b *loggedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.line = append(b.line, p[:n]...)
	for {
		line, rest, ok := bytes.Cut(b.line, []byte("\n"))
		if !ok {
			break
		}
		b.show(line)
		b.line = rest
	}
	if err != nil {
		b.show(b.line)
		b.line = nil
	}
	return n, err
}

func (b *loggedBody) Close() error {
	b.show(b.line)
	b.line = nil
	return b.ReadCloser.Close()
}

func (b *loggedBody) show(line []byte) {
	if len(line) > 0 {
		b.wire.log.Debug("received", "body", b.wire.shown(line))
	}
}
