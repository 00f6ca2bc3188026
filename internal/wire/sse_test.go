package wire

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// readAll returns copies of all events and the error that ended them.
func readAll(r io.Reader, max int) ([]Event, error) {
	sse := NewReader(r, max)
	var all []Event
	for {
		ev, err := sse.Next()
		if err != nil {
			if _, again := sse.Next(); again != err {
				return all, errors.New("the error is not sticky")
			}
			return all, err
		}
		ev.Data = bytes.Clone(ev.Data)
		all = append(all, ev)
	}
}

func TestReaderSplitsAsTheStandardSays(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     []Event
		err      error
	}{
		{"one", "data: a\n\n", []Event{{Data: []byte("a")}}, io.EOF},
		{"all fields", "id: 7\nevent: error\ndata: a\n\n", []Event{{"7", "error", []byte("a")}}, io.EOF},
		{"CR", "id:1\rdata:a\r\rdata:b\r\r", []Event{{ID: "1", Data: []byte("a")}, {Data: []byte("b")}}, io.EOF},
		{"CRLF", "id: 1\r\ndata: a\r\n\r\ndata: b\r\n\r\n", []Event{{ID: "1", Data: []byte("a")}, {Data: []byte("b")}}, io.EOF},
		{"several data lines", "data: {\ndata:  \"a\":1\ndata: }\n\n", []Event{{Data: []byte("{\n \"a\":1\n}")}}, io.EOF},
		{"field name alone", "data\ndata: a\n\n", []Event{{Data: []byte("\na")}}, io.EOF},
		{"comments", ": ping\n\n:\ndata: a\n: in between\n\n", []Event{{Data: []byte("a")}}, io.EOF},
		{"byte order mark", "\ufeffdata: a\n\n", []Event{{Data: []byte("a")}}, io.EOF},
		{"mark only at the start", "data: a\n\n\ufeffdata: b\n\n", []Event{{Data: []byte("a")}}, io.EOF},
		{"empty data", "event: x\ndata:\n\nid: 3\n\ndata: a\n\n", []Event{{Data: []byte("a")}}, io.EOF},
		{"unknown fields", "retry: 10\nfoo: bar\ndata: a\n\n", []Event{{Data: []byte("a")}}, io.EOF},
		{"only one blank is dropped", "data:  a \n\n", []Event{{Data: []byte(" a ")}}, io.EOF},
		{"id with NUL", "id: 1\x002\ndata: a\n\n", []Event{{Data: []byte("a")}}, io.EOF},
		{"colon in data", "data: a: b\n\n", []Event{{Data: []byte("a: b")}}, io.EOF},
		{"nothing", "", nil, io.EOF},
		{"ends in a comment", "data: a\n\n: pi", []Event{{Data: []byte("a")}}, io.EOF},
		{"ends in an event", "data: a\n\ndata: b\n", []Event{{Data: []byte("a")}}, io.ErrUnexpectedEOF},
		{"ends in a line", "data: a\n\nda", []Event{{Data: []byte("a")}}, io.ErrUnexpectedEOF},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for what, r := range map[string]io.Reader{
				"whole":     strings.NewReader(tt.in),
				"bytes":     iotest.OneByteReader(strings.NewReader(tt.in)),
				"early EOF": iotest.DataErrReader(strings.NewReader(tt.in)),
			} {
				got, err := readAll(r, 100)
				if err != tt.err {
					t.Errorf("%s: error %v, want %v", what, err, tt.err)
				}
				if d := cmp.Diff(tt.want, got); d != "" {
					t.Errorf("%s: %s", what, d)
				}
			}
		})
	}
}

