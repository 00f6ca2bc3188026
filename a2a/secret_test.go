package a2a

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func TestSecretPrintsAsStars(t *testing.T) {
	const word = "tops3cret"
	s := Secret(word)
	config := &TaskPushNotificationConfig{Token: s, Authentication: &AuthenticationInfo{Scheme: "Bearer", Credentials: s}}
	type holder struct {
		Plain Secret
		Named map[string]Secret
		List  []Secret
	}
	h := holder{s, map[string]Secret{"x": s}, []Secret{s}}
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%10s"} {
		fmt.Fprintf(&out, verb+"\n", s)
		fmt.Fprintf(&out, verb+"\n", h)
		fmt.Fprintf(&out, verb+"\n", &h)
		fmt.Fprintf(&out, verb+"\n", config.Authentication)
	}
	fmt.Fprintln(&out, s, &s, h.List)
	for _, handler := range []slog.Handler{
		slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil),
	} {
		slog.New(handler).Info("x", "secret", s, "holder", h, "pointer", &s, "list", h.List, "config", config, "auth", config.Authentication)
	}
	if err := json.NewEncoder(&out).Encode(h); err != nil {
		t.Fatal(err)
	}
	if err := json.NewEncoder(&out).Encode(h.List); err != nil {
		t.Fatal(err)
	}
	if err := xml.NewEncoder(&out).Encode(s); err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{word, fmt.Sprintf("%x", word), fmt.Sprintf("%X", word)} {
		if strings.Contains(out.String(), form) {
			t.Errorf("%q is in the output:\n%s", form, out.String())
		}
	}
	if !strings.Contains(out.String(), "***") {
		t.Error("nothing shows that there is a secret")
	}
	if got := fmt.Sprint(Secret("")); got != "" {
		t.Errorf("no secret prints as %q", got)
	}
	if s.Reveal() != word || string(s) != word {
		t.Error("the secret itself cannot be had")
	}
}
