package output

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/parley-a2a/parley/a2a"
)

// message shows a message and its role under a label. Nil shows nothing.
func (p *Text) message(label string, m *a2a.Message) {
	if m == nil {
		return
	}
	p.out.Field(label, m.Role.String())
	if p.out.verbose {
		p.out.Field("Message ID", m.MessageID)
		p.out.Field("Extensions", strings.Join(m.Extensions, ", "))
		p.out.Field("References", strings.Join(m.ReferenceTaskIDs, ", "))
		p.metadata(m.Metadata)
	}
	p.parts(m.Parts, "\n")
}

func (p *Text) artifact(a *a2a.Artifact) {
	name := cmp.Or(a.Name, p.names[a.ArtifactID])
	p.names[a.ArtifactID] = name
	p.out.Field("Artifact", cmp.Or(name, a.ArtifactID))
	if p.out.verbose {
		p.out.Field("Artifact ID", a.ArtifactID)
		p.out.Field("Description", a.Description)
		p.out.Field("Extensions", strings.Join(a.Extensions, ", "))
		p.metadata(a.Metadata)
	}
	p.parts(a.Parts, "") // chunks of one text
}

func (p *Text) metadata(v a2a.JSON) {
	if p.out.verbose && len(v) > 0 {
		p.out.JSONBlock("Metadata", indent(v))
	}
}

// parts shows every part: text as text, data as JSON, files by name, type and size (a2a-cli
// §10.2). Unless verbose, consecutive texts are joined, by sep if they have no line break of
// their own.
func (p *Text) parts(list []*a2a.Part, sep string) {
	for i := 0; i < len(list); i++ {
		part := list[i]
		if part.Kind == a2a.PartText && !p.out.verbose {
			var text strings.Builder
			text.WriteString(part.Text)
			for i+1 < len(list) && list[i+1].Kind == a2a.PartText {
				if text.Len() > 0 && !strings.HasSuffix(text.String(), "\n") {
					text.WriteString(sep)
				}
				i++
				text.WriteString(list[i].Text)
			}
			p.out.Block("Text", text.String())
			continue
		}
		p.part(part)
	}
}

func (p *Text) part(part *a2a.Part) {
	switch part.Kind {
	case a2a.PartRaw, a2a.PartURL:
		p.out.Field("File", cmp.Or(part.Filename, "unnamed"))
		p.out.Field("Media type", part.MediaType)
		if part.Kind == a2a.PartRaw {
			p.out.Field("Size", fmt.Sprintf("%d bytes", len(part.Raw)))
		} else {
			p.out.Field("Size", "unknown")
			p.out.Field("URL", part.URL)
		}
	default:
		if p.out.verbose {
			p.out.Field("Part name", part.Filename)
			p.out.Field("Media type", part.MediaType)
		}
	}
	p.metadata(part.Metadata)
	switch part.Kind {
	case a2a.PartText:
		p.out.Block("Text", part.Text)
	case a2a.PartData:
		p.out.JSONBlock("Data", indent(part.Data))
	case a2a.PartUnknown:
		p.out.JSONBlock("Unknown part", indent(part.Data))
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
