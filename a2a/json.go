package a2a

import "bytes"

// JSON is a raw JSON value, kept byte for byte: large integers, nulls and the
// order of keys survive. Empty means absent. Decoded values are copies and
// valid; values set by a program must be valid JSON.
type JSON []byte

// AppendJSON appends the value as it is, or null if it is absent.
func (v JSON) AppendJSON(b []byte) []byte {
	if len(v) == 0 {
		return append(b, "null"...)
	}
	return append(b, v...)
}

// MarshalJSON returns the value as it is, or null if it is absent.
func (v JSON) MarshalJSON() ([]byte, error) {
	if len(v) == 0 {
		return []byte("null"), nil
	}
	return v, nil
}

// UnmarshalJSON keeps a copy of doc.
func (v *JSON) UnmarshalJSON(doc []byte) error {
	*v = bytes.Clone(doc)
	return nil
}
