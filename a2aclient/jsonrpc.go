package a2aclient

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/wire"
)

// jsonrpc is the JSON-RPC binding (specification §9) in a dialect.
type jsonrpc struct {
	url     string
	next    func() int64 // makes request ids
	version string
	dialect dialect.Dialect
	codec   dialect.Codec
}

func (b *jsonrpc) ways(op dialect.Op) int {
	if b.method(op) == "" {
		return 0
	}
	return 1
}

func (b *jsonrpc) method(op dialect.Op) string { return dialect.Get(op).Methods[b.dialect] }

func (b *jsonrpc) build(op dialect.Op, _ int, req any) (*call, error) {
	if op == dialect.GetExtendedAgentCard && dialect.CardBesideInterface(b.version) {
		return b.cardBeside(op, req)
	}
	id := strconv.AppendInt(nil, b.next(), 10)
	accept := "application/json"
	if dialect.Get(op).Streams {
		accept = "text/event-stream, application/json"
	}
	params := b.codec.AppendRequest(nil, op, req)
	if after := cursorOf(b.dialect, req); after > 0 {
		params = dialect.AppendResume(params, after)
	}
	return &call{
		op: op, req: req, method: http.MethodPost, url: b.url, accept: accept, id: id,
		body: wire.AppendRequest(nil, id, b.method(op), params),
	}, nil
}

// cardBeside makes the call for an extended card that is an ordinary document next to
// the interface.
func (b *jsonrpc) cardBeside(op dialect.Op, req any) (*call, error) {
	u, err := url.Parse(b.url)
	if err != nil { // choose has parsed it
		return nil, &a2a.Error{Code: a2a.CodeInternal, Message: "the interface's URL cannot be used", Cause: err}
	}
	u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = "", false, "", ""
	u = u.JoinPath("..", "agent", "authenticatedExtendedCard")
	return &call{op: op, req: req, method: http.MethodGet, url: u.String(), accept: "application/json"}, nil
}

func (b *jsonrpc) answer(k *call, res *http.Response, body []byte) (any, error) {
	if k.id == nil {
		if res.StatusCode < 200 || res.StatusCode > 299 {
			return nil, dialect.ErrorFromHTTP(res.StatusCode, res.Header.Get("Content-Type"), body)
		}
		if k.card != nil && wire.CheckJSON(body) == nil {
			return k.card(body)
		}
		card, err := parseCard(body)
		if err != nil {
			return nil, &a2a.Error{Code: a2a.CodeInvalidAgentResponse, Message: "the agent's extended card cannot be read", Cause: err}
		}
		return card, nil
	}
	env, err := wire.ParseResponse(body)
	ok := res.StatusCode >= 200 && res.StatusCode < 300
	switch {
	case err == nil && env.Err != nil && (ok || isRPC(&env)):
		return nil, dialect.ErrorFromRPC(res.StatusCode, env.Err.Code, env.Err.Message, env.Err.Data)
	case !ok: // an intermediary, or a server that answers in plain HTTP
		e := dialect.ErrorFromHTTP(res.StatusCode, res.Header.Get("Content-Type"), body)
		e.Cause = errNoEnvelope
		return nil, e
	case err != nil:
		if wire.CheckJSON(body) == nil {
			return nil, a2a.Errorf(a2a.CodeInvalidAgentResponse, "%s answered %s with JSON that is no JSON-RPC response: is this the address of its JSON-RPC interface?",
				res.Request.URL.Host, k.op)
		}
		return nil, notJSON(k, res, body)
	case !sameID(env.ID, k.id) && b.dialect != dialect.V01: // examples of 0.1 number them arbitrarily
		return nil, a2a.Errorf(a2a.CodeInvalidAgentResponse, "the agent's answer to %s has the id of another request", k.op)
	}
	return decodeAnswer(b.codec, k, env.Result)
}

// sameID compares the id of an answer with the request's, which is a number. Servers
// may keep numbers as floating point, and write 1.0 for 1.
func sameID(got, sent []byte) bool {
	n, err := strconv.ParseFloat(string(got), 64)
	want, _ := strconv.ParseFloat(string(sent), 64)
	return err == nil && n == want
}

// isRPC reports whether an error with an HTTP error status is one of JSON-RPC. A
// gateway in front may also send an "error": a word, an object of its own, or
// google.rpc.Status, whose codes are not negative.
func isRPC(env *wire.Response) bool {
	return env.Err.Code < 0 || env.ID != nil && env.Err.Code != 0
}

// errNoEnvelope is the cause of an error made from an HTTP answer that is not JSON-RPC.
var errNoEnvelope = errors.New("the answer is not JSON-RPC")

// element ignores the id: a stream has its own connection, so a server that repeats the
// id wrongly is not ambiguous.
func (b *jsonrpc) element(k *call, _ string, data []byte) ([]*a2a.StreamResponse, error) {
	env, err := wire.ParseResponse(data)
	if err != nil {
		return nil, &a2a.Error{Code: a2a.CodeInvalidAgentResponse, Message: "an event of the stream cannot be read", Cause: err}
	}
	if env.Err != nil {
		return nil, dialect.ErrorFromRPC(http.StatusOK, env.Err.Code, env.Err.Message, env.Err.Data)
	}
	return b.codec.DecodeEvent(k.op, k.req, env.Result)
}

// decodeAnswer decodes an answer that is no stream: the result of an operation, or the
// whole answer of a streaming one.
func decodeAnswer(c dialect.Codec, k *call, doc []byte) (any, error) {
	if k.card != nil {
		return k.card(doc)
	}
	if !dialect.Get(k.op).Streams {
		return c.DecodeResult(k.op, k.req, doc)
	}
	return c.DecodeEvent(k.op, k.req, doc)
}
