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

// marks match text that needs formatting: a heading, a fence, a quotation or a list at the
// beginning of a line, or emphasis anywhere.
var marks = regexp.MustCompile("(?m)^(#{1,4} |```|> |[-*+] \\S|\\d{1,2}\\. \\S|\\|.*\\|)|\\*\\*\\S|`[^`\\n]+`")

func looksRich(s string) bool { return marks.MatchString(s) && easy(s) }

// Formatting may take time that grows with the square of a paragraph's marks, of a table's
// cells and of the depth of quotations and lists. So a text with more of them than people write
// is not formatted.
const (
	maxMarks = 1000 // of a paragraph, on average
	maxDepth = 40   // columns
)

var (
	// between matches what always ends a paragraph: a blank line, or a bullet.
	between = regexp.MustCompile(`(?m)^([ \t]*| {0,3}>[ \t]*)\r?$|^ {0,3}[-+*][ \t]+\S`)
	// nested matches the marks of quotations and lists before a line's text.
	nested = regexp.MustCompile(`(?m)^([ \t]*(>|[-+*]([ \t]|$)|\d{1,9}[.)]([ \t]|$)))+`)
)

// easy reports whether the time to format a text is linear in its length.
func easy(s string) bool {
	for _, in := range nested.FindAllString(s, -1) {
		if len(in)+3*strings.Count(in, "\t") > maxDepth {
			return false
		}
	}
	marks, cells := 0, 0
	for _, p := range between.Split(s, -1) {
		columns := 0
		for line := range strings.Lines(p) {
			if strings.Contains(line, "-") && strings.Trim(line, "|-:> \t\v\f\r\n") == "" {
				columns = max(columns, strings.Count(line, "|")+1) // if it is below the head of a table
			}
		}
		cells += columns * strings.Count(p, "\n")
		for i := range len(p) {
			if strings.IndexByte("[]()*_~`<\"'", p[i]) >= 0 {
				marks += len(p)
			}
		}
	}
	return marks <= maxMarks*len(s) && cells <= len(s)
}

var markdown = sync.OnceValue(func() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithExtensions(extension.Table, extension.Strikethrough),
		goldmark.WithRendererOptions(html.WithHardWraps()), // raw HTML is left out by default
		goldmark.WithParserOptions(parser.WithASTTransformers(util.Prioritized(tame{}, 100))),
	)
})

// rich formats an agent's text. HTML in it is left out, links may only lead to web addresses,
// and images become links, because a foreign image would tell its server who reads.
func rich(s string) template.HTML {
	var b bytes.Buffer
	if err := markdown().Convert([]byte(s), &b); err != nil {
		return template.HTML(escape(s))
	}
	return template.HTML(strings.ReplaceAll(b.String(), "\r", "&#13;"))
}

// calm replaces characters that mislead the reader of a text: those that reverse its direction,
// so that it reads differently, and controls that no text needs.
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

// calmPart returns a part with calm texts.
func calmPart(p *a2a.Part) *a2a.Part {
	text, name := calm(p.Text), calm(p.Filename)
	if text == p.Text && name == p.Filename {
		return p
	}
	c := *p
	c.Text, c.Filename = text, name
	return &c
}

// tame turns images into links, and links to other than web addresses into text.
type tame struct{}

func (tame) Transform(doc *ast.Document, r text.Reader, _ parser.Context) {
	var links []ast.Node
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if k := n.Kind(); entering && (k == ast.KindLink || k == ast.KindAutoLink || k == ast.KindImage) {
			links = append(links, n)
		}
		if h, ok := n.(*ast.Heading); ok && entering { // below those of the page
			h.Level = min(h.Level+1, 6)
		}
		return ast.WalkContinue, nil
	})
	left := 4 * len(r.Source()) // bytes of addresses; many links may share one
	for _, n := range links {
		link, words := ast.NewLink(), "image"
		switch n := n.(type) {
		case *ast.Link:
			link.Destination, words = n.Destination, ""
		case *ast.Image:
			link.Destination = n.Destination
		case *ast.AutoLink:
			link.Destination, words = n.URL(r.Source()), string(n.Label(r.Source()))
		}
		if n.FirstChild() == nil {
			n.AppendChild(n, ast.NewString([]byte(words)))
		}
		link.SetAttributeString("rel", []byte("noopener noreferrer nofollow"))
		link.SetAttributeString("target", []byte("_blank"))
		p := n.Parent()
		left -= len(link.Destination)
		leads := left >= 0 && webAddress(string(link.Destination)) && !linked(p)
		for c := n.FirstChild(); c != nil; c = n.FirstChild() {
			if leads {
				link.AppendChild(link, c)
			} else {
				p.InsertBefore(p, n, c)
			}
		}
		if leads {
			p.InsertBefore(p, n, link)
		}
		p.RemoveChild(p, n)
	}
}

// linked reports whether a node is in a link.
func linked(n ast.Node) bool {
	return n != nil && (n.Kind() == ast.KindLink || linked(n.Parent()))
}

// webAddress reports whether a link to s is allowed.
func webAddress(s string) bool { return a2a.WebURL(s) != nil }

// node is a JSON value as a collapsible tree.
type node struct {
	Key   string
	Value string // if it is neither object nor array
	List  []node
	Size  int
	Open  bool
}

// Hidden returns how many values of n are not shown.
func (n *node) Hidden() int { return n.Size - len(n.List) }

// maxNodes is how many values a tree shows.
const maxNodes = 2000

// tree returns JSON as a tree for its template; nil if it is not JSON.
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
		var b strings.Builder
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false) // the template does
		err := e.Encode(t)
		return &node{Value: shorten(calm(strings.TrimSuffix(b.String(), "\n")))}, err
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

// fileName returns the name under which a part is saved.
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
