package acts

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"sync/atomic"
)

type jsonrpcCaller struct {
	client *http.Client
	i      *iface
	next   atomic.Int64
}

func (c *jsonrpcCaller) call(ctx context.Context, r *request) *Answer {
	if r.op != "" && !c.encode(r) {
		return inexpressible(c.i, r)
	}
	a := exchange(ctx, c.client, c.i, r, func(e *StreamEvent, envelope obj) {
		if envelope["error"] != nil {
			e.err = rpcError(envelope["error"], http.StatusOK)
		} else {
			e.value = c.i.decode(r.op, envelope["result"])
		}
	})
	sent, _ := decode(r.body)
	a.id, _ = lookup(sent, "id")
	a.checkRPC()
	if a.stream != nil || a.broken != nil {
		return a
	}
	envelope, ok := a.raw.(obj)
	switch {
	case envelope["error"] != nil:
		a.err = rpcError(envelope["error"], a.status)
	case a.status == http.StatusUnauthorized || a.status == http.StatusForbidden: // in a document of its own
		a.err = &OpError{HTTP: a.status, Message: http.StatusText(a.status), Whole: a.raw}
	case !ok && r.op != "":
		a.broken = fmt.Errorf("HTTP %d without a JSON-RPC answer", a.status)
	default:
		a.value = c.i.decode(r.op, envelope["result"])
	}
	return a
}

// encode makes the HTTP request of an operation; it returns false if the version does not have
// the operation.
func (c *jsonrpcCaller) encode(r *request) bool {
	method, params := ops[r.op].rpc, c.i.addressed(r.params)
	if c.i.version == "0.3" {
		method, params = ops[r.op].rpc03, encode03(r.op, r.params, true)
	}
	if method == "" {
		return false
	}
	// Ids alternate between numbers and strings: an answer must have the same id, with its type.
	var id any
	if n := c.next.Add(1); n%2 == 0 {
		id = float64(n)
	} else {
		id = fmt.Sprintf("call-%d", n)
	}
	envelope := obj{"jsonrpc": "2.0", "id": id, "method": method}
	if params != nil {
		envelope["params"] = params
	}
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	maps.Copy(h, r.header)
	r.method, r.url, r.header, r.body = "POST", c.i.url, h, []byte(compact(envelope))
	return true
}

// rpcError decodes the error member of an answer.
func rpcError(v any, status int) *OpError {
	e := &OpError{HTTP: status, Whole: v}
	if o, ok := v.(obj); ok {
		e.Code, _ = o["code"].(float64)
		e.Message, _ = o["message"].(string)
		e.Details, _ = o["data"].([]any)
	}
	return e
}
