package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strconv"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/serve"
	"github.com/parley-a2a/parley/internal/shape"
)

// jsonPrinter writes the protocol's own types, unmodified (a2a-cli Appendix
// B): one indented document, or with lines one object a line. Other forms are made of
// the same documents.
type jsonPrinter struct {
	out   io.Writer
	lines bool
	form  shape.Form          // nil: JSON
	named string              // the flag that asks for the form
	text  *textPrinter        // shows failures, where the form has none; nil: out does
	safe  func(string) string // makes a form fit for a terminal; nil: it is as it is
	ctx   context.Context     // of the one command that prints
}

// encoder is what all types of package a2a are.
type encoder interface{ AppendJSON([]byte) []byte }

func (p *jsonPrinter) write(v encoder) error { return p.writeDoc(v.AppendJSON(nil)) }

// writeDoc formats the document anew: raw JSON of an agent may have line
// breaks, or none.
func (p *jsonPrinter) writeDoc(doc []byte) error {
	var b bytes.Buffer
	var err error
	if p.form != nil {
		out, err := p.form(p.ctx, doc)
		if err != nil {
			return failure.Usagef("%s: %v", p.named, err).WithHint("-o json shows what it is applied to")
		}
		if p.safe != nil {
			out = []byte(p.safe(string(out)))
		}
		_, err = p.out.Write(out)
		return err
	}
	if p.lines {
		err = json.Compact(&b, doc)
	} else {
		err = json.Indent(&b, doc, "", "  ")
	}
	if err != nil {
		return err
	}
	b.WriteByte('\n')
	_, err = p.out.Write(b.Bytes())
	return err
}

func (p *jsonPrinter) sending(*a2a.Message) error            { return nil }
func (p *jsonPrinter) sent(r *a2a.SendMessageResponse) error { return p.write(r) }
func (p *jsonPrinter) task(t *a2a.Task) error                { return p.write(t) }
func (p *jsonPrinter) event(r *a2a.StreamResponse) error     { return p.write(r) }
func (p *jsonPrinter) unfinished(*a2a.Task) error            { return nil }

func (p *jsonPrinter) failure(f *failure.Error) error {
	if p.text != nil {
		return p.text.failure(f)
	}
	return p.writeDoc(envelope(f))
}

func (p *jsonPrinter) card(c *a2a.AgentCard, _ *a2a.AgentInterface, _ bool) error {
	return p.write(c)
}

func (p *jsonPrinter) tasks(r *a2a.ListTasksResponse) error {
	if !p.lines {
		return p.write(r)
	}
	for _, t := range r.Tasks {
		if err := p.write(t); err != nil {
			return err
		}
	}
	return nil
}

func (p *jsonPrinter) settings(list []serve.Value) error {
	doc, err := json.Marshal(map[string][]serve.Value{"settings": list})
	if err != nil {
		return err
	}
	return p.writeDoc(doc)
}

// envelope returns the JSON form of a failure (a2a-cli Appendix B). Members
// without a value are null.
func envelope(f *failure.Error) []byte {
	type body struct {
		Code    string  `json:"code"`
		Message string  `json:"message"`
		Hint    *string `json:"hint"`
		A2ACode any     `json:"a2aCode"` // a number, or a name of gRPC

		Problems []failure.Problem `json:"problems,omitempty"` // of a file
	}
	b := body{Code: f.Code, Problems: f.Problems, Message: strings.Join(append([]string{f.Message}, f.Lines...), "\n")}
	if f.Hint != "" {
		b.Hint = &f.Hint
	}
	if n, err := strconv.Atoi(f.A2ACode); err == nil {
		b.A2ACode = n
	} else if f.A2ACode != "" {
		b.A2ACode = f.A2ACode
	}
	var doc bytes.Buffer
	enc := json.NewEncoder(&doc)
	enc.SetEscapeHTML(false) // hints have <message> in them
	if err := enc.Encode(map[string]body{"error": b}); err != nil {
		panic(err) // strings and numbers cannot fail
	}
	return doc.Bytes()
}
