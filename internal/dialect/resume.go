package dialect

import (
	"bytes"
	"net/url"
	"strconv"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/json"
)

// The extension by which streams resume exactly if neither the ids of server-sent
// events nor headers get through: docs/extensions/resume-v1.md. Its names and its
// encoding are here and nowhere else.

// Extensions are the extensions of this project, which clients declare if a card
// requires them.
var Extensions = []string{ResumeURI, HopsURI, RetryURI, a2a.SkillsURI}

const (
	// ResumeURI identifies the extension; it is the address of its page.
	ResumeURI = "https://github.com/parley-a2a/parley/blob/main/docs/extensions/resume-v1.md"
	// ResumeQuery is the query parameter of HTTP+JSON that carries the cursor.
	ResumeQuery = "lastEventId"

	resumeMember = "lastEventId" // of the extension's object in the metadata of a request
	eventMember  = "eventId"     // of the one in the metadata of an element
)

// ResumeExtension returns a card's declaration of the extension.
func ResumeExtension() *a2a.AgentExtension {
	return &a2a.AgentExtension{
		URI:         ResumeURI,
		Description: "Every element of a stream has a position, and a subscription continues exactly after one: while the task runs, after it has ended, after a restart.",
	}
}

// HasExtensions reports whether the cards of a dialect declare extensions.
func HasExtensions(d Dialect) bool { return d != V01 }

// Resume is what a streaming request says of the extension in its query or metadata,
// not in its headers.
type Resume struct {
	Asked bool   // it activates the extension
	After int64  // the cursor; 0 if there is none
	Field string // where the cursor is, for errors
}

// ReadResume looks for the extension in a query and then in the metadata of a request:
// that of req or, if its type has none, that of params, which must be a JSON object or
// nil. The error is InvalidParams and names the field.
func ReadResume(query url.Values, req any, params []byte) (Resume, error) {
	if values, ok := query[ResumeQuery]; ok {
		if len(values) > 1 {
			return Resume{}, a2a.Invalid(ResumeQuery, "given %d times", len(values))
		}
		return resumeAt(ResumeQuery, values[0])
	}
	var metadata a2a.JSON
	switch r := req.(type) {
	case *a2a.SendMessageRequest:
		metadata = r.Metadata
	case *a2a.SubscribeToTaskRequest:
		raw, _ := member(params, "metadata")
		metadata = a2a.JSON(raw)
	}
	value, ok := member(metadata, ResumeURI)
	if !ok {
		return Resume{}, nil
	}
	const field = `metadata["` + ResumeURI + `"]`
	if value[0] != '{' {
		return Resume{}, a2a.Invalid(field, "must be an object")
	}
	cursor, ok := member(a2a.JSON(value), resumeMember)
	if !ok {
		return Resume{Asked: true}, nil
	}
	s, ok := json.Unquote(cursor)
	if !ok {
		return Resume{}, a2a.Invalid(field+"."+resumeMember, "must be a string: the %s of an element of this task's stream", eventMember)
	}
	return resumeAt(field+"."+resumeMember, s)
}

// resumeAt reads a cursor. An empty one does not count, as for EventSource.
func resumeAt(field, s string) (Resume, error) {
	if s == "" {
		return Resume{Asked: true, Field: field}, nil
	}
	n, ok := ParseEventID(s)
	if !ok {
		return Resume{}, a2a.Invalid(field, "must be the %s of an element of this task's stream", eventMember)
	}
	return Resume{Asked: true, After: n, Field: field}, nil
}

// ParseEventID reads a position: a whole number above 0, exactly as FormatEventID
// writes it.
func ParseEventID(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && n > 0 && FormatEventID(n) == s
}

// FormatEventID is the inverse of ParseEventID.
func FormatEventID(seq int64) string { return strconv.FormatInt(seq, 10) }

// AppendResume adds a cursor to the params of a subscription, a JSON object
// without metadata.
func AppendResume(params []byte, after int64) []byte {
	return withMember(params, "metadata", withMember(nil, ResumeURI, idObject(resumeMember, after)))
}

// WithEventID returns a copy of el with its position in its metadata. It returns el
// itself if that has no position or no place for one.
func WithEventID(el *a2a.StreamResponse) *a2a.StreamResponse {
	if el.Seq <= 0 {
		return el
	}
	out, metadata := copyForMetadata(el)
	if metadata == nil || !objectOrNothing(*metadata) {
		return el
	}
	*metadata = withMember(*metadata, ResumeURI, idObject(eventMember, el.Seq))
	return out
}

// TakeEventID removes the position from an element's metadata and returns it unchanged;
// "" if there is none. Metadata with nothing else in it becomes absent.
func TakeEventID(el *a2a.StreamResponse) string {
	out, metadata := copyForMetadata(el)
	if metadata == nil {
		return ""
	}
	if id, rest, ok := cutEventID(*metadata); ok {
		*metadata = rest
		*el = *out
		return id
	}
	value, ok := member(*metadata, ResumeURI)
	if !ok {
		return ""
	}
	*metadata = withoutMember(*metadata, ResumeURI)
	*el = *out
	id, _ := member(a2a.JSON(value), eventMember)
	s, _ := json.Unquote(id)
	return s
}

// cutEventID is TakeEventID for metadata as WithEventID writes it. It leaves the rest
// byte for byte.
func cutEventID(metadata a2a.JSON) (id string, rest a2a.JSON, ok bool) {
	after, ok := bytes.CutPrefix(metadata, eventPrefix)
	if !ok || bytes.Contains(after, eventPrefix[1:]) || bytes.IndexByte(after, '\\') >= 0 {
		return "", nil, false
	}
	end := bytes.IndexByte(after, '"')
	if end < 0 || len(after) < end+3 || after[end+1] != '}' {
		return "", nil, false
	}
	id = string(after[:end])
	switch rest = after[end+2:]; {
	case string(rest) == "}":
		return id, nil, true
	case rest[0] == ',':
		return id, append(a2a.JSON{'{'}, rest[1:]...), true
	}
	return "", nil, false
}

var eventPrefix = []byte(`{"` + ResumeURI + `":{"` + eventMember + `":"`)

func idObject(name string, seq int64) []byte {
	return []byte(`{"` + name + `":"` + FormatEventID(seq) + `"}`)
}

// copyForMetadata copies an element so that its metadata can be replaced, and returns
// where that is; nil if there is none.
func copyForMetadata(el *a2a.StreamResponse) (*a2a.StreamResponse, *a2a.JSON) {
	c := *el
	c.Shared = nil // the copy has another JSON form
	switch {
	case el.Task != nil:
		t := *el.Task
		c.Task = &t
		return &c, &t.Metadata
	case el.Message != nil:
		m := *el.Message
		c.Message = &m
		return &c, &m.Metadata
	case el.StatusUpdate != nil:
		u := *el.StatusUpdate
		c.StatusUpdate = &u
		return &c, &u.Metadata
	case el.ArtifactUpdate != nil:
		u := *el.ArtifactUpdate
		c.ArtifactUpdate = &u
		return &c, &u.Metadata
	case el.MessageUpdate != nil:
		u := *el.MessageUpdate
		c.MessageUpdate = &u
		return &c, &u.Metadata
	}
	return &c, nil
}

// objectOrNothing reports whether a member can be added to a value. What an agent sets
// need not be JSON.
func objectOrNothing(v []byte) bool {
	return len(v) == 0 || soundObject(v)
}
