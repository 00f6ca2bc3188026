package a2aserver

import (
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/wire"
)

const (
	mediaJSON = "application/json"
	mediaA2A  = "application/a2a+json"

	mediaEvents = "text/event-stream"
)

// framing is how a binding wraps results and errors.
type framing interface {
	binding() string
	media() []string // of an answer that is no stream, for its header
	status(e *a2a.Error) int
	appendResult(dst []byte, op dialect.Op, req, result any) []byte
	appendBare(dst []byte, op dialect.Op, req, result any) []byte // without what the binding has around it
	events(op dialect.Op, req any) dialect.Events
	beginEvent(dst []byte) []byte // before a document of events
	endEvent(dst []byte) []byte
	appendError(dst []byte, e *a2a.Error) []byte
}

// rpcFraming is JSON-RPC. id and codec are nil until they are known; dialect is
// that of errors.
type rpcFraming struct {
	id      []byte
	dialect dialect.Dialect
	codec   dialect.Codec
}

func (f *rpcFraming) binding() string { return a2a.BindingJSONRPC }

func (f *rpcFraming) media() []string         { return jsonMedia }
func (f *rpcFraming) status(e *a2a.Error) int { return dialect.RPCStatus(e.Code) }

func (f *rpcFraming) appendResult(dst []byte, op dialect.Op, req, result any) []byte {
	dst = wire.AppendResultPrefix(dst, f.id)
	return append(f.appendBare(dst, op, req, result), '}')
}

func (f *rpcFraming) appendBare(dst []byte, op dialect.Op, req, result any) []byte {
	return f.codec.AppendResult(dst, op, req, result)
}

func (f *rpcFraming) events(op dialect.Op, req any) dialect.Events { return f.codec.Events(op, req) }

func (f *rpcFraming) beginEvent(dst []byte) []byte { return wire.AppendResultPrefix(dst, f.id) }
func (f *rpcFraming) endEvent(dst []byte) []byte   { return append(dst, '}') }

func (f *rpcFraming) appendError(dst []byte, e *a2a.Error) []byte {
	return wire.AppendError(dst, f.id, dialect.AppendRPCError(nil, f.dialect, e))
}

// restFraming is HTTP+JSON. codec is nil until it is known; dialect is that of
// errors.
type restFraming struct {
	mediaType []string
	dialect   dialect.Dialect
	codec     dialect.Codec
}

func (f *restFraming) binding() string         { return a2a.BindingHTTPJSON }
func (f *restFraming) media() []string         { return f.mediaType }
func (f *restFraming) status(e *a2a.Error) int { return dialect.HTTPStatus(f.dialect, e.Code) }

func (f *restFraming) appendResult(dst []byte, op dialect.Op, req, result any) []byte {
	if result == nil {
		return append(dst, "{}"...) // a delete: clients parse the body
	}
	return f.appendBare(dst, op, req, result)
}

func (f *restFraming) appendBare(dst []byte, op dialect.Op, req, result any) []byte {
	return f.codec.AppendResult(dst, op, req, result)
}

func (f *restFraming) events(op dialect.Op, req any) dialect.Events { return f.codec.Events(op, req) }

func (f *restFraming) beginEvent(dst []byte) []byte { return dst }
func (f *restFraming) endEvent(dst []byte) []byte   { return dst }

func (f *restFraming) appendError(dst []byte, e *a2a.Error) []byte {
	return dialect.AppendStatus(dst, f.dialect, e)
}

// restMedia picks the media type of an HTTP+JSON answer: the protocol's own if
// the request carries it, or accepts it at least as gladly as plain JSON,
// which older clients insist on (DIALECTS 1.6, 8.4).
func restMedia(h http.Header) []string {
	if field := first(h, "Content-Type"); field != mediaJSON {
		if t, _, _ := mime.ParseMediaType(field); t == mediaA2A {
			return a2aMedia
		}
	}
	best, bestQ := mediaJSON, 0.0
	for _, field := range h["Accept"] {
		for part := range strings.SplitSeq(field, ",") {
			t, params, err := mime.ParseMediaType(strings.TrimSpace(part))
			if err != nil || t != mediaA2A && t != mediaJSON {
				continue
			}
			q := 1.0
			if v, ok := params["q"]; ok {
				q, _ = strconv.ParseFloat(v, 64)
			}
			if q > bestQ { // of equals, the one named first
				best, bestQ = t, q
			}
		}
	}
	if best == mediaA2A {
		return a2aMedia
	}
	return jsonMedia
}
