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

// isRPC reports whether the binding is JSON-RPC; else it is HTTP+JSON.
func (x *httpCall) isRPC() bool { return x.binding == a2a.BindingJSONRPC }

func (x *httpCall) status(e *a2a.Error) int {
	if x.isRPC() {
		return dialect.RPCStatus(e.Code)
	}
	return dialect.HTTPStatus(x.dialect, e.Code)
}

func (x *httpCall) appendResult(dst []byte, op dialect.Op, req, result any) []byte {
	if result == nil && !x.isRPC() {
		return append(dst, "{}"...) // a delete: clients parse the body
	}
	return x.endResult(x.codec.AppendResult(x.beginResult(dst), op, req, result))
}

// beginResult appends what the binding puts before a document of the codec, and
// endResult what it puts after it.
func (x *httpCall) beginResult(dst []byte) []byte {
	if x.isRPC() {
		return wire.AppendResultPrefix(dst, x.id)
	}
	return dst
}

func (x *httpCall) endResult(dst []byte) []byte {
	if x.isRPC() {
		return append(dst, '}')
	}
	return dst
}

func (x *httpCall) appendError(dst []byte, e *a2a.Error) []byte {
	if x.isRPC() {
		return wire.AppendError(dst, x.id, dialect.AppendRPCError(nil, x.dialect, e))
	}
	return dialect.AppendStatus(dst, x.dialect, e)
}

// restMedia picks the media type of an HTTP+JSON answer: the protocol's own if the
// request's body has it or its Accept header prefers it; otherwise plain JSON, which
// older clients require (DIALECTS 1.6, 8.4).
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
			if q > bestQ { // of equals, the first one named
				best, bestQ = t, q
			}
		}
	}
	if best == mediaA2A {
		return a2aMedia
	}
	return jsonMedia
}
