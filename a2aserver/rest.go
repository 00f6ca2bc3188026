package a2aserver

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/wire"
)

// serveREST answers a request of HTTP+JSON (§11), and all unknown paths.
func (s *Server) serveREST(w http.ResponseWriter, r *http.Request, path string) {
	x := s.newHTTPCall(w, r, a2a.BindingHTTPJSON, restMedia(r.Header), dialect.V10)
	defer x.protect()
	if err := x.rest(path); err != nil {
		x.fail(err)
	}
}

func (x *httpCall) rest(path string) error {
	version := requestedVersion(x.r)
	m, allow, err := dialect.DetectREST(x.r.Method, path, version, x.s.opts.StrictVersions)
	if err != nil {
		if !errors.Is(err, &a2a.Error{Code: a2a.CodeVersionNotSupported}) {
			x.dialect = dialect.SaysREST(path, version)
		}
		if len(allow) > 0 {
			x.w.Header().Set("Allow", strings.Join(allow, ", "))
		}
		return err
	}
	x.codec = m.Codec()
	x.operation(m.Dialect, m.Op)
	if err := x.enter(); err != nil {
		return err
	}
	x.activates(requestedExtensions(x.headers))
	body, err := x.restBody(m.Route)
	defer x.letGo()
	if err != nil {
		return err
	}
	query, err := url.ParseQuery(x.r.URL.RawQuery)
	if err != nil {
		return a2a.Errorf(a2a.CodeInvalidParams, "the query is not percent-encoded as it should be")
	}
	in, err := dialect.DecodeREST(m, query, body)
	if err != nil {
		return err
	}
	x.query, x.params = query, body
	return x.perform(x, m.Op, in)
}

// restBody returns the body that a route wants: JSON, or empty.
func (x *httpCall) restBody(r *dialect.Route) ([]byte, error) {
	if !r.Body {
		return nil, x.skipBody()
	}
	body, err := x.body()
	if err != nil || len(body) == 0 {
		return nil, err
	}
	if bad := wire.CheckJSON(body); bad != nil {
		return nil, envelopeError(bad)
	}
	return body, nil
}
