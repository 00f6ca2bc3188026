package agent

import (
	"slices"
	"strings"

	"github.com/parley-a2a/parley/a2a"
)

// messageText returns the message's text, joined by line feeds, and whether
// there is any: its text parts, its files of a text type unless files come in
// another way, and its data as JSON.
func messageText(m *a2a.Message, files bool) (string, bool) {
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

// hasFile reports whether the message carries a file's bytes.
func hasFile(m *a2a.Message) bool {
	return slices.ContainsFunc(m.Parts, func(p *a2a.Part) bool { return p.Kind == a2a.PartRaw })
}

// isText reports whether files of this media type are text.
func isText(media string) bool {
	media, _, _ = strings.Cut(strings.ToLower(media), ";")
	media = strings.TrimSpace(media)
	return strings.HasPrefix(media, "text/") || media == "application/json"
}
