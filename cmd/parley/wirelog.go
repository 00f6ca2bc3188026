package main

import (
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// wireLog logs what goes over the wire (--debug). Of headers, only those known
// to be harmless show their values; the writer below takes known secrets out
// of all the rest.
type wireLog struct {
	next http.RoundTripper
	log  *slog.Logger
}

// maxWireBody caps what is logged of one body, in bytes.
const maxWireBody = 64 << 10

// harmless are headers whose values cannot be credentials.
var harmless = map[string]bool{
	"Accept": true, "A2a-Version": true, "A2a-Extensions": true, "Cache-Control": true, "Content-Length": true, "Content-Type": true,
	"Date": true, "Etag": true, "If-None-Match": true, "Last-Event-Id": true, "Retry-After": true, "Server": true, "Vary": true,
}

func (w *wireLog) RoundTrip(req *http.Request) (*http.Response, error) {
	start := time.Now()
	w.log.Debug("request", "method", req.Method, "url", wireURL(req), "header", headerLine(req.Header), "body", sentBody(req))
	res, err := w.next.RoundTrip(req)
	if err != nil {
		w.log.Debug("no response", "after", time.Since(start).Round(time.Microsecond), "err", err)
		return nil, err
	}
	w.log.Debug("response", "status", res.StatusCode, "after", time.Since(start).Round(time.Microsecond), "header", headerLine(res.Header))
	res.Body = &loggedBody{ReadCloser: res.Body, log: w.log}
	return res, nil
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
		value := redacted
		if harmless[name] {
			value = strings.Join(h[name], ", ")
		}
		fields = append(fields, name+": "+value)
	}
	return strings.Join(fields, "; ")
}

func sentBody(req *http.Request) string {
	if req.GetBody == nil {
		return ""
	}
	body, err := req.GetBody()
	if err != nil {
		return ""
	}
	defer body.Close()
	b, _ := io.ReadAll(io.LimitReader(body, maxWireBody+1))
	return capped(b)
}

func capped(b []byte) string {
	if len(b) > maxWireBody {
		return fmt.Sprintf("%s… (cut)", b[:maxWireBody])
	}
	return string(b)
}

// loggedBody logs a response's body as it is read: events of a stream as they
// arrive.
type loggedBody struct {
	io.ReadCloser
	log    *slog.Logger
	logged int
}

func (b *loggedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 && b.logged < maxWireBody {
		b.logged += n
		b.log.Debug("received", "body", capped(p[:n]))
	}
	return n, err
}
