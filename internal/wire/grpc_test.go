package wire

import (
	"bytes"
	"errors"
	"io"
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
