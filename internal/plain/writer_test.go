package plain

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
)

// A2ACLI_AUTH_004: no form of a credential passes.
func TestRedactorHidesEveryForm(t *testing.T) {
	var b strings.Builder
	r := NewWriter(&b)
	const secret = `p"w/d &é`
	r.Hide(secret, "")
	fmt.Fprintf(r, "plain %s\nquery ?k=p%%22w%%2Fd+%%26%%C3%%A9\npath p%%22w%%2Fd%%20&%%C3%%A9\n", secret)
	slog.New(slog.NewTextHandler(r, nil)).Info("log", "body", `{"k":"`+secret+`"}`)
	got := b.String()
	for _, leak := range []string{`p"w`, `p\"w`, "p%22w"} {
		if strings.Contains(got, leak) {
			t.Errorf("%q is in:\n%s", leak, got)
		}
	}
}

// A token that is hidden with each renewal takes the room of one.
func TestSecretsAreKeptOnce(t *testing.T) {
	w := NewWriter(io.Discard)
	for range 3 {
		w.Hide("token-a", "token-b", "token-c")
	}
	if n := len(w.secrets); n != 3 {
		t.Errorf("%d secrets of 3", n)
	}
}
