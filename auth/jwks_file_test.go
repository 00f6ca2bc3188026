package auth

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

func newTokenLog(t *testing.T) *slog.Logger { return slog.New(slog.NewTextHandler(t.Output(), nil)) }

func put(t *testing.T, name string, doc []byte) {
	t.Helper()
	if err := os.WriteFile(name+".new", doc, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		t.Fatal(err)
	}
}

// fileMethod returns a method that accepts the issuer's tokens by a file of its keys.
func (is *issuer) fileMethod(t *testing.T, file string) (*JWT, error) {
	return NewJWT(testIssuer, []string{testAudience}, file, &TokenOptions{Now: is.clock, Logger: slog.New(slog.NewTextHandler(&is.log, nil))})
}

func TestFileOfKeysIsReadAgain(t *testing.T) {
	a, b := newSigner(t, "a", "ES256"), newSigner(t, "b", "EdDSA")
	is := newIssuer(a)
	file := filepath.Join(t.TempDir(), "jwks.json")
	put(t, file, is.set())
	m, err := is.fileMethod(t, file)
	if err != nil {
		t.Fatal(err)
	}
	if c := wantGood(t, m, is.token(a, nil)); c.Via != "jwt" || c.Subject != testIssuer+"#alice" {
		t.Errorf("%+v", c)
	}
	is.has(a, b)
	put(t, file, is.set())
	is.pass(time.Second)
	wantGood(t, m, is.token(b, nil))

	// While a file is broken the keys stay as they are, however long that is.
	for name, doc := range map[string]string{"empty": "", "half": string(is.set())[:50], "private": privateSet(t, a), "no set": `{"kty":"OKP"}`} {
		put(t, file, []byte(doc))
		for range 3 {
			is.pass(time.Hour)
			if _, err := try(m, is.token(a, nil)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	is.pass(time.Hour)
	wantGood(t, m, is.token(b, nil))
	if s := is.log.String(); strings.Count(s, "cannot be fetched") < 3 || strings.Contains(s, file) {
		t.Error(s)
	}

	is.has(b)
	put(t, file, is.set())
	is.pass(11 * time.Second)
	wantRefused(t, m, is.token(a, nil), "does not have")
	wantGood(t, m, is.token(b, nil))

	// An operator who writes an empty set wants no keys.
	put(t, file, []byte(`{"keys":[]}`))
	is.pass(11 * time.Second)
	wantRefused(t, m, is.token(b, nil), "does not have")
}

func privateSet(t *testing.T, s signer) string {
	t.Helper()
	doc, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: s.key, KeyID: s.id}}})
	if err != nil {
		t.Fatal(err)
	}
	return string(doc)
}

func TestServerDoesNotStartWithABrokenFile(t *testing.T) {
	s := newSigner(t, "k", "ES256")
	is := newIssuer(s)
	dir := t.TempDir()
	for name, c := range map[string]struct{ doc, says string }{
		"not there":  {"", "no such file"},
		"a folder":   {"/", "not a file"},
		"broken":     {"{", "JSON Web Key Set"},
		"no keys":    {`{"keys":[]}`, "there is none for RS256, ES256, EdDSA"},
		"private":    {privateSet(t, s), "public ones only"},
		"too large":  {strings.Repeat(" ", maxKeys+1), "larger"},
		"of a card":  {`{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}`, "JSON Web Key Set"},
		"of secrets": {`{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}`, "there is none"},
	} {
		file := filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
		switch c.doc {
		case "":
		case "/":
			if err := os.Mkdir(file, 0o700); err != nil {
				t.Fatal(err)
			}
		default:
			put(t, file, []byte(c.doc))
		}
		if _, err := is.fileMethod(t, file); err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", name, err)
		}
	}
	put(t, filepath.Join(dir, "good"), is.set())
	m, err := is.fileMethod(t, filepath.Join(dir, "good"))
	if err != nil {
		t.Fatal(err)
	}
	if name, s := m.Scheme(); name != "jwt" || s.HTTPAuth.Scheme != "Bearer" || s.HTTPAuth.BearerFormat != "JWT" || m.Challenge() != `Bearer realm="a2a"` {
		t.Errorf("%s: %+v, %s", name, s.HTTPAuth, m.Challenge())
	}
}
