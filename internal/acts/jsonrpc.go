package acts

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"sync/atomic"
)

type jsonrpcCaller struct {
	o    *Options
	i    *iface
	next atomic.Int64
}

func (c *jsonrpcCaller) call(ctx context.Context, r *request) *Answer {
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	maps.Copy(h, r.header)
	x := &exchanged{method: "POST", url: c.i.url, header: h, binding: JSONRPC, version: c.i.version, operation: r.op, kept: r.kept}
	var id any
	if r.raw != nil {
		x.method, x.url, x.body, x.header = r.raw.method, r.raw.url, r.raw.body, r.header
		if o, err := decode(x.body); err == nil {
			id, _ = lookup(o, "id")
		}
	} else {
		row, method := ops[r.op], ""
		params := r.params
		if c.i.version == "0.3" {
			method, params = row.rpc03, encode03(r.op, r.params, true)
		} else {
			method, params = row.rpc, c.i.addressed(params)
		}
		if method == "" {
			return &Answer{op: r.op, broken: errInexpressible}
		}
		// Ids alternate between numbers and strings: an answer must have the same id, with its
		// type.
		if n := c.next.Add(1); n%2 == 0 {
			id = float64(n)
		} else {
			id = fmt.Sprintf("call-%d", n)
		}
		envelope := obj{"jsonrpc": "2.0", "id": id, "method": method}
		if params != nil {
			envelope["params"] = params
		}
		body, err := json.Marshal(envelope)
		if err != nil {
			return &Answer{op: r.op, broken: err}
		}
		x.body = body
	}
	x.event = func(e *StreamEvent, envelope obj) {
		if envelope["error"] != nil {
			e.err = rpcError(envelope["error"], http.StatusOK)
		} else {
			e.value = c.i.decode(r.op, envelope["result"])
		}
	}
	a := exchange(ctx, c.o, x)
	a.id = id
	c.o.watch.rpc(c.i, a, id, x.body)
	if a.stream != nil || a.broken != nil {
		return a
	}
	envelope, ok := a.raw.(obj)
	switch {
	case envelope["error"] != nil:
		a.err = rpcError(envelope["error"], a.status)
	case a.status == http.StatusUnauthorized || a.status == http.StatusForbidden: // in a document of its own
		a.err = &OpError{HTTP: a.status, Message: http.StatusText(a.status), Whole: a.raw}
	case !ok && r.raw == nil:
		a.broken = fmt.Errorf("HTTP %d without a JSON-RPC answer", a.status)
	default:
		a.value = c.i.decode(r.op, envelope["result"])
	}
	return a
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
