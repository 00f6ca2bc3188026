package webhook

import (
	"bytes"

	"github.com/parley-a2a/parley/internal/json"
)

// Compact appends a JSON document as the serializers of JavaScript and Python write it:
// without white space, with only those escapes that JSON requires. Bodies that
// Keys.Bearer vouches for are sent in this form, because the receivers of the samples
// parse a body, write it again and hash the result. Numbers and the order of members do
// not change, and neither does a string with half of a surrogate pair, which has no
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
