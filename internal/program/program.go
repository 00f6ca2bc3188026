// Package program is shared by agents that are programs: commands and HTTP services. It
// converts messages to the programs' text, caller and skill, and the programs' output to
// messages. Its functions are pure.
package program

import (
	"strings"

	"github.com/parley-a2a/parley/a2a"
)

// Caller identifies the sender of a message.
type Caller struct {
	Subject string `json:"subject"`
	Tenant  string `json:"tenant"`
}

// Skill is an a2a.SkillCall.
type Skill struct {
	ID        string   `json:"id"`
	Arguments a2a.JSON `json:"arguments"`
}

// Text returns the message's text, joined by line feeds, and whether there is any: its text
// parts, its files of a text type unless files says that they are passed in another way, and
// its data as JSON.
func Text(m *a2a.Message, files bool) (string, bool) {
	var texts []string
	for _, p := range m.Parts {
		switch {
		case p.Kind == a2a.PartText:
			texts = append(texts, p.Text)
		case p.Kind == a2a.PartRaw && !files && isText(p.MediaType):
			texts = append(texts, string(p.Raw))
		case p.Kind == a2a.PartData:
			texts = append(texts, string(p.Data))
		}
	}
	return strings.Join(texts, "\n"), len(texts) > 0
}

// isText reports whether files of this media type are text.
func isText(media string) bool {
	media, _, _ = strings.Cut(strings.ToLower(media), ";")
	media = strings.TrimSpace(media)
	return strings.HasPrefix(media, "text/") || media == "application/json"
}

// Message returns a program's output as a message, or nil. Metadata without parts gets an empty
// text.
func Message(parts []*a2a.Part, metadata a2a.JSON) *a2a.Message {
	if len(parts) == 0 {
		if len(metadata) == 0 {
			return nil
		}
		parts = []*a2a.Part{a2a.TextPart("")}
	}
	return &a2a.Message{Parts: parts, Metadata: metadata}
}
