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

// Redacted replaces a secret.
const Redacted = "[redacted]"

// Writer is for all diagnostics: it removes credentials, from any source, and no flag turns it
// off (a2a-cli §12.1). A secret must come in one Write, as in log records and messages.
type Writer struct {
	w io.Writer

	mu      sync.Mutex        // protects the fields below, and w
	secrets []string          // longest first, each once
	names   map[string]string // the replacement for each
}

// NewWriter returns a Writer to w that hides nothing yet.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w, names: map[string]string{}} }

// HideAs adds a secret that name replaces, with the forms in which it appears in URLs, JSON and
// quoted text. A secret that was added before keeps its replacement; an empty one is ignored.
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

// formsOf returns the forms in which a secret appears in URLs, JSON and quoted text.
func formsOf(s string) []string {
	quoted := strconv.Quote(s)
	return []string{s, quoted[1 : len(quoted)-1], url.QueryEscape(s), url.PathEscape(s)}
}

// Hide is HideAs with Redacted as the replacement.
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

// shownTooShort is the length in bytes below which a secret stays in results, because an
// agent's text may contain the same letters by chance.
const shownTooShort = 8

// Results returns a writer to w for an agent's text, which may repeat a secret. It removes
// secrets of 8 bytes or more, each of which must come in one Write.
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
