package a2aclient

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/auth"
)

// signedOnly is how a client insists on signed cards.
func signedOnly(keys auth.KeySource) func(context.Context, []byte) ([]byte, error) {
	return func(ctx context.Context, doc []byte) ([]byte, error) {
		v, err := auth.VerifyJSON(ctx, doc, keys, nil)
		if err == nil {
			err = v.Err()
		}
		if err != nil {
			return nil, err
		}
		return v.Good().Payload.JSON, nil
	}
}

func TestClientInsistsOnSignedCards(t *testing.T) {
	key, err := auth.GenerateKey("ES256")
	if err != nil {
		t.Fatal(err)
	}
	card := &a2a.AgentCard{
		Name: "greeter", Description: "Greets.", Version: "1",
		SupportedInterfaces: []*a2a.AgentInterface{{URL: "https://a.example/", ProtocolBinding: a2a.BindingJSONRPC, ProtocolVersion: "1.0"}},
	}
	unsigned := card.AppendJSON(nil)
	if err := auth.SignCard(card, key, nil); err != nil {
		t.Fatal(err)
	}
	signed := card.AppendJSON(nil)
	o := &Options{CheckCard: signedOnly(auth.KeySet{key.Public()})}
	for _, c := range []struct {
		name string
		doc  []byte
		want error
	}{
		{"signed", signed, nil},
		{"more than what is signed", append([]byte(`{"url":"https://b.example/",`), signed[1:]...), nil},
		{"not signed", unsigned, auth.ErrNotSigned},
		{"another address", bytes.Replace(signed, []byte("a.example"), []byte("b.example"), 1), auth.ErrTampered},
	} {
		file := filepath.Join(t.TempDir(), "card.json")
		if err := os.WriteFile(file, c.doc, 0o600); err != nil {
			t.Fatal(err)
		}
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet {
				t.Errorf("%s: the agent was called", c.name)
			}
			_, _ = w.Write(c.doc)
		}))
		for _, ref := range []string{srv.URL, file} {
			client, err := NewResolver(o).Dial(t.Context(), ref)
			var e *CardError
			switch {
			case c.want == nil && err != nil:
				t.Errorf("%s: %v", c.name, err)
			case c.want == nil && client.Interface().URL != "https://a.example/":
				t.Errorf("%s: it calls %s", c.name, client.Interface().URL)
			case c.want != nil && (!errors.Is(err, c.want) || !errors.As(err, &e) || e.Kind != CardRefused):
				t.Errorf("%s: %v, want %v", c.name, err, c.want)
			}
		}
		srv.Close()
	}

	// An agent without a card would otherwise be found out by asking it.
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			t.Error("an agent without a card was called")
		}
		http.NotFound(w, r)
	}))
	defer srv.Close()
	if _, err := NewResolver(o).Dial(t.Context(), srv.URL); err == nil {
		t.Error("an agent without a card was taken")
	}
}
