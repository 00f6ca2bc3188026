package main

import (
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// redactor is what all diagnostics are written through: it takes credentials
// out, whoever put them in, and no flag turns it off (a2a-cli §12.1). A secret
// must come in one Write, as log records and messages do.
type redactor struct {
	mu      sync.Mutex // a wait may speak up while something else is written
	w       io.Writer
	secrets []string // longest first
}

// hide adds secrets, and the forms in which they appear in URLs, JSON and
// quoted text.
func (r *redactor) hide(secrets ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range secrets {
		if s == "" {
			continue
		}
		quoted := strconv.Quote(s)
		r.secrets = append(r.secrets, s, quoted[1:len(quoted)-1], url.QueryEscape(s), url.PathEscape(s))
	}
	slices.SortFunc(r.secrets, func(a, b string) int { return len(b) - len(a) })
	r.secrets = slices.Compact(r.secrets)
}

// hideParams hides the values of service parameters: any of them may be a
// credential. Values of less than 4 bytes are none, and hiding them would
// garble everything; names are not shown with them anyway.
func (r *redactor) hideParams(p serviceParams) {
	for _, values := range p {
		for _, v := range values {
			if len(v) >= 4 {
				r.hide(v)
			}
			if _, token, ok := strings.Cut(v, " "); ok && len(token) >= 4 {
				r.hide(token) // "Bearer xyz"
			}
		}
	}
}

// redact returns s without the secrets.
func (r *redactor) redact(s string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.redactLocked(s)
}

func (r *redactor) redactLocked(s string) string {
	for _, secret := range r.secrets {
		s = strings.ReplaceAll(s, secret, redacted)
	}
	return s
}

func (r *redactor) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := io.WriteString(r.w, r.redactLocked(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
