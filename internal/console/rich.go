package console

import (
	"bytes"
	"encoding/json"
	"html/template"
	"mime"
	"path"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/parley-a2a/parley/a2a"
)

// marks are what text has that wants to be formatted: at a line's beginning a
// heading, a fence, a quotation or a list, or emphasis anywhere.
var marks = regexp.MustCompile("(?m)^(#{1,4} |```|> |[-*+] \\S|\\d{1,2}\\. \\S|\\|.*\\|)|\\*\\*\\S|`[^`\\n]+`")

func looksRich(s string) bool { return marks.MatchString(s) }

var markdown = sync.OnceValue(func() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithExtensions(extension.Table, extension.Strikethrough),
		goldmark.WithRendererOptions(html.WithHardWraps()), // raw HTML is left out by default
		goldmark.WithParserOptions(parser.WithASTTransformers(util.Prioritized(tame{}, 100))),
	)
})

// rich formats an agent's text. HTML in it is left out, links go to web addresses
// only, and images become links: a picture from elsewhere would tell its server who
// reads.
func rich(s string) template.HTML {
	var b bytes.Buffer
	if err := markdown().Convert([]byte(s), &b); err != nil {
		return template.HTML(escape(s))
	}
	return template.HTML(strings.ReplaceAll(b.String(), "\r", "&#13;"))
}

// calm replaces the characters of a text that mislead whoever reads it: those that turn
// its direction around, so that it reads as something else, and controls that no text
// needs.
func calm(s string) string {
	misleads := func(r rune) bool {
		return r < ' ' && r != '\n' && r != '\t' && r != '\r' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f || r == 0x061c
	}
	if strings.IndexFunc(s, misleads) < 0 && !strings.ContainsRune(s, '\r') {
		return s
	}
	return strings.Map(func(r rune) rune {
		if misleads(r) {
			return utf8.RuneError
		}
		return r
	}, strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n"))
}

// calmPart is a part whose texts are calm.
func calmPart(p *a2a.Part) *a2a.Part {
	text, name := calm(p.Text), calm(p.Filename)
	if text == p.Text && name == p.Filename {
		return p
	}
	c := *p
	c.Text, c.Filename = text, name
	return &c
}

// tame rewrites links and images.
type tame struct{}

func (tame) Transform(doc *ast.Document, r text.Reader, _ parser.Context) {
	var images []*ast.Image
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			leaving(n, &n.Destination)
		case *ast.AutoLink:
			if !webAddress(string(n.URL(r.Source()))) {
				n.AutoLinkType = ast.AutoLinkURL
			}
			n.SetAttributeString("rel", []byte("noopener noreferrer nofollow"))
			n.SetAttributeString("target", []byte("_blank"))
		case *ast.Image:
			images = append(images, n)
		}
		return ast.WalkContinue, nil
	})
	for _, i := range images {
		link := ast.NewLink()
		link.Destination = i.Destination
		leaving(link, &link.Destination)
		for c := i.FirstChild(); c != nil; {
			next := c.NextSibling()
			link.AppendChild(link, c)
			c = next
		}
		if link.FirstChild() == nil {
			link.AppendChild(link, ast.NewString([]byte("image")))
		}
		i.Parent().ReplaceChild(i.Parent(), i, link)
	}
}

func leaving(n ast.Node, to *[]byte) {
	if !webAddress(string(*to)) {
		*to = nil
	}
	n.SetAttributeString("rel", []byte("noopener noreferrer nofollow"))
	n.SetAttributeString("target", []byte("_blank"))
}

// webAddress reports whether a link may lead there.
func webAddress(s string) bool { return a2a.WebURL(s) != nil }

// node is a JSON value as a tree that can be unfolded.
type node struct {
	Key   string
	Value string // of what is neither object nor array
	List  []node
	Size  int
	Open  bool
}

// Hidden is how many values of n are not shown.
func (n *node) Hidden() int { return n.Size - len(n.List) }

// maxNodes is how many values a tree shows.
const maxNodes = 2000

// tree takes JSON apart for its template; nil where it is not JSON.
func tree(doc a2a.JSON) *node {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	left := maxNodes
	n, err := branch(d, 0, &left)
	if err != nil {
		return nil
	}
	return n
}

func branch(d *json.Decoder, depth int, left *int) (*node, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	*left--
	delim, ok := t.(json.Delim)
	if !ok {
		b, err := json.Marshal(t)
		return &node{Value: calm(string(b))}, err
	}
	n := &node{Open: depth < 2}
	for d.More() {
		key := ""
		if delim == '{' {
			k, err := d.Token()
			if err != nil {
				return nil, err
			}
			key, _ = k.(string)
			key = calm(key)
		}
		child, err := branch(d, depth+1, left)
		if err != nil {
			return nil, err
		}
		if n.Size++; *left >= 0 && depth < 100 {
			child.Key = key
			n.List = append(n.List, *child)
		}
	}
	_, err = d.Token()
	return n, err
}

// fileName is what a part is called when it is saved.
func fileName(p *a2a.Part) string {
	name := path.Base(strings.ReplaceAll(calm(p.Filename), "\\", "/"))
	if name = strings.Trim(name, "./ "); name != "" {
		return name
	}
	if e, _ := mime.ExtensionsByType(p.MediaType); len(e) > 0 {
		return "file" + e[0]
	}
	return "file"
}
