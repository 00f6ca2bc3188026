package openai

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/parley-a2a/parley/a2a"
)

// unfit says why a part cannot be sent to the model. Its text is for the caller.
type unfit string

func (u unfit) Error() string { return string(u) }

// contentOf returns the content for parts: a string if all of them are text, which
// every endpoint accepts, otherwise a list. A part that is unfit is only named there; the
// error is that of the first one.
func (a *Agent) contentOf(parts []*a2a.Part) (any, error) {
	var list []content
	var first error
	for _, p := range parts {
		c, err := a.piece(p)
		if err != nil {
			c, first = textOf("[left out: "+describe(p)+"]"), cmp.Or(first, err)
		}
		list = append(list, c)
	}
	return simple(list), first
}

func textOf(s string) content { return content{Type: "text", Text: s} }

// simple joins pieces that are all text.
func simple(list []content) any {
	texts := make([]string, 0, len(list))
	for _, c := range list {
		if c.Type != "text" {
			return list
		}
		texts = append(texts, c.Text)
	}
	return strings.Join(texts, "\n\n")
}

func (a *Agent) piece(p *a2a.Part) (content, error) {
	switch p.Kind {
	case a2a.PartText:
		return textOf(p.Text), nil
	case a2a.PartData:
		return textOf(string(p.Data)), nil
	case a2a.PartRaw:
		return a.raw(p)
	case a2a.PartURL:
		return a.link(p)
	}
	return content{}, unfit("a part of the message has no content")
}

// raw converts a file whose bytes are in the part.
func (a *Agent) raw(p *a2a.Part) (content, error) {
	media := mediaOf(p)
	switch {
	case strings.HasPrefix(media, "image/"):
		if !a.opts.Images {
			return content{}, unfit("this agent accepts no images: " + describe(p))
		}
		return content{Type: "image_url", ImageURL: &imageURL{dataURL(media, p.Raw)}}, nil
	case textual(media) && utf8.Valid(p.Raw):
		if p.Filename == "" {
			return textOf(string(p.Raw)), nil
		}
		return textOf(fmt.Sprintf("File %q:\n%s", p.Filename, p.Raw)), nil
	case a.opts.Files:
		name := cmp.Or(p.Filename, "file"+extension(media))
		return content{Type: "file", File: &file{Filename: name, FileData: dataURL(media, p.Raw)}}, nil
	}
	return content{}, unfit("this agent accepts no such files: " + describe(p))
}

// link converts a file that the part links to. Only the endpoint may fetch it.
func (a *Agent) link(p *a2a.Part) (content, error) {
	u, err := url.Parse(p.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return content{}, unfit("this agent accepts http and https URLs only")
	}
	if media := mediaOf(p); !strings.HasPrefix(media, "image/") {
		return content{}, unfit("this agent accepts images by URL only; send the bytes of other files: " + describe(p))
	}
	if !a.opts.Images {
		return content{}, unfit("this agent accepts no images: " + describe(p))
	}
	return content{Type: "image_url", ImageURL: &imageURL{p.URL}}, nil
}

// mediaOf returns the part's media type without parameters: the declared one, or else
// one guessed from the name or the bytes.
func mediaOf(p *a2a.Part) string {
	name := p.Filename
	if name == "" && p.Kind == a2a.PartURL {
		if u, err := url.Parse(p.URL); err == nil {
			name = u.Path
		}
	}
	media := cmp.Or(p.MediaType, byExtension[strings.ToLower(path.Ext(name))])
	if media == "" && p.Kind == a2a.PartRaw {
		media = http.DetectContentType(p.Raw)
	}
	if base, _, err := mime.ParseMediaType(media); err == nil {
		return base
	}
	return "application/octet-stream"
}

// byExtension is a fixed table, because the system's table differs from machine to
// machine.
var byExtension = map[string]string{
	".gif": "image/gif", ".jpeg": "image/jpeg", ".jpg": "image/jpeg", ".png": "image/png", ".webp": "image/webp",
	".pdf": "application/pdf", ".json": "application/json",
	".txt": "text/plain", ".md": "text/markdown", ".csv": "text/csv", ".html": "text/html",
}

func extension(media string) string {
	for ext, m := range byExtension {
		if m == media && ext != ".jpeg" {
			return ext
		}
	}
	return ""
}

func textual(media string) bool {
	return strings.HasPrefix(media, "text/") || media == "application/json" ||
		strings.HasSuffix(media, "+json") || media == "application/xml" || media == "application/yaml"
}

func dataURL(media string, b []byte) string {
	return "data:" + media + ";base64," + base64.StdEncoding.EncodeToString(b)
}

// describe describes a part to its sender.
func describe(p *a2a.Part) string {
	media := mediaOf(p)
	if p.Filename == "" {
		return media
	}
	return fmt.Sprintf("%q, %s", p.Filename, media)
}

// sizeOf returns the rough size of a content in a request, in bytes.
func sizeOf(c any) int {
	if s, ok := c.(string); ok {
		return len(s)
	}
	b, err := json.Marshal(c)
	if err != nil {
		return 0
	}
	return len(b)
}
