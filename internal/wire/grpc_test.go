package wire

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/iotest"
)

func TestMessagesOneByteAtATime(t *testing.T) {
	body := AppendMessage(AppendMessage(nil, []byte("first")), nil)
	r := NewMessageReader(iotest.OneByteReader(bytes.NewReader(body)), 5)
	for _, want := range []string{"first", ""} {
		got, err := r.Next()
		if err != nil || string(got) != want {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if _, err := r.Next(); err != io.EOF {
		t.Errorf("got %v", err)
	}
}

func TestMessagesThatAreWrong(t *testing.T) {
	for in, want := range map[string]error{
		"\x00\x00\x00\x00\x06second": ErrMessageTooLarge,
		"\x00\xff\xff\xff\xff":       ErrMessageTooLarge,
		"\x01\x00\x00\x00\x01x":      errCompressed,
		"\x00\x00\x00\x00\x05cut":    io.ErrUnexpectedEOF,
		"\x00\x00":                   io.ErrUnexpectedEOF,
	} {
		if _, err := NewMessageReader(bytes.NewReader([]byte(in)), 5).Next(); !errors.Is(err, want) {
			t.Errorf("%q: got %v, want %v", in, err, want)
		}
	}
}

func FuzzMessageReader(f *testing.F) {
	f.Add(AppendMessage(nil, []byte("message")))
	f.Fuzz(func(t *testing.T, body []byte) {
		r := NewMessageReader(bytes.NewReader(body), 1<<10)
		var again []byte
		for {
			m, err := r.Next()
			if err != nil {
				break
			}
			again = AppendMessage(again, m)
		}
		if !bytes.HasPrefix(body, again) {
			t.Fatalf("%q became %q", body, again)
		}
	})
}

// However small the pieces of a body are, a Read ends where its buffer or a message
// ends.
func TestMessagesAreGathered(t *testing.T) {
	var body []byte
	want := []int{5 + 3, 5, 16, 16, 5 + 30 - 32, 5 + 11, 2}
	for _, size := range []int{3, 0, 30, 11} {
		body = AppendMessage(body, bytes.Repeat([]byte{'x'}, size))
	}
	body = append(body, 0, 9) // of a message that is not sent
	g := &Gathered{ReadCloser: io.NopCloser(iotest.OneByteReader(bytes.NewReader(body)))}
	var got []int
	var all []byte
	for {
		p := make([]byte, 16)
		n, err := g.Read(p)
		got, all = append(got, n), append(all, p[:n]...)
		if err != nil {
			break
		}
	}
	if !slices.Equal(got, want) || !bytes.Equal(all, body) {
		t.Errorf("reads of %d bytes, want %d", got, want)
	}
}
