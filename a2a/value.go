package a2a

import (
	"bytes"
	"encoding/base64"
	"math"
	"strconv"
)

// string reads a string into p; null is "".
func (d *decoder) string(p *string) *fault {
	*p = ""
	if d.null() {
		return nil
	}
	return d.text(p)
}

func (d *decoder) text(p *string) *fault {
	if d.peek() != '"' {
		return d.expected("a string")
	}
	s, escaped := d.quoted()
	if escaped {
		s = unescape(make([]byte, 0, len(s)), s)
	}
	*p = string(s)
	return nil
}

func (d *decoder) strings(p *[]string) *fault {
	*p = nil
	return d.array(func(int) *fault {
		var s string
		f := d.text(&s)
		*p = append(*p, s)
		return f
	})
}

func (d *decoder) textMap(p *map[string]string) *fault {
	*p = nil
	if d.null() {
		return nil
	}
	*p = map[string]string{}
	return d.mapping(func(key []byte) *fault {
		var s string
		f := d.text(&s)
		(*p)[string(key)] = s
		return f
	})
}

func (d *decoder) bool(p *bool) *fault {
	*p = false
	switch d.peek() {
	case 't':
		*p = true
	case 'f', 'n':
	default:
		return d.expected("true or false")
	}
	d.literal()
	return nil
}

// boolPointer is bool for a field that is nil unless set.
func (d *decoder) boolPointer(p **bool) *fault {
	*p = nil
	if d.null() {
		return nil
	}
	*p = new(bool)
	return d.bool(*p)
}

// int32 reads a number, or one written as a string, as ProtoJSON allows; null
// is 0.
func (d *decoder) int32(p *int32) *fault {
	*p = 0
	var text []byte
	switch b := d.peek(); {
	case b == 'n':
		d.null()
		return nil
	case b == '"':
		text, _ = d.quoted() // an escape makes it no number
		if c := (checker{s: text}); len(text) > maxNumber || !c.number() || c.i != len(text) {
			return faultf("expected a whole number, got the string %s", excerpt(text))
		}
	case b == '-' || b-'0' <= 9:
		text = d.literal()
	default:
		return d.expected("a whole number")
	}
	n, err := strconv.ParseFloat(string(text), 64)
	switch {
	case err != nil || n < math.MinInt32 || n > math.MaxInt32:
		return faultf("expected a number from %d to %d", math.MinInt32, math.MaxInt32)
	case n != math.Trunc(n):
		return faultf("expected a whole number, got %s", excerpt(text))
	}
	*p = int32(n)
	return nil
}

// int64 reads an integer, or one written as a string, which is how ProtoJSON
// writes them; null is 0.
func (d *decoder) int64(p *int64) *fault {
	*p = 0
	var text []byte
	switch b := d.peek(); {
	case b == 'n':
		d.null()
		return nil
	case b == '"':
		text, _ = d.quoted()
	case b == '-' || b-'0' <= 9:
		text = d.literal()
	default:
		return d.expected("a whole number")
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return faultf("expected a whole number of 64 bits, got %s", excerpt(text))
	}
	*p = n
	return nil
}

// int64Pointer is int64 for a field that is nil unless set.
func (d *decoder) int64Pointer(p **int64) *fault {
	*p = nil
	if d.null() {
		return nil
	}
	*p = new(int64)
	return d.int64(*p)
}

// maxNumber is the longest string that is taken for a number.
const maxNumber = 64

// int32Pointer is int32 for a field that is nil unless set.
func (d *decoder) int32Pointer(p **int32) *fault {
	*p = nil
	if d.null() {
		return nil
	}
	*p = new(int32)
	return d.int32(*p)
}

// bytes reads base64, standard or URL-safe, padded or not; the caller has
// handled null.
func (d *decoder) bytes(p *[]byte) *fault {
	*p = nil
	if d.peek() != '"' {
		return d.expected("a string in base64")
	}
	s, escaped := d.quoted()
	if escaped {
		s = unescape(nil, s) // some encoders escape the slash
	}
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
		return faultf("expected base64: %v", err)
	}
	*p = out[:n]
	return nil
}

// any keeps a value of any kind, null included, byte for byte.
func (d *decoder) any(p *JSON) *fault {
	*p = bytes.Clone(d.skip())
	return nil
}

// free keeps an object byte for byte; null is unset.
func (d *decoder) free(p *JSON) *fault {
	*p = nil
	if d.null() {
		return nil
	}
	if d.peek() != '{' {
		return d.expected("an object")
	}
	return d.any(p)
}

// excerpt quotes the beginning of foreign text.
func excerpt(s []byte) string {
	const most = 40
	if len(s) > most {
		return strconv.Quote(string(s[:most])) + "…"
	}
	return strconv.Quote(string(s))
}

// enum reads a value of an enumeration by name or, as ProtoJSON allows, by
// number; null is 0.
func enum[E ~int32](d *decoder, p *E, parse func(string) (E, bool), last E, what, names string) *fault {
	*p = 0
	if d.peek() == '"' {
		var name string
		if f := d.text(&name); f != nil {
			return f
		}
		v, ok := parse(name)
		if !ok {
			return faultf("%s is not %s; use %s", excerpt([]byte(name)), what, names)
		}
		*p = v
		return nil
	}
	if b := d.peek(); b != 'n' && b != '-' && b-'0' > 9 {
		return d.expected(what)
	}
	var n int32
	if f := d.int32(&n); f != nil {
		return f
	}
	if n < 0 || n > int32(last) {
		return faultf("%d is not %s; use %s", n, what, names)
	}
	*p = E(n)
	return nil
}
