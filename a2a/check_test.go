package a2a

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	ours "github.com/parley-a2a/parley/internal/json"
)

func TestSyntaxErrorsSayWhere(t *testing.T) {
	for doc, want := range map[string]string{
		``:                       "ends too early, after 0 bytes",
		`{`:                      "ends too early, after 1 bytes",
		`{"id":"1"`:              "ends too early",
		`{"id":"1`:               "ends too early",
		`{"id":tru}`:             `unexpected '}' at byte 9`,
		`{"id":"1",}`:            `unexpected '}' at byte 10`,
		`{"id" "1"}`:             `unexpected '"' at byte 6`,
		`{id:1}`:                 `unexpected 'i' at byte 1`,
		`{"id":"1"} x`:           `unexpected 'x' at byte 11`,
		`{"id":01}`:              `unexpected '1' at byte 7`,
		`{"id":"a` + "\n" + `"}`: `unexpected '\n' at byte 8`,
		`{"id":"\x"}`:            `unexpected 'x' at byte 8`,
		`{"id":"\u12g4"}`:        `unexpected 'g' at byte 11`,
		`[1 2]`:                  `unexpected '2' at byte 3`,
		`NaN`:                    `unexpected 'N' at byte 0`,
		"{\"id\":\"\xff\"}":      "not UTF-8",
	} {
		err := new(GetTaskRequest).UnmarshalJSON([]byte(doc))
		e, ok := err.(*Error)
		if !ok || e.Code != CodeParse || !strings.Contains(e.Message, want) {
			t.Errorf("%q: got %v, want %q", doc, err, want)
		}
	}
}

// The checker is the one thing between foreign bytes and a decoder that trusts
// them.
func FuzzCheck(f *testing.F) {
	for _, g := range golden {
		f.Add([]byte(g.doc))
	}
	for _, s := range []string{"", " ", "0", "-0.0e+00", "01", "-", "1.", "1e", ".5", `"\u00"`, "[,]", "{,}", "[1,]", "{\"a\":}", "tru", "nullx", "\xef\xbb\xbf{}", "[[[[[[[[[[[]]]]]]]]]]]"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		err := check(doc, MaxDepth)
		if err != nil && err.Code == CodeInvalidParams {
			if bytes.Count(doc, []byte("["))+bytes.Count(doc, []byte("{")) <= MaxDepth {
				t.Fatalf("%q is not that deep", doc)
			}
			return
		}
		if want := json.Valid(doc) && utf8.Valid(doc); (err == nil) != want {
			t.Fatalf("%q: got %v, want valid = %v", doc, err, want)
		}
		if err != nil {
			return
		}
		if got := ours.Read(doc).Skip(); !bytes.Equal(got, bytes.Trim(doc, " \t\r\n")) {
			t.Fatalf("%q: Skip returns %q", doc, got)
		}
	})
}

