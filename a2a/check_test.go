package a2a

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
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
		d := decoder{s: doc}
		if got := d.skip(); !bytes.Equal(got, bytes.Trim(doc, " \t\r\n")) || d.i != len(bytes.TrimRight(doc, " \t\r\n")) {
			t.Fatalf("%q: skip returns %q", doc, got)
		}
	})
}

// The cost must not depend on how values nest.
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

// The fast look says yes only where the slow one finds nothing, so that no error
// is missed and none is said otherwise.
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

// What nests so deep that the clients of one binding could not read the answer with
// it does not get into a task.
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
