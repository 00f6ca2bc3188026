package a2aserver

import (
	"bytes"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/wire"
)

// serveRPC answers a JSON-RPC request (§9).
func (s *Server) serveRPC(w http.ResponseWriter, r *http.Request) {
	version := requestedVersion(r)
	x := s.newHTTPCall(w, r, a2a.BindingJSONRPC, jsonMedia, dialect.Says(version))
	defer x.protect()
	if err := x.rpc(version); err != nil {
		x.fail(err)
	}
}

func (x *httpCall) rpc(version string) error {
	if err := x.enter(); err != nil {
		return err
	}
	body, err := x.body()
	defer x.letGo()
	if err != nil {
		return err
	}
	req, bad := x.s.parse(body, version)
	if x.id = req.ID; len(body) > pinned {
		x.id = bytes.Clone(x.id)
	}
	if bad != nil {
		if err := x.s.judge(&req, version); err != nil {
			return err
		}
		return envelopeError(bad)
	}
	op, d, err := dialect.DetectRPC(req.Method, version, x.s.opts.StrictVersions)
	if err != nil {
		if errors.Is(err, &a2a.Error{Code: a2a.CodeVersionNotSupported}) {
			x.dialect = dialect.V10 // it has a code for this error
		}
		return err
	}
	x.codec = dialect.CodecOf(d, a2a.BindingJSONRPC)
	x.operation(d, op)
	x.eventful = d < dialect.V10 && dialect.Get(op).Streams && acceptsEvents(x.r.Header)
	// The first clients of 0.1 skip events that do not begin with their data. A client
	// that sends a cursor knows ids.
	x.plain = d.Lax() && first(x.r.Header, cursorKey) == ""
	x.activates(requestedExtensions(x.headers))
	in, err := x.codec.DecodeRequest(op, req.Params)
	if err != nil {
		return err
	}
	x.params = req.Params
	return x.perform(x, op, in)
}

// pinned is how large a body may be, in bytes, to stay in memory with its id for the
// whole call.
const pinned = 4 << 10

// parse reads an envelope. It must be complete, except for the methods of dialects that
// allow jsonrpc and id to be missing (DIALECTS 5.1).
func (s *Server) parse(body []byte, version string) (wire.Request, *wire.Error) {
	req, bad := wire.ParseRequest(body)
	if bad == nil || bad.Code != wire.CodeInvalidRequest {
		return req, bad
	}
	lax, worse := wire.ParseLaxRequest(body)
	if worse != nil {
		return req, bad
	}
	if _, d, err := dialect.DetectRPC(lax.Method, version, s.opts.StrictVersions); err != nil || !d.Lax() {
		return req, bad
	}
	return lax, nil
}

// judge returns what is wrong with the method or the params of a request without an id,
// if a version before 1.0 is spoken: readers of 0.3 expect these errors first. nil
// means that only the id is wrong.
func (s *Server) judge(req *wire.Request, version string) error {
	if !req.NoID {
		return nil
	}
	op, d, err := dialect.DetectRPC(req.Method, version, s.opts.StrictVersions)
	switch {
	case err == nil && d < dialect.V10:
		asked, err := dialect.CodecOf(d, a2a.BindingJSONRPC).DecodeRequest(op, req.Params)
		if v, ok := asked.(interface{ Validate() error }); ok && err == nil {
			err = v.Validate() // missing fields show only here
		}
		return err
	case err != nil && dialect.Says(version) < dialect.V10:
		return err
	}
	return nil
}

// acceptsEvents reports whether a client accepts server-sent events.
func acceptsEvents(h http.Header) bool {
	return slices.ContainsFunc(h["Accept"], func(v string) bool { return strings.Contains(strings.ToLower(v), mediaEvents) })
}

func envelopeError(e *wire.Error) error {
	code := a2a.CodeInvalidRequest
	if e.Code == wire.CodeParse {
		code = a2a.CodeParse
	}
	return &a2a.Error{Code: code, Message: e.Message}
}
