package wire

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func joined(in string) (events []string, err error) {
	r := NewReader(strings.NewReader(in), 1<<10)
	r.JoinJSON()
	for {
		ev, err := r.Next()
		if err != nil {
			return events, err
		}
		events = append(events, string(ev.Data))
	}
}

// As the examples of version 0.1 print events: no blank after the colon, and no field
// names on the continuation lines.
func TestReaderJoinsJSON(t *testing.T) {
	tests := map[string]struct {
		in   string
		want []string
	}{
		"pretty":           {"data:{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 1,\n  \"result\": [\n    1,\n    -2,\n    true,\n    null\n  ]\n}\n\ndata: {}\n\n", []string{`{"jsonrpc":"2.0","id":1,"result":[1,-2,true,null]}`, `{}`}},
		"with CRLF":        {"data: {\r\n\"a\":\r\n{\"b\":1}\r\n}\r\n\r\n", []string{`{"a":{"b":1}}`}},
		"fields between":   {"data: {\nid: 7\n\"a\": 1\nevent: x\n}\n\n", []string{`{"a":1}`}},
		"comments between": {"data: {\n: ping\n\"a\": 1}\n\n", []string{`{"a":1}`}},
		"other fields":     {"data: {}\nretry: 3\nfoo: bar\nfoo\n\n", []string{`{}`}},
		"before the data":  {"\"a\": 1\ndata: {}\n\n", []string{`{}`}},
		"data lines, too":  {"data: {\ndata: \"a\":\n1\ndata: }\n\n", []string{`{"a":1}`}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := joined(tt.in)
			if err != io.EOF || len(got) != len(tt.want) {
				t.Fatalf("%q, %v", got, err)
			}
			for i := range got {
				var b bytes.Buffer
				if err := json.Compact(&b, []byte(got[i])); err != nil || b.String() != tt.want[i] {
					t.Errorf("event %d is %q (%v), want %s", i, got[i], err, tt.want[i])
				}
			}
		})
	}
	if got, err := joined("data: {\n" + strings.Repeat("\"a\",\n", 300) + "\n\n"); err == io.EOF {
		t.Errorf("an event beyond the limit was read: %d", len(got))
	}
}

// Streams in the standard's form are read by the standard's rules, however their bytes
// are split.
func FuzzReaderJoinJSON(f *testing.F) {
	f.Add([]byte("data:{\n \"a\":1\n}\n\ndata: x\nid: 3\n\n"))
	f.Add([]byte("data: {}\n-1\nnull,\nretry: 1\n\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		whole, werr := joined(string(in))
		r := NewReader(iotest.OneByteReader(bytes.NewReader(in)), 1<<10)
		r.JoinJSON()
		for i := 0; ; i++ {
			ev, err := r.Next()
			if err != nil {
				if i != len(whole) || (err == io.EOF) != (werr == io.EOF) {
					t.Fatalf("%d events and %v, whole %d and %v", i, err, len(whole), werr)
				}
				break
			}
			if i >= len(whole) || string(ev.Data) != whole[i] {
				t.Fatalf("event %d is %q", i, ev.Data)
			}
		}
		strict, err := readAll(bytes.NewReader(in), 1<<10)
		if err == io.EOF && werr == io.EOF && len(strict) > len(whole) { // without data there is no event
			t.Fatalf("%d events by the standard, %d joined", len(strict), len(whole))
		}
	})
}
