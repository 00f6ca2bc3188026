package a2a

// JSON is a raw JSON value, kept byte for byte: large integers, nulls and the
// order of keys survive. Empty means absent. Decoded values are copies and
// valid; values set by a program must be valid JSON.
type JSON []byte