// The cost must not depend on how deep values nest.
func BenchmarkDecodeDeep(b *testing.B) {
	for _, deep := range []int{1, 90} {
		b.Run(fmt.Sprintf("depth=%d", deep), func(b *testing.B) {
			data := strings.Repeat("[", deep) + strings.Repeat(`"0123456789",`, 1e5) + "0" + strings.Repeat("]", deep)
			doc := []byte(`{"message":{"parts":[{"data":` + data + `}]}}`)
			b.SetBytes(int64(len(doc)))
			for b.Loop() {
				var r SendMessageRequest
				if err := r.UnmarshalJSON(doc); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// The fast check finds the same faults as a slow one, at the same places.
func FuzzCheckExplains(f *testing.F) {
	for _, doc := range []string{`{"a":[1,true,null,"x\u00e4"]}`, `[[[]]]`, `{"a":1}x`, "[\"\xff\"]", `[1`, `"\ud800"`, ` `, strings.Repeat("[", 200) + strings.Repeat("]", 200)} {
		f.Add([]byte(doc), uint16(MaxDepth))
		f.Add([]byte(doc), uint16(2))
		f.Add([]byte(doc), uint16(storedDepth))
	}
	f.Fuzz(func(t *testing.T, doc []byte, most uint16) {
		fast, slow := check(doc, int(most)), explain(doc, int(most))
		if (fast == nil) != (slow == nil) || fast != nil && (fast.Code != slow.Code || fast.Message != slow.Message) {
			t.Fatalf("%q in %d levels: %v, slowly %v", doc, most, fast, slow)
		}
	})
}

// A value so deep that the clients of one binding could not read the answer does not
// get into a task.
func TestWhatIsPublishedCanBeRead(t *testing.T) {
	deep := func(n int) JSON { return JSON(strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n)) }
	for _, n := range []int{publishedDepth, publishedDepth + 1} {
		data := &Artifact{ArtifactID: "a", Parts: []*Part{DataPart(deep(n))}}
		metadata := &Message{MessageID: "m", Role: RoleAgent, Parts: []*Part{TextPart("x")}, Metadata: deep(n)}
		for name, err := range map[string]error{"data": data.Validate(), "metadata": metadata.Validate()} {
			if (err == nil) != (n == publishedDepth) {
				t.Errorf("%s of %d levels: %v", name, n, err)
			}
		}
	}
}

// explain is check, one byte after the other.
func explain(doc []byte, maxDepth int) *Error {
	c := checker{s: doc, max: maxDepth}
	ok := c.value(1)
	if ok {
		c.space()
		ok = c.i == len(doc)
	}
	switch {
	case c.deep:
		return Errorf(CodeInvalidParams, "the JSON nests more than %d levels deep; send it flatter", maxDepth)
	case !ok && c.i >= len(doc):
		return Errorf(CodeParse, "the JSON ends too early, after %d bytes", len(doc))
	case !ok:
		return Errorf(CodeParse, "not JSON: unexpected %q at byte %d", doc[c.i], c.i)
	case !utf8.Valid(doc):
		return Errorf(CodeParse, "not JSON: the text is not UTF-8")
	}
	return nil
}

// checker walks over untrusted bytes. Its methods return false with i on the offending
// byte.
type checker struct {
	s    []byte
	i    int
	max  int
	deep bool // the reason is the nesting, not the syntax
}

func (c *checker) space() {
	for c.i < len(c.s) {
		switch c.s[c.i] {
		case ' ', '\t', '\n', '\r':
			c.i++
		default:
			return
		}
	}
}

// next skips space and consumes b if it is the next byte.
func (c *checker) next(b byte) bool {
	c.space()
	if c.i < len(c.s) && c.s[c.i] == b {
		c.i++
		return true
	}
	return false
}

func (c *checker) value(depth int) bool {
	c.space()
	if c.i >= len(c.s) {
		return false
	}
	switch b := c.s[c.i]; b {
	case '{', '[':
		if depth > c.max {
			c.deep = true
			return false
		}
		c.i++
		if b == '{' {
			return c.members(depth)
		}
		return c.elements(depth)
	case '"':
		return c.str()
	case 't':
		return c.word("true")
	case 'f':
		return c.word("false")
	case 'n':
		return c.word("null")
	}
	return c.number()
}

func (c *checker) members(depth int) bool {
	if c.next('}') {
		return true
	}
	for {
		c.space()
		if c.i >= len(c.s) || c.s[c.i] != '"' || !c.str() || !c.next(':') || !c.value(depth+1) {
			return false
		}
		if c.next('}') {
			return true
		}
		if !c.next(',') {
			return false
		}
	}
}

func (c *checker) elements(depth int) bool {
	if c.next(']') {
		return true
	}
	for {
		if !c.value(depth + 1) {
			return false
		}
		if c.next(']') {
			return true
		}
		if !c.next(',') {
			return false
		}
	}
}

// str consumes a string, whose opening quote is at i.
func (c *checker) str() bool {
	for c.i++; c.i < len(c.s); c.i++ {
		switch b := c.s[c.i]; {
		case b == '"':
			c.i++
			return true
		case b < ' ':
			return false
		case b == '\\' && !c.escape():
			return false
		}
	}
	return false
}

// escape moves from a backslash to the last byte of its sequence.
func (c *checker) escape() bool {
	c.i++
	if c.i >= len(c.s) {
		return false
	}
	switch c.s[c.i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	case 'u':
		for range 4 {
			c.i++
			if c.i >= len(c.s) || strings.IndexByte("0123456789abcdefABCDEF", c.s[c.i]) < 0 {
				return false
			}
		}
		return true
	}
	return false
}

func (c *checker) word(w string) bool {
	for k := range len(w) {
		if c.i >= len(c.s) || c.s[c.i] != w[k] {
			return false
		}
		c.i++
	}
	return true
}

func (c *checker) digits() bool {
	from := c.i
	for c.i < len(c.s) && c.s[c.i]-'0' <= 9 {
		c.i++
	}
	return c.i > from
}

func (c *checker) at(b byte) bool { return c.i < len(c.s) && c.s[c.i] == b }

func (c *checker) number() bool {
	if c.at('-') {
		c.i++
	}
	if c.at('0') {
		c.i++
	} else if !c.digits() {
		return false
	}
	if c.at('.') {
		c.i++
		if !c.digits() {
			return false
		}
	}
	if c.at('e') || c.at('E') {
		c.i++
		if c.at('+') || c.at('-') {
			c.i++
		}
		return c.digits()
	}
	return true
}
