package acts

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

type restCaller struct {
	client *http.Client
	i      *iface
}

func (c *restCaller) call(ctx context.Context, r *request) *Answer {
	if r.op != "" && !c.encode(r) {
		return inexpressible(c.i, r)
	}
	a := exchange(ctx, c.client, c.i, r, func(e *StreamEvent, o obj) {
		if o["error"] != nil {
			e.err = googleError(o, http.StatusOK)
		} else {
			e.value = c.i.decode(r.op, o)
		}
	})
	a.checkREST()
	if a.stream != nil || a.broken != nil {
		return a
	}
	if a.status < 200 || a.status > 299 {
		a.err = restError(a)
		return a
	}
	a.value = c.i.decode(r.op, a.raw)
	return a
}

// encode makes the HTTP request of an operation; it returns false if the version does not have
// the operation.
func (c *restCaller) encode(r *request) bool {
	row := ops[r.op]
	route := row.route
	if c.i.version == "0.3" {
		route = row.route03
	} else if c.i.tenant != "" {
		route = "/" + url.PathEscape(c.i.tenant) + route
	}
	if route == "" {
		return false
	}
	params := maps.Clone(r.params)
	for _, name := range []string{"taskId", "id"} {
		if strings.Contains(route, "{"+name+"}") {
			route = strings.ReplaceAll(route, "{"+name+"}", url.PathEscape(plainText(params[name])))
			delete(params, name)
		}
	}
	h := http.Header{"Accept": {"application/json, application/a2a+json, text/event-stream"}}
	r.method, r.url = row.verb, strings.TrimSuffix(c.i.url, "/")+route
	if row.verb == "POST" {
		if c.i.version == "0.3" && !strings.Contains(route, ":cancel") && !strings.Contains(route, ":subscribe") {
			params = encode03(r.op, r.params, false)
		}
		h.Set("Content-Type", "application/json")
		r.body = []byte(compact(params))
	} else if q := query(params); q != "" {
		r.url += "?" + q
	}
	maps.Copy(h, r.header)
	r.header = h
	return true
}

// query encodes parameters as in §11.5.
func query(params obj) string {
	q := url.Values{}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		for _, v := range asList(params[name]) {
			q.Add(name, plainText(v))
		}
	}
	return q.Encode()
}

// restError decodes an answer with an error status.
func restError(a *Answer) *OpError {
	if o, ok := a.raw.(obj); ok {
		return googleError(o, a.status)
	}
	return &OpError{HTTP: a.status, Message: fmt.Sprintf("HTTP %d", a.status), Whole: a.raw}
}

// googleError decodes {"error": {code, status, message, details}} (§11.6), and the forms that
// 0.3 servers use instead.
func googleError(o obj, status int) *OpError {
	e := &OpError{HTTP: status, Whole: o}
	in, ok := o["error"].(obj)
	if !ok {
		in = o
	}
	e.Message, _ = in["message"].(string)
	e.Details, _ = in["details"].([]any)
	if code, ok := o["code"].(float64); ok && code < 0 {
		e.Code = code
	}
	return e
}
