package acts

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

type restCaller struct {
	o *Options
	i *iface
}

func (c *restCaller) call(ctx context.Context, r *request) *Answer {
	h := http.Header{"Accept": {"application/json, application/a2a+json, text/event-stream"}}
	x := &exchanged{header: h, binding: REST, version: c.i.version, operation: r.op, kept: r.kept}
	if r.raw != nil {
		x.method, x.url, x.body, x.header = r.raw.method, r.raw.url, r.raw.body, r.header
	} else {
		row := ops[r.op]
		route, params := row.route, r.params
		if c.i.version == "0.3" {
			route = row.route03
		} else if c.i.tenant != "" {
			route = "/" + url.PathEscape(c.i.tenant) + route
		}
		if route == "" {
			return &Answer{op: r.op, broken: errInexpressible}
		}
		params = with(params, nil)
		for _, name := range []string{"taskId", "id"} {
			if strings.Contains(route, "{"+name+"}") {
				route = strings.ReplaceAll(route, "{"+name+"}", url.PathEscape(plainText(params[name])))
				delete(params, name)
			}
		}
		x.method, x.url = row.verb, strings.TrimSuffix(c.i.url, "/")+route
		if row.verb == "POST" {
			if c.i.version == "0.3" && !strings.Contains(route, ":cancel") && !strings.Contains(route, ":subscribe") {
				params = encode03(r.op, r.params, false)
			}
			h.Set("Content-Type", "application/json")
			body, err := json.Marshal(params)
			if err != nil {
				return &Answer{op: r.op, broken: err}
			}
			x.body = body
		} else if q := query(params); q != "" {
			x.url += "?" + q
		}
		maps.Copy(h, r.header)
	}
	x.event = func(e *StreamEvent, o obj) {
		if o["error"] != nil {
			e.err = googleError(o, http.StatusOK)
		} else {
			e.value = c.i.decode(r.op, o)
		}
	}
	a := exchange(ctx, c.o, x)
	c.o.watch.rest(c.i, a)
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
