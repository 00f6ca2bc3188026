package auth

import (
	"errors"
	"testing"
	"time"
)

// A requirement without scopes is empty, and SDKs that omit empty members need a
// signature of their own.
func TestSignaturesInEachForm(t *testing.T) {
	a, b := generate(t, "ES256"), generate(t, "EdDSA")
	full := `{"name":"n","supportedInterfaces":[],"securityRequirements":[{"schemes":{"k":{"list":[]}}}]}`
	for _, c := range []struct {
		name, doc string
		o         *SignOptions
		want      int
	}{
		{"nothing empty", `{"name":"n","supportedInterfaces":[{"url":"u","protocolBinding":"b","protocolVersion":"1.0"}]}`, nil, 2},
		{"something empty", full, nil, 4},
		{"something empty, by the letter", full, &SignOptions{Strict: true}, 2},
		{"before 1.0", `{"name":"","url":"u","security":[{"k":[]}]}`, nil, 2},
	} {
		made, err := Signatures([]byte(c.doc), []*Key{a, b}, c.o)
		if err != nil || len(made) != c.want {
			t.Errorf("%s: %d signatures, %v", c.name, len(made), err)
			continue
		}
		card, err := parseCard([]byte(c.doc))
		if err != nil {
			t.Fatal(err)
		}
		var list []any
		for _, s := range made {
			list = append(list, map[string]any{"protected": s.Protected, "signature": s.Signature})
		}
		card["signatures"] = list
		for _, stripped := range []bool{false, true} {
			v, err := VerifyJSON(t.Context(), appendCanonical(nil, card), KeySet{a.Public(), b.Public()}, &VerifyOptions{Stripped: stripped})
			if err != nil || v.Err() != nil {
				t.Fatalf("%s: %v, %v", c.name, err, v.Err())
			}
			for i, r := range v.Results {
				if holds := stripped || i < 2; holds != (r.Err == nil) {
					t.Errorf("%s, stripped %v: signatures[%d]: %v", c.name, stripped, i, r.Err)
				}
			}
		}
	}
	for _, c := range []struct {
		doc  string
		key  *Key
		want error
	}{
		{`{"name":"n","name":"m"}`, a, nil},
		{`[]`, a, nil},
		{`{}`, a.Public(), nil},
		{`{}`, a.Until(time.Now().Add(-time.Hour)), ErrKeyExpired},
	} {
		if made, err := Signatures([]byte(c.doc), []*Key{b, c.key}, nil); err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v, %v", c.doc, made, err)
		}
	}
}
