package json

import (
	"bytes"
	"encoding/base64"
	"math"
	"strconv"
	"time"
)

// Text reads a string.
func (r *Reader) Text() (string, *Fault) {
	if r.Peek() != '"' {
		return "", r.Expected("a string")
	}
	return string(r.unquoted()), nil
}

// unquoted consumes a string and returns its content, as a part of the document if that
// is possible.
func (r *Reader) unquoted() []byte {
	s, escaped := r.quoted()
	if escaped {
		s = unescape(make([]byte, 0, len(s)), s)
	}
	return s
}

// Texts reads an array of strings.
func (r *Reader) Texts() (list []string, f *Fault) {
	f = r.Elements(func() *Fault {
		s, f := r.Text()
		list = append(list, s)
		return f
	})
	return list, f
}

// Elements reads an array: element reads each of its elements.
func (r *Reader) Elements(element func() *Fault) *Fault {
	if r.Peek() != '[' {
		return r.Expected("an array")
	}
	r.Enter()
	for i := 0; r.More(); i++ {
		if f := element(); f != nil {
			return f.at(i)
		}
	}
	return nil
}

// Members reads an object with arbitrary names: member reads the value of each.
func (r *Reader) Members(member func(name string) *Fault) *Fault {
	if r.Peek() != '{' {
		return r.Expected("an object")
	}
	for r.Enter(); r.More(); {
		name := string(r.Name())
		if f := member(name); f != nil {
			return f.Under(name)
		}
	}
	return nil
}

func (r *Reader) truth() (bool, *Fault) {
	switch r.Peek() {
	case 't', 'f':
		return r.literal()[0] == 't', nil
	}
	return false, r.Expected("true or false")
}

// maxNumber is the length of the longest string that may be a number.
const maxNumber = 64

// Int32 reads a number, which may be written as a string, as ProtoJSON allows.
func (r *Reader) Int32() (int32, *Fault) {
	var text []byte
	switch b := r.Peek(); {
	case b == '"':
		text, _ = r.quoted() // an escape makes it no number
		if len(text) > maxNumber || !IsNumber(text) {
			return 0, Faultf("expected a whole number, got the string %s", Excerpt(text))
		}
	case b == '-' || b-'0' <= 9:
		text = r.literal()
	default:
		return 0, r.Expected("a whole number")
	}
	n, err := strconv.ParseFloat(string(text), 64)
	switch {
	case err != nil || n < math.MinInt32 || n > math.MaxInt32:
		return 0, Faultf("expected a number from %d to %d", math.MinInt32, math.MaxInt32)
	case n != math.Trunc(n):
		return 0, Faultf("expected a whole number, got %s", Excerpt(text))
	}
	return int32(n), nil
}

// int64 reads an integer, which may be written as a string, as ProtoJSON writes it.
func (r *Reader) int64() (int64, *Fault) {
	var text []byte
	switch b := r.Peek(); {
	case b == '"':
		text, _ = r.quoted()
	case b == '-' || b-'0' <= 9:
		text = r.literal()
	default:
		return 0, r.Expected("a whole number")
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return 0, Faultf("expected a whole number of 64 bits, got %s", Excerpt(text))
	}
	return n, nil
}

// base64 reads base64, standard or URL-safe, padded or not.
func (r *Reader) base64() ([]byte, *Fault) {
	if r.Peek() != '"' {
		return nil, r.Expected("a string in base64")
	}
	s := r.unquoted() // some encoders escape the slash
	enc := base64.StdEncoding
	if bytes.IndexByte(s, '-') >= 0 || bytes.IndexByte(s, '_') >= 0 {
		enc = base64.URLEncoding
	}
	if n := len(s); n == 0 || s[n-1] != '=' {
		enc = enc.WithPadding(base64.NoPadding)
	}
	out := make([]byte, enc.DecodedLen(len(s)))
	n, err := enc.Decode(out, s)
	if err != nil {
		return nil, Faultf("expected base64: %v", err)
	}
	return out[:n], nil
}

// time reads a timestamp: see ParseTime.
func (r *Reader) time() (time.Time, *Fault) {
	if r.Peek() != '"' {
		return time.Time{}, r.Expected("a timestamp")
	}
	s := r.unquoted()
	t, ok := ParseTime(s)
	if !ok {
		return t, Faultf("expected a timestamp such as 2026-01-02T03:04:05.678Z, got %s", Excerpt(s))
	}
	return t, nil
}
