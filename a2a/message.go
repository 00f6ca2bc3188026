package a2a

// Role says who speaks (specification §4.1.5).
type Role int32

const (
	RoleUnspecified Role = 0
	RoleUser        Role = 1
	RoleAgent       Role = 2
)

var roles = newEnum[Role]("a role", "ROLE_", "ROLE_UNSPECIFIED", "ROLE_USER", "ROLE_AGENT")

// String returns the ProtoJSON name, such as ROLE_USER.
func (r Role) String() string { return roles.name(r) }

// MarshalText returns the ProtoJSON name.
func (r Role) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads a ProtoJSON name or a spelling of version 0.x, such as user.
func (r *Role) UnmarshalText(name []byte) error { return roles.unmarshalText(name, r) }

// Message is one turn of a conversation (§4.1.4).
type Message struct {
	MessageID        string   `json:"messageId"`
	ContextID        string   `json:"contextId,omitempty"`
	TaskID           string   `json:"taskId,omitempty"`
	Role             Role     `json:"role"`
	Parts            []*Part  `json:"parts" form:"bounded"` // at least one
	Metadata         JSON     `json:"metadata,omitempty"`   // an object, or empty
	Extensions       []string `json:"extensions,omitempty"`
	ReferenceTaskIDs []string `json:"referenceTaskIds,omitempty"`

	// ElicitationIDs are the questions that the message answers, as far as its sender
	// says so (1.1 draft).
	ElicitationIDs []string `json:"elicitationIds,omitempty" form:"draft"`

	Unknown *JSON `json:"-" form:"unknown"` // see Task.Unknown
}

// Text returns the text of the first text part, or "".
func (m *Message) Text() string {
	if m == nil {
		return ""
	}
	for _, p := range m.Parts {
		if p.Kind == PartText {
			return p.Text
		}
	}
	return ""
}

// PartKind says which of a part's four contents is set. A Part of kind 0
// carries none and is invalid.
type PartKind uint8

const (
	PartText PartKind = 1 + iota
	PartRaw
	PartURL
	PartData

	// PartUnknown is another kind of content, in an answer of a later version's server:
	// Data holds the whole part unchanged. It cannot be sent.
	PartUnknown
)

// Part is a piece of content (§4.1.6): text, bytes, a reference, or any JSON
// value. Kind decides which field counts; build parts with TextPart, RawPart,
// URLPart and DataPart.
type Part struct {
	Kind PartKind `json:"-" form:"which"`
	Text string   `json:"text" form:"choice"`     // PartText
	Raw  []byte   `json:"raw" form:"choice"`      // PartRaw
	URL  string   `json:"url" form:"choice"`      // PartURL
	Data JSON     `json:"data" form:"any,choice"` // PartData; any JSON value, null included

	Metadata  JSON   `json:"metadata,omitempty"` // an object, or empty
	Filename  string `json:"filename,omitempty"`
	MediaType string `json:"mediaType,omitempty"`

	Unknown *JSON `json:"-" form:"unknown"` // see Task.Unknown
}

// TextPart returns a part that holds text.
func TextPart(s string) *Part { return &Part{Kind: PartText, Text: s} }

// UserText returns a message of a user with one part of text. It has no id: a2aclient
// gives it one when it is sent. If you call another Service, such as an engine, set
// MessageID yourself.
func UserText(text string) *Message { return UserMessage(TextPart(text)) }

// UserMessage returns a message of a user with these parts, without an id, like UserText.
func UserMessage(parts ...*Part) *Message { return &Message{Role: RoleUser, Parts: parts} }

// RawPart returns a part that holds a file's bytes. mediaType and filename
// may be empty.
func RawPart(b []byte, mediaType, filename string) *Part {
	return &Part{Kind: PartRaw, Raw: b, MediaType: mediaType, Filename: filename}
}

// URLPart returns a part that points at a file. mediaType and filename may be
// empty.
func URLPart(url, mediaType, filename string) *Part {
	return &Part{Kind: PartURL, URL: url, MediaType: mediaType, Filename: filename}
}

// DataPart returns a part that holds a JSON value, kept as it is.
func DataPart(v JSON) *Part { return &Part{Kind: PartData, Data: v} }
