package a2aserver

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
)

// serveProbe answers 200 if err is nil, else 503 with its text.
func (s *Server) serveProbe(w http.ResponseWriter, r *http.Request, err error) {
	if !s.only(w, r, readers) {
		return
	}
	text, status := "ok\n", http.StatusOK
	if err != nil {
		text, status = err.Error()+"\n", http.StatusServiceUnavailable
	}
	w.Header().Set("Cache-Control", "no-store")
	writeText(w, status, text)
}

// serveHint tells a person who opens the agent's URL in a browser what this is.
func (s *Server) serveHint(w http.ResponseWriter, r *http.Request) {
	if !s.only(w, r, []string{http.MethodGet, http.MethodHead, http.MethodPost}) {
		return
	}
	base, err := s.baseURL(r, r.URL.EscapedPath())
	if err != nil {
		base = ""
	}
	writeText(w, http.StatusOK, fmt.Sprintf("%q is an agent that speaks A2A %s.\n\n"+
		"Its card:  %s\nJSON-RPC:  POST to this address, in every version\nHTTP+JSON: POST to %s/message:send, in 0.3 to %[4]s/v1/message:send\n",
		s.card.Name, strings.Join(dialect.Versions, ", "), base+cardPath, base))
}

// readers are the methods that read.
var readers = []string{http.MethodGet, http.MethodHead}

// only refuses other methods with 405.
func (s *Server) only(w http.ResponseWriter, r *http.Request, methods []string) bool {
	if slices.Contains(methods, r.Method) {
		return true
	}
	allow := strings.Join(methods, ", ")
	w.Header().Set("Allow", allow)
	s.refuse(w, r, a2a.Errorf(a2a.CodeMethodNotAllowed, "%.16s is not allowed here: use %s", r.Method, allow))
	return false
}

func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) // nobody to tell
}
