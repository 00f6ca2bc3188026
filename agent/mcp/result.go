package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley/a2a"
)

// Limits of a result: how many links are followed, and for how long.
const (
	maxLinks = 16
	maxParts = 1000 // roughly
	linkTime = 30 * time.Second
)

// parts converts a tool's result to parts.
func (r *run) parts(ctx context.Context, res *mcp.CallToolResult) []*a2a.Part {
	var parts []*a2a.Part
	data, same := structured(res)
	if data != nil && !r.takesData() && same >= 0 {
		data, same = nil, -1 // the text has the same content in a form that the client accepts
	}
	links, room := 0, r.tools.opts.maxMessage()
	for i, c := range res.Content {
		if len(parts) >= maxParts {
			parts = append(parts, a2a.TextPart(fmt.Sprintf("(%d more pieces are left out)", len(res.Content)-i)))
			break
		}
		switch c := c.(type) {
		case *mcp.TextContent:
			if i != same && c.Text != "" {
				parts = append(parts, a2a.TextPart(clean(c.Text)))
			}
		case *mcp.ImageContent:
			parts = append(parts, file(c.Data, c.MIMEType, ""))
		case *mcp.AudioContent:
			parts = append(parts, file(c.Data, c.MIMEType, ""))
		case *mcp.EmbeddedResource:
			if p := embedded(c.Resource, ""); p != nil {
				parts = append(parts, p)
			}
		case *mcp.ResourceLink:
			links++
			for _, p := range r.link(ctx, c, links <= maxLinks && room > 0) {
				if room -= len(p.Text) + len(p.Raw); room < 0 || len(parts) >= maxParts {
					parts = append(parts, a2a.TextPart("(the rest of "+cut(clean(c.Name), 200)+" is left out: it is too large)"))
					break
				}
				parts = append(parts, p)
			}
		}
	}
	if data != nil {
		p := a2a.DataPart(data)
		p.MediaType = "application/json"
		parts = append(parts, p)
	}
	return parts
}

// takesData reports whether the client accepts JSON.
func (r *run) takesData() bool {
	modes := r.turn.AcceptedOutputModes()
	return len(modes) == 0 || slices.ContainsFunc(modes, func(m string) bool {
		return m == "application/json" || m == "application/*" || m == "*/*"
	})
}

// structured returns the structured content, and the index of the text that repeats it
// for clients that do not know of it, or -1. The content is taken from that text if
// there is one, because it has the numbers as the tool wrote them.
func structured(res *mcp.CallToolResult) (a2a.JSON, int) {
	if res.StructuredContent == nil {
		return nil, -1
	}
	for i, c := range res.Content {
		t, ok := c.(*mcp.TextContent)
		if !ok {
			continue
		}
		var v any
		if json.Unmarshal([]byte(t.Text), &v) == nil && reflect.DeepEqual(v, res.StructuredContent) {
			return a2a.JSON(strings.TrimSpace(t.Text)), i
		}
	}
	doc, err := json.Marshal(res.StructuredContent)
	if err != nil {
		return nil, -1
	}
	return doc, -1
}

func file(b []byte, mediaType, name string) *a2a.Part {
	if b == nil {
		b = []byte{}
	}
	return a2a.RawPart(b, clean(mediaType), clean(name))
}

// embedded returns an embedded resource as a part, or nil if it is empty.
func embedded(c *mcp.ResourceContents, name string) *a2a.Part {
	switch {
	case c == nil:
		return nil
	case name == "":
		name = baseName(c.URI)
	}
	if c.Blob != nil {
		return file(c.Blob, c.MIMEType, name)
	}
	p := a2a.TextPart(clean(c.Text))
	p.MediaType, p.Filename = clean(c.MIMEType), clean(name)
	return p
}

// link returns the target of a link. Clients can follow web links themselves; other
// links only the server can.
func (r *run) link(ctx context.Context, l *mcp.ResourceLink, follow bool) []*a2a.Part {
	name := clean(l.Name)
	if a2a.WebURL(l.URI) != nil {
		return []*a2a.Part{a2a.URLPart(l.URI, clean(l.MIMEType), name)}
	}
	if follow {
		parts, err := r.tools.read(ctx, l.URI, name)
		if err == nil && len(parts) > 0 {
			return parts
		}
		r.tools.log.Info("a resource that a tool links to cannot be read", "uri", cut(l.URI, 200), "error", err)
	}
	return []*a2a.Part{a2a.TextPart("(the tool refers to " + cut(name, 200) + ", which cannot be fetched here)")}
}

// read gets a resource from the server.
func (t *Tools) read(ctx context.Context, uri, name string) ([]*a2a.Part, error) {
	ctx, cancel := context.WithTimeout(ctx, linkTime)
	defer cancel()
	s, err := t.take(ctx)
	if err != nil {
		return nil, err
	}
	defer t.leave(s)
	var res *mcp.ReadResourceResult
	err = safely(func() (err error) {
		res, err = s.cs.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
		return err
	})
	if err != nil {
		return nil, err
	}
	var parts []*a2a.Part
	for _, c := range res.Contents {
		if p := embedded(c, name); p != nil {
			parts = append(parts, p)
		}
	}
	return parts, nil
}

// textOf returns all text of a result or, if there is none, its structured content.
func textOf(res *mcp.CallToolResult) string {
	var texts []string
	for _, c := range res.Content {
		switch c := c.(type) {
		case *mcp.TextContent:
			texts = append(texts, clean(c.Text))
		case *mcp.EmbeddedResource:
			if c.Resource != nil && c.Resource.Text != "" {
				texts = append(texts, clean(c.Resource.Text))
			}
		case *mcp.ResourceLink:
			texts = append(texts, clean(c.URI))
		case *mcp.ImageContent:
			texts = append(texts, "(an image)")
		case *mcp.AudioContent:
			texts = append(texts, "(a sound)")
		}
	}
	if len(texts) == 0 {
		if data, _ := structured(res); data != nil {
			return string(data)
		}
	}
	return strings.Join(texts, "\n")
}

// baseName returns the last element of a resource's URI.
func baseName(uri string) string {
	u, err := url.Parse(uri)
	if err != nil {
		return ""
	}
	name := cmp.Or(u.Path, u.Opaque)
	if name = path.Base(name); name == "." || name == "/" {
		return ""
	}
	return name
}

func clean(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
