package json

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// A Reader reads forward through a document in which Check has found no flaw except
// Encoding. Methods that read consume exactly one value. The bytes that they return are
// part of the document.
//
//	for r.Enter(); r.More(); {
//		name := r.Name()
//		value := r.Skip()
//	}
type Reader struct {
	doc []byte
	at  int

	// Bound applies to lists that are tagged bounded; nil means any number.
	Bound *Bound

	// Keep keeps what is unknown, for reading the answers of others: members, if the
	// type has a field for them; and whole elements of a list of choices, in the field
	// of the last choice, with a choice beyond the last.
	Keep bool
}

// A Bound limits the elements of a list.
type Bound struct {
	Elements int
	TooMany  string // the fault of a list that has more
}

// Read returns a reader at the beginning of doc.
func Read(doc []byte) *Reader { return &Reader{doc: doc} }

// Peek moves to the next token and returns its first byte, which tells what kind
// of value comes next.
func (r *Reader) Peek() byte {
	for r.doc[r.at] <= ' ' {
		r.at++
	}
	return r.doc[r.at]
}

// Null consumes a null, if there is one.
func (r *Reader) Null() bool {
	if r.Peek() != 'n' {
		return false
	}
	r.at += len("null")
	return true
}

// Enter consumes the bracket that opens an object or an array.
func (r *Reader) Enter() {
	r.Peek()
	r.at++
}

// More reports whether the object or array continues, and moves to its next name or
// element; at the end it consumes the closing bracket.
func (r *Reader) More() bool {
	switch r.Peek() {
	case '}', ']':
		r.at++
		return false
	case ',':
		r.at++
		r.Peek()
	}
	return true
}

// Name consumes the name of a member, and returns its content.
func (r *Reader) Name() []byte {
	name, escaped := r.quoted()
	if escaped {
		name = unescape(nil, name)
	}
	if !utf8.Valid(name) {
		name = []byte(replaceInvalid(name))
	}
	r.Peek()
	r.at++ // the colon
	return name
}

// RawName is Name with the quotes and the escapes.
func (r *Reader) RawName() []byte {
	from := r.at
	r.quoted()
	name := r.doc[from:r.at]
	r.Peek()
	r.at++ // the colon
	return name
}

// quoted consumes a string and returns what is between its quotes, and whether
// it has escapes.
func (r *Reader) quoted() (text []byte, escaped bool) {
	r.at++
	from := r.at
	end := from + bytes.IndexByte(r.doc[from:], '"')
	slash := bytes.IndexByte(r.doc[from:end], '\\')
	if slash < 0 {
		r.at = end + 1
		return r.doc[from:end], false
	}
	for r.at += slash; r.doc[r.at] != '"'; r.at++ {
		if r.doc[r.at] == '\\' {
			r.at++
		}
	}
	r.at++
	return r.doc[from : r.at-1], true
}

// literal consumes a number, true, false or null.
func (r *Reader) literal() []byte {
	from := r.at
	for r.at < len(r.doc) {
		switch r.doc[r.at] {
		case ',', ']', '}', ' ', '\t', '\n', '\r':
			return r.doc[from:r.at:r.at]
		}
		r.at++
	}
	return r.doc[from:]
}

// Skip consumes any value and returns it without white space around.
func (r *Reader) Skip() []byte {
	first := r.Peek()
	from := r.at
	switch first {
	case '"':
		r.quoted()
	case '{', '[':
		r.skipNested()
	default:
		r.literal()
	}
	return r.doc[from:r.at:r.at]
}

func (r *Reader) skipNested() {
	for depth := 0; ; {
		switch r.doc[r.at] {
		case '"':
			r.quoted()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		r.at++
		if depth == 0 {
			return
		}
	}
}

// Unquote returns the content of a string; false for a value of another kind. Bytes
// that are not UTF-8, and halves of surrogate pairs, become U+FFFD.
func Unquote(value []byte) (s string, ok bool) {
	if len(value) < 2 || value[0] != '"' {
		return "", false
	}
	text := value[1 : len(value)-1]
	if bytes.IndexByte(text, '\\') >= 0 {
		text = unescape(make([]byte, 0, len(text)), text)
	}
	if utf8.Valid(text) {
		return string(text), true
	}
	return replaceInvalid(text), true
}

// Half reports whether a string holds an escape for half a surrogate pair, which is
// no character.
func Half(value []byte) bool {
	for {
		slash := bytes.IndexByte(value, '\\')
		if slash < 0 {
			return false
		}
		escape := value[slash:]
		value = escape[2:]
		if escape[1] != 'u' {
			continue
		}
		if r := hex4(escape[2:]); utf16.IsSurrogate(r) {
			if len(escape) < 12 || escape[6] != '\\' || escape[7] != 'u' || utf16.DecodeRune(r, hex4(escape[8:])) == utf8.RuneError {
				return true
			}
			value = escape[12:]
		}
	}
}

// replaceInvalid replaces each byte that is not UTF-8 with U+FFFD, as encoding/json
// does.
func replaceInvalid(text []byte) string { return string([]rune(string(text))) }

// unescape appends the content of a string that is given without its quotes.
func unescape(dst, text []byte) []byte {
	for {
		slash := bytes.IndexByte(text, '\\')
		if slash < 0 {
			return append(dst, text...)
		}
		dst = append(dst, text[:slash]...)
		b := text[slash+1]
		text = text[slash+2:]
		switch b {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r := hex4(text)
			text = text[4:]
			if utf16.IsSurrogate(r) {
				low := utf8.RuneError
				if len(text) >= 6 && text[0] == '\\' && text[1] == 'u' {
					low = hex4(text[2:])
				}
				if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
					text = text[6:]
				}
			}
			dst = utf8.AppendRune(dst, r)
		default: // the quote, the slash and the backslash stand for themselves
			dst = append(dst, b)
		}
	}
}

func hex4(s []byte) (r rune) {
	for _, b := range s[:4] {
		switch {
		case b <= '9':
			b -= '0'
		default:
			b = b | 0x20 - 'a' + 10
		}
		r = r<<4 | rune(b)
	}
	return r
}

// Kind names the kind of a value, for messages, by its first byte.
func Kind(first byte) string {
	switch first {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}
