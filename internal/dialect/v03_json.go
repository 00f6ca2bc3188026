package dialect

import (
	"strconv"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/json"
)

// jsonWriter appends JSON to a buffer. Raw JSON stays as it is.
type jsonWriter struct{ b []byte }

// next appends a comma if the object or array has something before it.
func (w *jsonWriter) next() {
	w.b = json.AppendComma(w.b)
}

// open and close write braces and brackets. The value that begins a document is opened
// without next.
func (w *jsonWriter) open(c byte)  { w.b = append(w.b, c) }
func (w *jsonWriter) close(c byte) { w.b = append(w.b, c) }

// key begins a member.
func (w *jsonWriter) key(name string) {
	w.b = json.AppendKey(w.b, name)
}

// member is key for a name that may need escapes.
func (w *jsonWriter) member(name string) {
	w.next()
	w.b = append(appendText(w.b, name), ':')
}

// object begins a member that is an object.
func (w *jsonWriter) object(name string) {
	w.key(name)
	w.open('{')
}

func (w *jsonWriter) text(name, s string) {
	w.key(name)
	w.b = appendText(w.b, s)
}

// optText and the others whose names begin with opt omit what is empty.
func (w *jsonWriter) optText(name, s string) {
	if s != "" {
		w.text(name, s)
	}
}

func (w *jsonWriter) texts(name string, list []string) {
	w.key(name)
	w.open('[')
	for _, s := range list {
		w.next()
		w.b = appendText(w.b, s)
	}
	w.close(']')
}

func (w *jsonWriter) optTexts(name string, list []string) {
	if len(list) > 0 {
		w.texts(name, list)
	}
}

func (w *jsonWriter) bool(name string, v bool) {
	w.key(name)
	w.b = strconv.AppendBool(w.b, v)
}

func (w *jsonWriter) optBool(name string, v bool) {
	if v {
		w.bool(name, v)
	}
}

func (w *jsonWriter) int(name string, v int32) {
	w.key(name)
	w.b = strconv.AppendInt(w.b, int64(v), 10)
}

func (w *jsonWriter) optInt(name string, v *int32) {
	if v != nil {
		w.int(name, *v)
	}
}

func (w *jsonWriter) raw(name string, v a2a.JSON) {
	w.key(name)
	w.b = v.AppendJSON(w.b)
}

func (w *jsonWriter) optRaw(name string, v a2a.JSON) {
	if len(v) > 0 {
		w.raw(name, v)
	}
}

func (w *jsonWriter) bytes(name string, v []byte) {
	w.key(name)
	w.b = json.AppendBase64(w.b, v)
}

func (w *jsonWriter) optTime(name string, t time.Time) {
	if !t.IsZero() {
		w.key(name)
		w.b = t.UTC().AppendFormat(w.b, `"2006-01-02T15:04:05.000Z"`)
	}
}

// orEmpty returns p; or, for nil, a mistake of the program's, an empty value, so that the
// document stays readable.
func orEmpty[T any](p *T) *T {
	if p == nil {
		return new(T)
	}
	return p
}

// list writes an array whose items do writes.
func list[T any](w *jsonWriter, name string, items []T, do func(T)) {
	w.key(name)
	w.open('[')
	for _, item := range items {
		w.next()
		do(item)
	}
	w.close(']')
}

// objects writes an array of objects that encode themselves. nil, a mistake of the
// program's, becomes an empty one.
func objects[T any, P interface {
	*T
	appender
}](w *jsonWriter, name string, items []P) {
	list(w, name, items, func(p P) {
		p = orEmpty(p)
		w.b = p.AppendJSON(w.b)
	})
}

// appendText appends a string with the escapes that every release has used for old
// versions.
func appendText(dst []byte, s string) []byte {
	return json.AppendStringAs(dst, s, "\n\t")
}
