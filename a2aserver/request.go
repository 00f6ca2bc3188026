package a2aserver

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
)

// bodyTimeout bounds the arrival of a request's body.
const bodyTimeout = time.Minute

// limitBody starts the clock for a request's body. It runs also where nobody
// is interested in the body, because the HTTP server reads it before it
// answers.
func limitBody(w http.ResponseWriter, r *http.Request) {
	if hasBody(r) {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout)) // not every writer has deadlines
	}
}

func hasBody(r *http.Request) bool {
	return r.ContentLength != 0 && r.Body != nil && r.Body != http.NoBody
}

// body reads the request's body, which must claim to be JSON or nothing.
func (x *exchange) body() ([]byte, error) {
	if !hasBody(x.r) {
		return nil, nil
	}
	if err := checkMedia(x.r.Header); err != nil {
		return nil, err
	}
	return x.readBody(x.s.opts.maxBody())
}

// skipBody reads a body that a request should not have. Only then does the
// HTTP server notice when the client goes away.
func (x *exchange) skipBody() error {
	const most = 4 << 10
	if !hasBody(x.r) {
		return nil
	}
	_, err := x.readBody(min(most, x.s.opts.maxBody()))
	return err
}

func (x *exchange) readBody(limit int64) ([]byte, error) {
	size, from := x.r.ContentLength, x.r.Body
	if size < 0 {
		size, from = minBody, http.MaxBytesReader(x.w, from, limit)
	}
	if size > limit {
		return nil, errBody(limit)
	}
	// One byte more than there are, so that the last read finds the end, too. What
	// a header announces takes no memory before it comes, and no room before enough
	// has come for it to be more than words.
	buf := make([]byte, 0, min(size, large)+1)
	for {
		n, err := from.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case int64(len(buf)) > limit:
			return nil, errBody(limit)
		case err == io.EOF:
			x.bodyRead = true
			_ = x.r.Body.Close()                  // or the HTTP server looks, before it answers, whether there is more
			_ = x.rc.SetReadDeadline(time.Time{}) // from here on a read waits for the client to leave
			return buf, x.decodes(x.ctx)
		case err != nil:
			if max := (*http.MaxBytesError)(nil); errors.As(err, &max) {
				return nil, errBody(limit)
			}
			return nil, &a2a.Error{Code: a2a.CodeInvalidRequest, Message: "the body did not arrive in full", Cause: err}
		case len(buf) == cap(buf):
			if len(buf) > large && x.release == nil {
				announced := x.r.ContentLength
				if announced < 0 {
					announced = limit
				}
				if err := x.makeRoom(announced); err != nil {
					return nil, err
				}
			}
			more := min(int64(len(buf)), limit+1-int64(len(buf)))
			if rest := size + 1 - int64(len(buf)); rest > 0 {
				more = rest // of which enough has come
			}
			buf = slices.Grow(buf, int(more))
		}
	}
}

const minBody = 512 // room for a body of unknown size

// makeRoom waits until a large body may come in.
func (x *exchange) makeRoom(size int64) error {
	if x.s.bodies == nil {
		return nil
	}
	if err := x.room(x.ctx, x.s.bodies, x.s.keyOf(x.ctx, x.r), size); err != nil {
		return err
	}
	_ = x.rc.SetReadDeadline(time.Now().Add(bodyTimeout)) // while it waited nobody read
	return nil
}

func errBody(limit int64) error {
	return a2a.Errorf(a2a.CodeTooLarge, "the body is larger than %d bytes; send large files by URL", limit)
}

// checkMedia accepts JSON by either name, with any charset, and no type at
// all. Whether the text is UTF-8 is seen when it is read.
func checkMedia(h http.Header) error {
	if enc := first(h, "Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return a2a.Errorf(a2a.CodeUnsupportedMedia, "compressed bodies are not accepted")
	}
	field := first(h, "Content-Type")
	if field == "" || field == mediaJSON {
		return nil
	}
	if t, _, _ := mime.ParseMediaType(field); t != mediaJSON && t != mediaA2A {
		return a2a.Errorf(a2a.CodeUnsupportedMedia, "the body must be %s or %s", mediaJSON, mediaA2A)
	}
	return nil
}

// serviceParameters reads A2A-Extensions (§3.2.6), puts them into the context's
// caller and says in the answer which are active.
func (x *exchange) serviceParameters(d dialect.Dialect) {
	x.dialect = d
	asked := requestedExtensions(x.r.Header)
	if active := x.s.activeExtensions(asked); len(active) > 0 {
		x.w.Header().Set(dialect.ExtensionsHeader(d), strings.Join(active, ", "))
	}
	caller := a2a.CallerFrom(x.ctx) // somebody in front may have set who it is
	caller.Extensions = asked
	x.ctx = a2a.WithCaller(x.ctx, caller)
}

// activeExtensions returns those of the asked ones that the card has.
func (s *Server) activeExtensions(asked []string) []string {
	var active []string
	for _, e := range s.card.Capabilities.Extensions {
		if slices.Contains(asked, e.URI) {
			active = append(active, e.URI)
		}
	}
	return active
}

// requestedVersion prefers the header to the query parameter. Neither name
// has a fixed case.
func requestedVersion(r *http.Request) string {
	if v := headerVersion(r.Header); v != "" {
		return v
	}
	if r.URL.RawQuery == "" {
		return ""
	}
	for k, vs := range r.URL.Query() {
		if strings.EqualFold(k, versionName) && len(vs) > 0 {
			return vs[0]
		}
	}
	return ""
}

// first returns a header's first value. The name is as net/http has it in its
// map, which saves the look whether it is: many are asked for with each request.
func first(h http.Header, key string) string {
	if v := h[key]; len(v) > 0 {
		return v[0]
	}
	return ""
}

const (
	versionName = "A2A-Version"
	versionKey  = "A2a-Version" // as net/http has it in its map
)

// extensionsKeys are the headers that name extensions, likewise.
var extensionsKeys = [...]string{"A2a-Extensions", "X-A2a-Extensions"}

func headerVersion(h http.Header) string {
	for _, v := range h[versionKey] {
		if v = strings.TrimSpace(v); v != "" {
			return v
		}
	}
	return ""
}

// maxExtensions is how many extensions of a request are looked at: there are
// thousands in a header that is as long as it may be, and each is compared with
// all before it.
const maxExtensions = 100

// requestedExtensions collects the URIs of both header names, in order,
// without repeats.
func requestedExtensions(h http.Header) []string {
	var uris []string
	for _, key := range extensionsKeys {
		for _, line := range h[key] {
			for uri := range strings.SplitSeq(line, ",") {
				if uri = strings.TrimSpace(uri); uri != "" && !slices.Contains(uris, uri) {
					if len(uris) == maxExtensions {
						return uris
					}
					uris = append(uris, uri)
				}
			}
		}
	}
	return uris
}
