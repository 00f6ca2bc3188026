package main

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
)

// A2ACLI_AUTH_004: no form of a credential passes.
func TestRedactorHidesEveryForm(t *testing.T) {
	var b strings.Builder
	r := &redactor{w: &b}
	const secret = `p"w/d &é`
	r.hide(secret, "")
	r.hideParams(serviceParams(http.Header{"Authorization": {"Basic dXNlcjpwYXNz"}, "X-Flag": {"on"}}))
	fmt.Fprintf(r, "plain %s\nquery ?k=p%%22w%%2Fd+%%26%%C3%%A9\npath p%%22w%%2Fd%%20&%%C3%%A9\ntoken dXNlcjpwYXNz on\n", secret)
	slog.New(slog.NewTextHandler(r, nil)).Info("log", "body", `{"k":"`+secret+`"}`)
	got := b.String()
	for _, leak := range []string{`p"w`, `p\"w`, "p%22w", "dXNlcjpwYXNz"} {
		if strings.Contains(got, leak) {
			t.Errorf("%q is in:\n%s", leak, got)
		}
	}
	if !strings.Contains(got, "token "+redacted+" on\n") {
		t.Errorf("a short service parameter garbles:\n%s", got)
	}
}
