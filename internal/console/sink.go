package console

import "strings"

// fragments is the sink for a page that is already shown: it collects the changes, as templates
// that live.js applies.
type fragments struct{ b strings.Builder }

func (f *fragments) put(into, how, html string) {
	f.b.WriteString(`<template data-into="#` + into + `" data-how="` + how + `">` + html + `</template>`)
}

func (f *fragments) add(into, _, html string) { f.put(into, "append", html) }
func (f *fragments) replace(id, html string)  { f.put(id, "replace", html) }
func (f *fragments) text(id, text string)     { f.put(id, "text", escape(text)) }
func (f *fragments) fill(id, html string)     { f.put(id, "fill", html) }

func (f *fragments) remove(id string) { f.put(id, "remove", "") }

// take returns and clears the collected changes.
func (f *fragments) take() string {
	s := f.b.String()
	f.b.Reset()
	return s
}

// escape escapes a text for HTML. A carriage return would end a line of the stream.
func escape(s string) string { return escaper.Replace(s) }

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\r", "&#13;", "\x00", "\uFFFD")

// sheet is the sink for a page that is being made.
type sheet struct {
	root     element
	elements map[string]*element
	filled   map[string]string
}

// element is an element of a sheet. Its children come before its end tag.
type element struct {
	begin, end string
	text       strings.Builder
	children   []*element
}

func newSheet(root string) *sheet {
	s := &sheet{elements: map[string]*element{}, filled: map[string]string{}}
	s.elements[root] = &s.root
	return s
}

func (e *element) set(html string) {
	at := strings.LastIndex(html, "</")
	*e = element{begin: html[:at], end: html[at:]}
}

func (s *sheet) add(into, id, html string) {
	e := new(element)
	e.set(html)
	s.elements[id] = e
	if p := s.elements[into]; p != nil {
		p.children = append(p.children, e)
	}
}

func (s *sheet) replace(id, html string) {
	if e := s.elements[id]; e != nil {
		e.set(html)
	}
}

func (s *sheet) text(id, text string) {
	if e := s.elements[id]; e != nil {
		e.text.WriteString(escape(text))
	}
}

func (s *sheet) fill(id, html string) { s.filled[id] = html }

// HTML returns the children of the root.
func (s *sheet) HTML() string {
	var b strings.Builder
	s.root.write(&b)
	return b.String()
}

func (e *element) write(b *strings.Builder) {
	b.WriteString(e.begin)
	b.WriteString(e.text.String())
	for _, c := range e.children {
		c.write(b)
	}
	b.WriteString(e.end)
}
