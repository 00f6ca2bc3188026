package a2aclient

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/parley-a2a/parley/internal/egress"
)

func TestReferencesOfOthersAreJudged(t *testing.T) {
	asked := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		_, _ = w.Write([]byte(`{"entries":[]}`))
	}))
	defer srv.Close()
	doc, from, err := NewResolver(nil).Document(t.Context(), srv.URL+"/list.json")
	if err != nil || string(doc) != `{"entries":[]}` || from.s.reach != egress.Anywhere {
		t.Fatalf("%s %+v %v", doc, from, err)
	}
	text, err := from.MarshalText()
	again := new(Source)
	if err != nil || again.UnmarshalText(text) != nil || again.s.home.Host != from.s.home.Host || again.s.reach != from.s.reach {
		t.Errorf("%q: %+v %v", text, again, err)
	}
	for _, wrong := range []string{"", "anywhere", "nowhere true https://x", "internet maybe https://x", "internet true %%"} {
		if again.UnmarshalText([]byte(wrong)) == nil {
			t.Errorf("%q is a source", wrong)
		}
	}

	asked = 0
	internet := new(Source)
	if err := internet.UnmarshalText([]byte("internet true https://catalog.example.org")); err != nil {
		t.Fatal(err)
	}
	r := NewResolver(&Options{From: internet})
	for _, ref := range []string{srv.URL, "localhost:1", "http://169.254.169.254/card.json", "./card.json", "file:///etc/passwd", "http://agents.example.org"} {
		_, err := r.Dial(t.Context(), ref)
		var e *CardError
		if !errors.As(err, &e) || e.Kind != CardRefused {
			t.Errorf("%s: %v", ref, err)
		}
	}
	if asked > 0 {
		t.Errorf("%d requests arrived", asked)
	}
}
