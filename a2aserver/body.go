package a2aserver

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// bodyTimeout bounds the arrival of a request's body.
const bodyTimeout = time.Minute

// limitBody starts the time limit of a request's body. It also runs if no handler reads
// the body, because the HTTP server reads it before it answers.
func limitBody(w http.ResponseWriter, r *http.Request) {
	if hasBody(r) {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout)) // not every writer has deadlines
	}
}

func hasBody(r *http.Request) bool {
	return r.ContentLength != 0 && r.Body != nil && r.Body != http.NoBody
}

// body reads the request's body, whose Content-Type must be JSON or missing.
func (x *httpCall) body() ([]byte, error) {
	if !hasBody(x.r) {
		return nil, nil
	}
	if err := checkMedia(x.r.Header); err != nil {
		return nil, err
	}
	return x.readBody(x.s.opts.maxBody())
}

// skipBody reads a body that a request should not have. Only after that does the HTTP
// server notice when the client disconnects.
func (x *httpCall) skipBody() error {
	const most = 4 << 10
	if !hasBody(x.r) {
		return nil
	}
	_, err := x.readBody(min(most, x.s.opts.maxBody()))
	return err
}

func (x *httpCall) readBody(limit int64) ([]byte, error) {
	size, from := x.r.ContentLength, x.r.Body
	if size < 0 {
		size, from = minBody, http.MaxBytesReader(x.w, from, limit)
	}
	if size > limit {
		return nil, errBody(limit)
	}
	// One byte more than announced, so that the last read finds the end, too. An
	// announced body takes no memory before it arrives, and none of the budget before
	// enough of it has arrived to make the announcement credible.
	var p pieces
	defer p.free()
	buf := p.start(size + 1)
	for {
		n, err := from.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		read := p.size + int64(len(buf))
		switch {
		case read > limit:
			return nil, errBody(limit)
		case err == io.EOF:
			x.bodyRead = true
			_ = x.r.Body.Close()                  // otherwise the HTTP server checks for more before it answers
			_ = x.rc.SetReadDeadline(time.Time{}) // from here on a read waits for the client to leave
			return p.join(buf), x.decodes(x.ctx, x.s, x.key)
		case err != nil:
			if max := (*http.MaxBytesError)(nil); errors.As(err, &max) {
				return nil, errBody(limit)
			}
			return nil, &a2a.Error{Code: a2a.CodeInvalidRequest, Message: "the body did not arrive in full", Cause: err}
		case len(buf) < cap(buf):
			continue
		}
		if read >= large && x.s.memory != nil && x.hold.Held() == 0 {
			announced := x.r.ContentLength
			if announced < 0 {
				announced = limit
			}
			if err := ensureBody(x.ctx, &x.rc, x.hold, announced); err != nil {
				return nil, err
			}
		}
		buf = p.next(buf, size+1)
	}
}

// pieces are buffers for the beginning of a large body, which are used again. A buffer that
// grew in their place would be copied again and again, and each copy would be garbage:
// bodies without end made a third of what a server under attack had to collect.
type pieces struct {
	lent []*[large]byte
	full [][]byte // parts of the body, in order
	size int64    // of full
}

var freePieces = sync.Pool{New: func() any { return new([large]byte) }}

// lend returns an empty piece.
func (p *pieces) lend() []byte {
	p.lent = append(p.lent, freePieces.Get().(*[large]byte))
	return p.lent[len(p.lent)-1][:0]
}

// start returns a buffer for the beginning of a body for which size bytes are announced.
func (p *pieces) start(size int64) []byte {
	if size > large {
		return p.lend()
	}
	return make([]byte, 0, size)
}

// next returns the buffer that follows a full one: if more than that was announced, one that
// also has what has arrived.
func (p *pieces) next(buf []byte, announced int64) []byte {
	switch read := p.size + int64(len(buf)); {
	case read < announced: // enough has arrived to believe it
		buf = append(make([]byte, 0, announced), buf...)
		p.free()
		return buf
	case read < large:
		return slices.Grow(buf, len(buf))
	}
	p.full, p.size = append(p.full, buf), p.size+int64(len(buf))
	return p.lend()
}

// join returns the body, which ends with last.
func (p *pieces) join(last []byte) []byte {
	if len(p.lent) == 0 {
		return last
	}
	return bytes.Join(append(p.full, last), nil)
}

// free takes the pieces back. What join returned stays.
func (p *pieces) free() {
	for _, piece := range p.lent {
		freePieces.Put(piece)
	}
	p.lent = nil
}

const minBody = 512 // room for a body of unknown size

func errBody(limit int64) error {
	return a2a.Errorf(a2a.CodeTooLarge, "the body is larger than %d bytes; send large files by URL", limit)
}

// checkMedia accepts JSON under both media types, with any charset, and a missing type.
// The reader of the text checks that it is UTF-8.
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
