package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/parley-a2a/parley/a2a"
)

// message shows who says what under a label. Nil shows nothing.
func (p *textPrinter) message(label string, m *a2a.Message) {
	if m == nil {
		return
	}
	p.out.field(label, m.Role.String())
	if p.verbose {
		p.out.field("Message ID", m.MessageID)
		p.out.field("Extensions", strings.Join(m.Extensions, ", "))
		p.out.field("References", strings.Join(m.ReferenceTaskIDs, ", "))
		p.metadata(m.Metadata)
	}
	p.parts(m.Parts, "\n")
}

func (p *textPrinter) artifact(a *a2a.Artifact) {
	if a.Name != "" {
		p.names[a.ArtifactID] = a.Name
	}
	p.begun[a.ArtifactID] = true
	name := p.names[a.ArtifactID]
	if name == "" {
		name = a.ArtifactID
	}
	p.out.field("Artifact", name)
	if p.verbose {
		p.out.field("Artifact ID", a.ArtifactID)
		p.out.field("Description", a.Description)
		p.out.field("Extensions", strings.Join(a.Extensions, ", "))
		p.metadata(a.Metadata)
	}
	p.parts(a.Parts, "") // chunks of one text
}

func (p *textPrinter) metadata(v a2a.JSON) {
	if p.verbose && len(v) > 0 {
		p.out.jsonBlock("Metadata", indent(v))
	}
}

// parts shows every part: text as text, data as JSON, files by name, type and
// size (a2a-cli §10.2). Unless verbose, texts that follow each other are one,
// joined by sep where they have no line break of their own.
func (p *textPrinter) parts(list []*a2a.Part, sep string) {
	for i := 0; i < len(list); i++ {
		part := list[i]
		if part.Kind == a2a.PartText && !p.verbose {
			var text strings.Builder
			text.WriteString(part.Text)
			for i+1 < len(list) && list[i+1].Kind == a2a.PartText {
				if text.Len() > 0 && !strings.HasSuffix(text.String(), "\n") {
					text.WriteString(sep)
				}
				i++
				text.WriteString(list[i].Text)
			}
			p.out.block("Text", text.String())
			continue
		}
		p.part(part)
	}
}

func (p *textPrinter) part(part *a2a.Part) {
	switch part.Kind {
	case a2a.PartRaw:
		name := part.Filename
		if name == "" {
			name = "unnamed"
		}
		p.out.field("File", name)
		p.out.field("Media type", part.MediaType)
		p.out.field("Size", fmt.Sprintf("%d bytes", len(part.Raw)))
	case a2a.PartURL:
		name := part.Filename
		if name == "" {
			name = "unnamed"
		}
		p.out.field("File", name)
		p.out.field("Media type", part.MediaType)
		p.out.field("Size", "unknown")
		p.out.field("URL", part.URL)
	default:
		if p.verbose {
			p.out.field("Part name", part.Filename)
			p.out.field("Media type", part.MediaType)
		}
	}
	p.metadata(part.Metadata)
	switch part.Kind {
	case a2a.PartText:
		p.out.block("Text", part.Text)
	case a2a.PartData:
		p.out.jsonBlock("Data", indent(part.Data))
	case a2a.PartUnknown:
		p.out.jsonBlock("Unknown part", indent(part.Data))
	}
}

// indent formats JSON for reading.
func indent(v a2a.JSON) string {
	var b bytes.Buffer
	if err := json.Indent(&b, v, "", "  "); err != nil {
		return string(v)
	}
	return b.String()
}

func validJSON(doc []byte) bool { return json.Valid(doc) }
