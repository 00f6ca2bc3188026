package a2aserver

import (
	"net/http"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/wire"
)

// serveRPC answers a JSON-RPC request (§9).
func (s *Server) serveRPC(w http.ResponseWriter, r *http.Request) {
	f := new(rpcFraming)
	x := s.newExchange(w, r, f)
	defer x.protect()
	if err := x.rpc(f); err != nil {
		x.fail(err)
	}
}

func (x *exchange) rpc(f *rpcFraming) error {
	body, err := x.body()
	if err != nil {
		return err
	}
	req, bad := wire.ParseRequest(body)
	f.id = req.ID
	if bad != nil {
		return envelopeError(bad)
	}
	if err := x.serviceParameters(); err != nil {
		return err
	}
	op, err := dialect.ParseMethod(req.Method)
	if err != nil {
		return err
	}
	in, err := dialect.DecodeParams(op, req.Params)
	if err != nil {
		return err
	}
	return x.perform(op, in)
}

func envelopeError(e *wire.Error) error {
	code := a2a.CodeInvalidRequest
	if e.Code == wire.CodeParse {
		code = a2a.CodeParse
	}
	return &a2a.Error{Code: code, Message: e.Message}
}
