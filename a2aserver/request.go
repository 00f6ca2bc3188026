package a2aserver

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/internal/port"
)

// request is what an exchange knows of a request, over any binding.
type request struct {
	binding string
	method  string      // of HTTP, or the operation
	path    string      // or the method of gRPC
	headers http.Header // over gRPC, the metadata that we use
	host    string      // as the client called it
	remote  string      // address of the connection
	tls     *tls.ConnectionState
	onPort  bool          // it came through a Port, which has gRPC
	mount   string        // the path that the Port's handler is mounted at; gRPC is not below it
	http    *http.Request // nil over gRPC
}

func ofHTTP(r *http.Request, binding string) request {
	return request{binding, r.Method, r.URL.Path, r.Header, r.Host, r.RemoteAddr, r.TLS, port.Serves(r.Context()), port.Mount(r.Context()), r}
}

// forIdentity returns the request in the form for an Identity. ctx is that of the call.
func (q *request) forIdentity(ctx context.Context) *http.Request {
	if q.http != nil {
		return q.http
	}
	r := &http.Request{Method: http.MethodPost, URL: &url.URL{Path: q.path}, Proto: "HTTP/2.0", ProtoMajor: 2, Header: allMetadata(ctx), Body: http.NoBody, Host: q.host, RemoteAddr: q.remote, TLS: q.tls}
	return r.WithContext(ctx)
}

// activeExtensions returns the asked extensions that the card has.
func (s *Server) activeExtensions(asked []string) []string {
	var active []string
	for _, e := range s.card.Capabilities.Extensions {
		if e != nil && slices.Contains(asked, e.URI) {
			active = append(active, e.URI)
		}
	}
	return active
}

// requestedVersion prefers the header to the query parameter. Neither name
// has a fixed case.
func requestedVersion(r *http.Request) string {
	if v := headerVersion(r.Header); v != "" {
		return v
	}
	if r.URL.RawQuery == "" {
		return ""
	}
	for k, vs := range r.URL.Query() {
		if strings.EqualFold(k, versionName) && len(vs) > 0 {
			return vs[0]
		}
	}
	return ""
}

// first returns a header's first value. The name must be as net/http has it in its map,
// which saves checking it: many headers are looked up for each request.
func first(h http.Header, key string) string {
	if v := h[key]; len(v) > 0 {
		return v[0]
	}
	return ""
}

const (
	versionName = "A2A-Version"
	versionKey  = "A2a-Version" // as net/http has it in its map
)

// extensionsKeys are the headers that name extensions, as net/http has them in its map.
var extensionsKeys = [...]string{"A2a-Extensions", "X-A2a-Extensions"}

func headerVersion(h http.Header) string {
	for _, v := range h[versionKey] {
		if v = strings.TrimSpace(v); v != "" {
			return v
		}
	}
	return ""
}

// maxExtensions is how many extensions of a request are looked at: a header of the
// greatest length has thousands, and each is compared with all before it.
const maxExtensions = 100

// requestedExtensions collects the URIs of both header names, in order,
// without repeats.
func requestedExtensions(h http.Header) []string {
	var uris []string
	for _, key := range extensionsKeys {
		for _, line := range h[key] {
			for uri := range strings.SplitSeq(line, ",") {
				if uri = strings.TrimSpace(uri); uri != "" && !slices.Contains(uris, uri) {
					if len(uris) == maxExtensions {
						return uris
					}
					uris = append(uris, uri)
				}
			}
		}
	}
	return uris
}
