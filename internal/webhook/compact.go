package webhook

import (
	"bytes"

	"github.com/parley-a2a/parley/internal/json"
)

// Compact appends a JSON document as the serializers of JavaScript and Python
// write it: without white space, with only those escapes that JSON demands.
// Bodies that Keys.Bearer vouches for are sent so, because the receivers of the
// samples parse a body, write it again and hash that. Numbers and the order of
// members stay as they are, and so does a string with half a character, which has no
// other form. doc must be valid.
func Compact(dst, doc []byte) []byte {
	for len(doc) > 0 {
		switch c := doc[0]; c {
		case ' ', '\t', '\r', '\n':
			doc = doc[1:]
		case '"':
			text := json.Read(doc).Skip()
			if doc = doc[len(text):]; bytes.IndexByte(text, '\\') < 0 || json.Half(text) {
				dst = append(dst, text...)
				continue
			}
			s, _ := json.Unquote(text)
			dst = json.AppendString(dst, s)
		default:
			dst = append(dst, c)
			doc = doc[1:]
		}
	}
	return dst
}
