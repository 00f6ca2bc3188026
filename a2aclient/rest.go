package a2aclient

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/wire"
)

// rest is the HTTP+JSON binding (specification §11) in a dialect.
type rest struct {
	base    string // without a slash at its end
	query   string // of the interface's URL, sent with every call
	dialect dialect.Dialect
}

func newREST(iface string, d dialect.Dialect) (*rest, error) {
	u, err := url.Parse(iface)
	if err != nil { // choose has parsed it
		return nil, &a2a.Error{Code: a2a.CodeInternal, Message: "the interface's URL cannot be used", Cause: err}
	}
	query := u.RawQuery
	u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = "", false, "", ""
	return &rest{
		base: strings.TrimRight(u.String(), "/"), query: query,
		dialect: d,
	}, nil
}

// Some operations have two routes, because the specification spells them in two ways.
func (b *rest) ways(op dialect.Op) int { return dialect.RESTWays(b.dialect, op) }

func (b *rest) build(op dialect.Op, n int, req any) (*call, error) {
	r, err := dialect.BuildREST(b.dialect, op, n, req)
	if err != nil {
		return nil, err
	}
	address, query := b.base+r.Path, r.Query
	if after := cursorOf(b.dialect, req); after > 0 {
		query = strings.TrimPrefix(query+"&"+dialect.ResumeQuery+"="+dialect.FormatEventID(after), "&")
	}
	if b.query != "" {
		query = strings.TrimSuffix(b.query+"&"+query, "&")
	}
	if query != "" {
		address += "?" + query
	}
	accept := "application/a2a+json, application/json"
	if dialect.Get(op).Streams {
		accept = "text/event-stream, " + accept
	}
	return &call{op: op, req: req, method: r.Method, url: address, accept: accept, body: r.Body, codec: r.Codec}, nil
}

func (b *rest) answer(k *call, res *http.Response, body []byte) (any, error) {
	if res.StatusCode < 200 || res.StatusCode > 299 {
		err := dialect.ErrorFromHTTP(res.StatusCode, res.Header.Get("Content-Type"), body)
		if b.dialect < dialect.V10 && k.op != dialect.ListTasks && err.Code == a2a.CodeMethodNotFound && res.StatusCode == http.StatusNotFound &&
			strings.Contains(strings.ToLower(err.Message), "task") {
			err.Code = a2a.CodeTaskNotFound // 0.3 has no form for errors: some servers send only a text
		}
		if b.dialect < dialect.V10 && k.op == dialect.CancelTask && err.Code == a2a.CodeInvalidRequest && res.StatusCode == http.StatusConflict {
			err.Code = a2a.CodeTaskNotCancelable // all its servers use the status for this error
		}
		return nil, err
	}
	if dialect.Get(k.op).Silent {
		return nil, nil // any success counts, with or without a body
	}
	if wire.CheckJSON(body) != nil {
		return nil, notJSON(k, res, body)
	}
	return decodeAnswer(k.codec, k, body)
}

func (b *rest) element(k *call, name string, data []byte) ([]*a2a.StreamResponse, error) {
	if name == "error" {
		return nil, eventError(data)
	}
	els, err := k.codec.DecodeEvent(k.op, k.req, data)
	if err == nil && (len(els) == 0 || empty(els[0])) {
		// Not every server marks its errors with an event name.
		var doc struct{ Error json.RawMessage }
		if json.Unmarshal(data, &doc) == nil && len(doc.Error) > 0 {
			return nil, eventError(data)
		}
	}
	return els, err
}

// eventError decodes an error inside a stream. There is no status line to classify it:
// the body does, or the error is internal.
func eventError(data []byte) error {
	var doc struct{ Error, Status json.RawMessage } // Status: of problem+json
	var inner struct{ Code json.RawMessage }
	_ = json.Unmarshal(data, &doc) // missing members stay empty
	_ = json.Unmarshal(doc.Error, &inner)
	for _, n := range []json.RawMessage{inner.Code, doc.Status} {
		if status, err := strconv.Atoi(string(n)); err == nil && status >= 400 && status < 600 {
			return dialect.ErrorFromHTTP(status, "application/json", data)
		}
	}
	return dialect.ErrorFromHTTP(http.StatusInternalServerError, "application/json", data)
}

// empty reports whether an element is of a kind that this version does not know.
func empty(el *a2a.StreamResponse) bool {
	return el.Task == nil && el.Message == nil && el.StatusUpdate == nil && el.ArtifactUpdate == nil && el.MessageUpdate == nil
}
