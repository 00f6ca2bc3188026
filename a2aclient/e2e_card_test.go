package a2aclient_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/test/fixtures"
)

// signing runs an agent whose cards are signed by key, and says where.
func signing(t *testing.T, keys []*auth.Key) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	card := agent.DemoCard()
	card.Capabilities.ExtendedAgentCard = new(true)
	card.SecuritySchemes = map[string]*a2a.SecurityScheme{"key": {APIKey: &a2a.APIKeySecurityScheme{Location: "header", Name: "X-Key"}}}
	card.SecurityRequirements = []a2a.SecurityRequirement{{"key": {}}, {}}
	more := card
	more.Name = "Greater"
	s, err := parley.New(card, agent.Demo(), &parley.Options{CardKeys: keys, PublicURL: "http://" + l.Addr().String(), ExtendedCard: &more})
	if err != nil {
		t.Fatal(err)
	}
	fixtures.ServeOn(t, l, s.Serve)
	return l.Addr().String()
}

// meddler changes the name on extended cards on their way.
type meddler struct{ rt http.RoundTripper }

func (m meddler) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := m.rt.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(res.Body)
	res.Body.Close()
	res.Body = io.NopCloser(bytes.NewReader(bytes.ReplaceAll(body, []byte("Greater"), []byte("Grabber"))))
	return res, err
}

// A client that insists on signed cards gets signed extended cards, in every
// version over every binding that has them.
func TestExtendedCardsAreChecked(t *testing.T) {
	key, err := auth.GenerateKey("ES256")
	if err != nil {
		t.Fatal(err)
	}
	signed, unsigned := signing(t, []*auth.Key{key}), signing(t, nil)
	check := func(ctx context.Context, doc []byte) ([]byte, error) {
		v, err := auth.VerifyJSON(ctx, doc, auth.KeySet{key.Public()}, nil)
		if err == nil {
			err = v.Err()
		}
		if err != nil {
			return nil, err
		}
		return v.Good().Payload.JSON, nil
	}
	// Public cards pass, so that it is the extended one that is judged.
	lax := func(ctx context.Context, doc []byte) ([]byte, error) {
		if bytes.Contains(doc, []byte("Gr")) {
			return check(ctx, doc)
		}
		return doc, nil
	}
	clear := &http.Transport{Protocols: new(http.Protocols)}
	clear.Protocols.SetHTTP1(true)
	h2 := &http.Transport{Protocols: new(http.Protocols)}
	h2.Protocols.SetUnencryptedHTTP2(true)
	defer clear.CloseIdleConnections()
	defer h2.CloseIdleConnections()
	for _, c := range []struct{ version, binding string }{
		{"1.0", a2a.BindingJSONRPC}, {"1.0", a2a.BindingHTTPJSON}, {"1.0", a2a.BindingGRPC},
		{"0.3", a2a.BindingJSONRPC}, {"0.3", a2a.BindingHTTPJSON}, {"0.3", a2a.BindingGRPC},
		{"0.2", a2a.BindingJSONRPC},
	} {
		rt := http.RoundTripper(clear)
		if c.binding == a2a.BindingGRPC {
			rt = h2
		}
		for _, w := range []struct {
			name, addr string
			check      func(context.Context, []byte) ([]byte, error)
			rt         http.RoundTripper
			want       error // nil: taken
		}{
			{"signed", signed, check, rt, nil},
			{"changed on the way", signed, check, meddler{rt}, auth.ErrTampered},
			{"not signed", unsigned, lax, rt, auth.ErrNotSigned},
			{"not signed, and nobody cares", unsigned, nil, rt, nil},
		} {
			name := c.version + " over " + c.binding + ", " + w.name
			client, err := a2aclient.Dial(t.Context(), w.addr, &a2aclient.Options{
				Version: c.version, Bindings: []string{c.binding}, CheckCard: w.check, HTTPClient: &http.Client{Transport: w.rt},
			})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			card, err := client.GetExtendedAgentCard(t.Context(), new(a2a.GetExtendedAgentCardRequest))
			var e *a2aclient.CardError
			switch refused := errors.As(err, &e) && e.Kind == a2aclient.CardRefused; {
			case c.version == "0.3" && c.binding == a2a.BindingGRPC && w.check != nil:
				if !refused || !strings.Contains(e.Error(), "use another binding") {
					t.Errorf("%s: %v", name, err)
				}
			case w.want != nil && (!refused || !errors.Is(err, w.want)):
				t.Errorf("%s: %v", name, err)
			case w.want == nil && (err != nil || card.Name != "Greater" || client.Card() != card):
				t.Errorf("%s: %v", name, err)
			}
			if err != nil && client.Card().Name == "Greater" {
				t.Errorf("%s: the client goes by a card that was refused", name)
			}
		}
	}
}
