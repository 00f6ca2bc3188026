package dialect

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// The extension by which a server says that a message may be sent again:
// docs/extensions/retry-v1.md. On the wire a message is identified by its id and, in a
// header, by a key.
const (
	// RetryURI identifies the extension; it is the address of its page.
	RetryURI = "https://github.com/parley-a2a/parley/blob/main/docs/extensions/retry-v1.md"
	// KeyHeader carries the key of a message over HTTP, and over gRPC as metadata
	// (draft-ietf-httpapi-idempotency-key-header).
	KeyHeader = "Idempotency-Key"

	maxKey = 255 // characters
)

// Retry is the content of the extension's params on a card.
type Retry struct {
	Window    time.Duration // for how long a message is recognized, at least; above 0
	Anonymous bool          // also messages of callers who are not authenticated
}

// RetryExtension returns a card's declaration of the extension. Parts of a second are
// not promised: the window is rounded down.
func RetryExtension(r Retry) *a2a.AgentExtension {
	params := `{"window":` + strconv.FormatInt(int64(r.Window/time.Second), 10) + `,"anonymous":` + strconv.FormatBool(r.Anonymous) + `}`
	return &a2a.AgentExtension{
		URI:         RetryURI,
		Description: "A message that is sent again, with the same messageId or Idempotency-Key and the same content, is answered as it was the first time, and nothing is done twice.",
		Params:      a2a.JSON(params),
	}
}

// ReadRetry looks for the extension on a card. It reports false if it is missing, or
// its params promise nothing.
func ReadRetry(card *a2a.AgentCard) (Retry, bool) {
	for _, e := range card.Capabilities.Extensions {
		if e == nil || e.URI != RetryURI {
			continue
		}
		var params struct {
			Window    float64 `json:"window"`
			Anonymous bool    `json:"anonymous"`
		}
		const most = math.MaxInt64 / float64(time.Second) / 2 // longer ones need no precision
		if json.Unmarshal(e.Params, &params) != nil || params.Window <= 0 {
			return Retry{}, false
		}
		window := time.Duration(min(params.Window, most) * float64(time.Second))
		return Retry{window, params.Anonymous}, window > 0
	}
	return Retry{}, false
}

// ReadKey reads the lines of KeyHeader; "" if there is none. The draft has a string of
// structured fields, in double quotes (RFC 8941 §3.3.3); most clients send only its
// content, which is the same key. The error is InvalidParams and names the header.
func ReadKey(lines []string) (string, error) {
	key := ""
	for _, line := range lines {
		k, ok := parseKey(strings.Trim(line, " \t"))
		switch {
		case !ok:
			return "", a2a.Invalid(KeyHeader, "must be 1 to %d printable ASCII characters, alone or as a string in double quotes", maxKey)
		case key != "" && k != key:
			return "", a2a.Invalid(KeyHeader, "given with different values")
		}
		key = k
	}
	return key, nil
}

// WithoutResume removes the resume extension from the metadata of a message to send: it
// is about the stream, and may differ in each attempt.
func WithoutResume(r *a2a.SendMessageRequest) { r.Metadata = withoutMember(r.Metadata, ResumeURI) }

// CheckKey reports whether a key can be sent.
func CheckKey(key string) bool {
	if len(key) < 1 || len(key) > maxKey {
		return false
	}
	for _, c := range []byte(key) {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}

// FormatKey writes a key for KeyHeader.
func FormatKey(key string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
}

func parseKey(s string) (string, bool) {
	if !strings.HasPrefix(s, `"`) {
		return s, CheckKey(s)
	}
	key := make([]byte, 0, len(s))
	for i := 1; i < len(s); i++ {
		switch c := s[i]; c {
		case '"':
			return string(key), i == len(s)-1 && CheckKey(string(key))
		case '\\':
			if i++; i == len(s) || s[i] != '"' && s[i] != '\\' {
				return "", false
			}
			key = append(key, s[i])
		default:
			key = append(key, c)
		}
	}
	return "", false // no closing quote
}
