package webhook

import (
	"io"
	"net/http"
	"strings"
)

// Challenge answers a GET with a validationToken, by which servers of 0.1 check that a
// receiver exists, and reports whether the request is one.
func Challenge(w http.ResponseWriter, r *http.Request) bool {
	token := r.URL.Query().Get("validationToken")
	if r.Method != http.MethodGet || token == "" || len(token) > 256 || strings.ContainsFunc(token, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-._~+/=", r))
	}) {
		return false
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = io.WriteString(w, token)
	return true
}
