package output

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strconv"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/internal/shape"
)

// JSON writes the protocol's own types, unmodified (a2a-cli Appendix B): one indented document
// or, with Lines, one object per line. Other forms are made from the same documents.
type JSON struct {
	Out      io.Writer
	Lines    bool
	Form     shape.Form          // nil: JSON
	Named    string              // the flag for the form
	Failures *Text               // shows failures that the form cannot; nil: Out does
	Safe     func(string) string // makes a form safe for a terminal (JSON is escaped); nil: no change
	Ctx      context.Context     // of the command that prints
}

// encoder is implemented by all types of package a2a.
type encoder interface{ AppendJSON([]byte) []byte }

// writeDoc reformats the document: raw JSON of an agent may have line breaks, or none.
func (p *JSON) writeDoc(doc []byte) error {
	var b bytes.Buffer
	var err error
	if p.Form != nil {
		out, err := p.Form(p.Ctx, doc)
		if err != nil {
			return failure.Usagef("%s: %v", p.Named, err).WithHint("-o json shows what it is applied to")
		}
		if p.Safe != nil {
			out = []byte(p.Safe(string(out)))
		}
		_, err = p.Out.Write(out)
		return err
	}
	if p.Lines {
		err = json.Compact(&b, doc)
	} else {
		err = json.Indent(&b, doc, "", "  ")
	}
	if err != nil {
		return err
	}
	b.WriteByte('\n')
	out := b.Bytes()
	if p.Safe != nil { // JSON escapes neither C1 controls nor characters that reverse text
		out = []byte(plain.JSON(b.String()))
	}
	_, err = p.Out.Write(out)
	return err
}

// Doc implements Printer.
func (p *JSON) Doc(doc any, _ func(*Writer)) error {
	if own, ok := doc.(encoder); ok {
		return p.writeDoc(own.AppendJSON(nil))
	}
	b, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	return p.writeDoc(b)
}

func (p *JSON) Sending(*a2a.Message) error            { return nil }
func (p *JSON) Sent(r *a2a.SendMessageResponse) error { return p.Doc(r, nil) }
func (p *JSON) Task(t *a2a.Task) error                { return p.Doc(t, nil) }
func (p *JSON) Event(r *a2a.StreamResponse) error     { return p.Doc(r, nil) }
func (p *JSON) Unfinished(*a2a.Task) error            { return nil }

func (p *JSON) Failure(f *failure.Error) error {
	if p.Failures != nil {
		return p.Failures.Failure(f)
	}
	return p.writeDoc(Envelope(f))
}

func (p *JSON) Tasks(r *a2a.ListTasksResponse) error {
	if !p.Lines {
		return p.Doc(r, nil)
	}
	for _, t := range r.Tasks {
		if err := p.Doc(t, nil); err != nil {
			return err
		}
	}
	return nil
}

// Envelope returns the JSON form of a failure (a2a-cli Appendix B). Members
// without a value are null.
func Envelope(f *failure.Error) []byte {
	type body struct {
		Code    string  `json:"code"`
		Message string  `json:"message"`
		Hint    *string `json:"hint"`
		A2ACode any     `json:"a2aCode"` // a number, or a name of gRPC

		Problems []failure.Problem `json:"problems,omitempty"` // in a file
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
	enc.SetEscapeHTML(false) // hints contain <message>
	if err := enc.Encode(map[string]body{"error": b}); err != nil {
		panic(err) // cannot fail for strings and numbers
	}
	return doc.Bytes()
}