// A reader that waited for the byte after a CR would deliver an event only with the
// next one.
func TestReaderDoesNotHoldAnEventBack(t *testing.T) {
	for _, end := range []string{"\n\n", "\r\r", "\r\n\r\n"} {
		pr, pw := io.Pipe()
		sse := NewReader(pr, 100)
		go pw.Write([]byte("data: a" + end)) // and nothing after it
		ev, err := sse.Next()
		if err != nil || string(ev.Data) != "a" {
			t.Errorf("end %q: event %q, error %v", end, ev.Data, err)
		}
		pr.Close()
	}
}

func TestReaderBoundsAnEvent(t *testing.T) {
	long := strings.Repeat("x", 50_000)
	for _, tt := range []struct {
		name, in string
		ok       bool
	}{
		{"fits exactly", "data: " + long + "\n\n", true},
		{"one line", "data: " + long + "x\n\n", false},
		{"many lines", strings.Repeat("data: "+long[:1000]+"\n", 60) + "\n", false},
		{"endless line", strings.Repeat("x", 60_000), false},
		{"endless comment", ": " + strings.Repeat("x", 60_000), false},
	} {
		_, err := readAll(strings.NewReader(tt.in), len(long))
		if ok := !errors.Is(err, ErrEventTooLarge); ok != tt.ok {
			t.Errorf("%s: error %v", tt.name, err)
		}
	}
}

func TestReaderPassesErrorsOn(t *testing.T) {
	boom := errors.New("boom")
	got, err := readAll(io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(boom)), 100)
	if err != boom || len(got) != 1 {
		t.Errorf("%d events, error %v", len(got), err)
	}
}

func TestAppendEventIsRead(t *testing.T) {
	for _, tt := range []struct {
		id, name, data string
		want           Event
	}{
		{"1", "", `{"a":1}`, Event{"1", "", []byte(`{"a":1}`)}},
		{"", "error", "a\nb\r\nc\rd\n", Event{"", "error", []byte("a\nb\nc\nd\n")}},
		{"1\ndata: forged", "x\ry", "a", Event{"", "", []byte("a")}},
	} {
		got, err := readAll(bytes.NewReader(AppendEvent(nil, tt.id, tt.name, []byte(tt.data))), 1000)
		if err != io.EOF {
			t.Fatal(err)
		}
		if d := cmp.Diff([]Event{tt.want}, got); d != "" {
			t.Error(d)
		}
	}
}

// However the bytes arrive, the events are the same.
func FuzzReaderSplit(f *testing.F) {
	f.Add([]byte("id: 1\r\ndata: a\rdata: b\n\r\n: c\n\nevent: e\ndata:x\n\n"), uint(3))
	f.Add([]byte("\ufeffdata: a\r\r\ndata: b\r\n\r\n"), uint(9))
	f.Add(AppendEvent(KeepAlive, "1", "error", []byte("a\nb")), uint(1))
	f.Fuzz(func(t *testing.T, in []byte, at uint) {
		const max = 200
		whole, werr := readAll(bytes.NewReader(in), max)
		at %= uint(len(in) + 1)
		for what, r := range map[string]io.Reader{
			"two":   io.MultiReader(bytes.NewReader(in[:at]), bytes.NewReader(in[at:])),
			"bytes": iotest.OneByteReader(bytes.NewReader(in)),
		} {
			got, err := readAll(r, max)
			if d := cmp.Diff(whole, got); d != "" {
				t.Errorf("%s: %s", what, d)
			}
			if (err == io.EOF) != (werr == io.EOF) || errors.Is(err, ErrEventTooLarge) != errors.Is(werr, ErrEventTooLarge) {
				t.Errorf("%s: error %v, whole %v", what, err, werr)
			}
		}
		for _, ev := range whole { // what was read can be written and read again
			again, err := readAll(bytes.NewReader(AppendEvent(nil, ev.ID, ev.Name, ev.Data)), 10*max)
			if err != io.EOF || len(again) != 1 || !bytes.Equal(again[0].Data, ev.Data) {
				t.Errorf("event %+v came back as %+v, error %v", ev, again, err)
			}
		}
	})
}
