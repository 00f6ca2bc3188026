package plain

import (
	"cmp"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Redacted stands where a secret was.
const Redacted = "[redacted]"

// Writer is what all diagnostics are written through: it takes credentials out,
// whoever put them in, and no flag turns it off (a2a-cli §12.1). A secret must
// come in one Write, as log records and messages do.
type Writer struct {
	w io.Writer

	mu      sync.Mutex        // protects the fields below, and w
	secrets []string          // longest first
	names   map[string]string // what replaces a secret, where that is not Redacted
}

// NewWriter returns a Writer to w that hides nothing yet.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// HideAs adds a secret that name replaces. Secrets that were added before keep
// their replacement.
func (r *Writer) HideAs(name, secret string) {
	r.mu.Lock()
	if r.names == nil {
		r.names = map[string]string{}
	}
	for _, s := range formsOf(secret) {
		if !slices.Contains(r.secrets, s) {
			r.names[s] = name
		}
	}
	r.mu.Unlock()
	r.Hide(secret)
}

// formsOf are those in which a secret appears in URLs, JSON and quoted text.
func formsOf(s string) []string {
	quoted := strconv.Quote(s)
	return []string{s, quoted[1 : len(quoted)-1], url.QueryEscape(s), url.PathEscape(s)}
}

// Hide adds secrets, and the forms in which they appear in URLs, JSON and
// quoted text. Empty ones are ignored.
func (r *Writer) Hide(secrets ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range secrets {
		if s == "" {
			continue
		}
		r.secrets = append(r.secrets, formsOf(s)...)
	}
	slices.SortFunc(r.secrets, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	r.secrets = slices.Compact(r.secrets)
}

// Redact returns s without the secrets.
func (r *Writer) Redact(s string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.redactLocked(s)
}

func (r *Writer) redactLocked(s string) string {
	for _, secret := range r.secrets {
		s = strings.ReplaceAll(s, secret, cmp.Or(r.names[secret], Redacted))
	}
	return s
}

func (r *Writer) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := io.WriteString(r.w, r.redactLocked(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// shownTooShort is the length in bytes below which a secret is left in results: an
// agent's text has the same letters by chance.
const shownTooShort = 8

// Results returns a writer to w for what an agent says, in case it repeats a secret. It
// takes out those of 8 bytes and more, each of which must come in one Write.
func Results(w io.Writer, secrets ...string) io.Writer {
	r := NewWriter(w)
	for _, s := range secrets {
		if len(s) >= shownTooShort {
			r.Hide(s)
		}
	}
	return r
}

// Note writes one line, "label: text", with the text made safe by Line.
func (r *Writer) Note(label, format string, args ...any) {
	fmt.Fprintf(r, "%s: %s\n", label, Line(fmt.Sprintf(format, args...)))
}
