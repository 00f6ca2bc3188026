package plain

import (
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
	secrets []string          // longest first, each once
	names   map[string]string // what replaces each
}

// NewWriter returns a Writer to w that hides nothing yet.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w, names: map[string]string{}} }

// HideAs adds a secret that name replaces, and the forms in which it appears in URLs, JSON
// and quoted text. Those that were added before keep their replacement; an empty one is
// ignored.
func (r *Writer) HideAs(name, secret string) {
	if secret == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range formsOf(secret) {
		if _, known := r.names[s]; !known {
			r.names[s] = name
			r.secrets = append(r.secrets, s)
		}
	}
	slices.SortFunc(r.secrets, func(a, b string) int { return len(b) - len(a) })
}

// formsOf are those in which a secret appears in URLs, JSON and quoted text.
func formsOf(s string) []string {
	quoted := strconv.Quote(s)
	return []string{s, quoted[1 : len(quoted)-1], url.QueryEscape(s), url.PathEscape(s)}
}

// Hide is HideAs for secrets that Redacted replaces.
func (r *Writer) Hide(secrets ...string) {
	for _, s := range secrets {
		r.HideAs(Redacted, s)
	}
}

// Redact returns s without the secrets.
func (r *Writer) Redact(s string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.redactLocked(s)
}

func (r *Writer) redactLocked(s string) string {
	for _, secret := range r.secrets {
		s = strings.ReplaceAll(s, secret, r.names[secret])
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
