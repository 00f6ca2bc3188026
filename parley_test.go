package parley

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine"
	"github.com/parley-a2a/parley/internal/webhook"
	"github.com/parley-a2a/parley/store"
)

// The card cannot promise what the server does not do.
func TestCardsThatPromiseTooMuchAreRefused(t *testing.T) {
	tests := map[string]a2a.AgentCard{
		"no name": {Description: "x"},
		"retries": {Name: "x", Capabilities: a2a.AgentCapabilities{Extensions: []*a2a.AgentExtension{a2aserver.RetryExtension(time.Hour, true)}}},
	}
	for name, card := range tests {
		if full, err := complete(card, &Options{Retries: engine.Retries{Window: -1}}); err == nil {
			t.Errorf("%s: accepted as %+v", name, full)
		}
	}
}

func TestCardsAreCompleted(t *testing.T) {
	given := a2a.AgentCard{Name: "x", Capabilities: a2a.AgentCapabilities{Streaming: new(false)}}
	full, err := complete(given, &Options{})
	if err != nil {
		t.Fatal(err)
	}
	if *full.Capabilities.Streaming || !*full.Capabilities.PushNotifications {
		t.Errorf("capabilities are %+v", full.Capabilities)
	}
	full.SupportedInterfaces = []*a2a.AgentInterface{{URL: "http://x", ProtocolBinding: a2a.BindingJSONRPC, ProtocolVersion: "1.0"}}
	if err := full.Validate(); err != nil {
		t.Errorf("the completed card is invalid: %v", err)
	}
	if given.Description != "" || given.Capabilities.PushNotifications != nil {
		t.Error("the author's card was written to")
	}
	given.Capabilities.PushNotifications = new(false)
	if full, err = complete(given, &Options{}); err != nil || *full.Capabilities.PushNotifications {
		t.Errorf("capabilities are %+v, %v", full.Capabilities, err)
	}
}

// An extended card takes what it leaves open from the card that is enforced.
func TestExtendedCardsAreCompletedFromThePublicOne(t *testing.T) {
	public, err := complete(a2a.AgentCard{
		Name: "x", Version: "7", DefaultInputModes: []string{"image/png"},
		Capabilities: a2a.AgentCapabilities{Streaming: new(false), PushNotifications: new(false), ExtendedAgentCard: new(true)},
	}, &Options{})
	if err != nil {
		t.Fatal(err)
	}
	given := a2a.AgentCard{Name: "more", Description: "of it"}
	full, err := extend(given, public, &Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := *public
	want.Name, want.Description = "more", "of it"
	if got, want := string(full.AppendJSON(nil)), string(want.AppendJSON(nil)); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if given.Version != "" || given.Capabilities.Streaming != nil {
		t.Error("the author's card was written to")
	}
	if _, err := extend(a2a.AgentCard{}, public, &Options{}); err == nil {
		t.Error("a card without a name was accepted")
	}
}

// The retry extension says what is enforced, whatever the author wrote. By itself
// a card has it where it holds for everybody.
func TestCardsPromiseTheRetriesThatAreKept(t *testing.T) {
	theirs := a2aserver.RetryExtension(time.Hour, true)
	theirs.Description = "as I like it"
	tests := map[string]struct {
		given   []*a2a.AgentExtension
		options Options
		want    string // params; "" if it is not declared
	}{
		"by default": {}, // nobody is authenticated here
		"for all":    {options: Options{Retries: engine.Retries{Window: 90 * time.Second, Anonymous: true}}, want: `{"window":90,"anonymous":true}`},
		"off":        {options: Options{Retries: engine.Retries{Window: -1}}},
		"too short":  {options: Options{Retries: engine.Retries{Window: time.Millisecond}}},
		"theirs":     {given: []*a2a.AgentExtension{nil, theirs}, want: `{"window":86400,"anonymous":false}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			full, err := complete(a2a.AgentCard{Name: "x", Capabilities: a2a.AgentCapabilities{Extensions: test.given}}, &test.options)
			if err != nil {
				t.Fatal(err)
			}
			got, n := "", 0
			for _, e := range full.Capabilities.Extensions {
				if e != nil && e.URI == theirs.URI {
					got, n = string(e.Params), n+1
				}
			}
			if got != test.want || n > 1 {
				t.Errorf("%d declarations, with %s", n, got)
			}
		})
	}
	if string(theirs.Params) != `{"window":3600,"anonymous":true}` {
		t.Error("the author's card was written to")
	}
}

func TestOnlyLoopbackKnowsItsNames(t *testing.T) {
	for addr, want := range map[string][]string{
		"127.0.0.1:7275": {"localhost", "127.0.0.1", "::1", "127.0.0.1"},
		"127.0.0.2:7275": {"localhost", "127.0.0.1", "::1", "127.0.0.2"},
		"[::1]:7275":     {"localhost", "127.0.0.1", "::1", "::1"},
		"0.0.0.0:7275":   nil, // who knows by which names it is reached?
		"[::]:7275":      nil,
		"192.0.2.1:7275": nil,
	} {
		at, err := net.ResolveTCPAddr("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		if got := ownHosts(at); !slices.Equal(got, want) {
			t.Errorf("%s answers for %q, want %q", addr, got, want)
		}
	}
	if got := ownHosts(&net.UnixAddr{Name: "x"}); got != nil {
		t.Errorf("a socket of the file system answers for %q", got)
	}
}

// Servers that share a store sign with the same keys, whoever made them.
func TestWebhookKeysAreTheStores(t *testing.T) {
	st := store.NewMemory()
	defer st.Close()
	var made [4][]byte
	var work sync.WaitGroup
	for i := range made {
		work.Go(func() {
			k, _, err := keysOf(t.Context(), st, time.Now())
			if err != nil {
				t.Error(err)
				return
			}
			made[i] = k.JWKS()
		})
	}
	work.Wait()
	for _, k := range made {
		if len(k) == 0 || !bytes.Equal(k, made[0]) {
			t.Fatalf("keys %s and %s", k, made[0])
		}
	}

	now := time.Now()
	public, err := RotateWebhookKeys(t.Context(), st, now)
	if err != nil {
		t.Fatal(err)
	}
	k, _, err := keysOf(t.Context(), st, now)
	if err != nil || k.PublicKey() != public || !k.Made().Equal(now.UTC().Truncate(time.Second)) {
		t.Errorf("after the rotation %v, %v", k, err)
	}
	set, err := webhook.ParseKeySet(k.JWKS())
	if err != nil || set == nil || bytes.Equal(k.JWKS(), made[0]) {
		t.Errorf("the published keys are %s, %v", k.JWKS(), err)
	}
}

// racing is a store in which another process rotates first.
type racing struct{ store.Store }

func (r racing) Keep(ctx context.Context, name string, was, is []byte) ([]byte, error) {
	if len(was) > 0 {
		if _, err := RotateWebhookKeys(ctx, r.Store, time.Now()); err != nil {
			return nil, err
		}
	}
	return r.Store.Keep(ctx, name, was, is)
}

func TestRotationsDoNotUndoEachOther(t *testing.T) {
	st := store.NewMemory()
	defer st.Close()
	if public, err := RotateWebhookKeys(t.Context(), racing{st}, time.Now()); err == nil {
		t.Errorf("%s is said to be the key, and is not", public)
	}
}

func TestWebhookKeysThatCannotBeRead(t *testing.T) {
	st := store.NewMemory()
	if _, err := st.Keep(t.Context(), store.WebhookKeys, nil, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if _, err := RotateWebhookKeys(t.Context(), st, time.Now()); err == nil {
		t.Error("keys that cannot be read were replaced")
	}
	st.Close()
	if _, _, err := keysOf(t.Context(), st, time.Now()); !errors.Is(err, store.ErrClosed) {
		t.Errorf("of a closed store: %v", err)
	}
}

// A reload changes what large bodies may take together.
func TestReloadChangesMemory(t *testing.T) {
	agents := []Hosted{{Name: "a", Default: true, Card: agent.DemoCard(), Agent: agent.Demo()}}
	s, err := NewHost(agents, &Options{Limits: a2aserver.Limits{Bodies: 1 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Reload(agents, &Options{Limits: a2aserver.Limits{Bodies: 3 << 20}}); err != nil {
		t.Fatal(err)
	}
	if n := s.memory.Total(); n != 3<<20 {
		t.Errorf("bodies may take %d bytes", n)
	}
	if err := s.owned.Close(); err != nil {
		t.Error(err)
	}
}

// The paths of gRPC are the first one's; the cards say so.
func TestTwoServersOnOneMux(t *testing.T) {
	mux := http.NewServeMux()
	for _, path := range []string{"/a", "/b"} {
		s, err := New(a2a.AgentCard{Name: "x"}, agent.Demo(), nil)
		if err != nil {
			t.Fatal(err)
		}
		s.Mount(mux, path)
	}
	for path, grpc := range map[string]bool{"/a": true, "/b": false} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path+"/.well-known/agent-card.json", nil))
		var card a2a.AgentCard
		if err := card.UnmarshalJSON(w.Body.Bytes()); err != nil {
			t.Fatal(err)
		}
		if in := card.SupportedInterfaces[0]; in.URL != "http://example.com"+path {
			t.Errorf("%s: %s", path, in.URL)
		}
		if got := slices.ContainsFunc(card.SupportedInterfaces, func(in *a2a.AgentInterface) bool { return in.ProtocolBinding == a2a.BindingGRPC }); got != grpc {
			t.Errorf("%s: gRPC %v", path, got)
		}
	}
}

// A card with an address that nobody can call would be found by its first client.
func TestPublicURLsThatNobodyCanCallAreRefused(t *testing.T) {
	for url, ok := range map[string]bool{
		"": true, "https://agents.example.org": true, "http://127.0.0.1:7275/a2a/": true,
		"agents.example.org": false, "/a2a": false, "ftp://example.org": false, "https://u:p@example.org": false, "https://example.org/?q=1": false,
	} {
		o := &Options{PublicURL: url}
		_, one := New(a2a.AgentCard{Name: "x"}, agent.Demo(), o)
		_, many := NewHost([]Hosted{{Name: "x", Card: a2a.AgentCard{Name: "x"}, Agent: agent.Demo()}}, o)
		if (one == nil) != ok || (many == nil) != ok {
			t.Errorf("%q: %v, %v", url, one, many)
		}
		if one != nil && strings.Contains(one.Error(), "u:p") {
			t.Error(one)
		}
	}
}

func TestServerWithoutAnAgent(t *testing.T) {
	if _, err := New(a2a.AgentCard{Name: "x"}, nil, nil); err == nil || err.Error() != `parley: "x" has no agent` {
		t.Error(err)
	}
}

func TestServerRunsOnce(t *testing.T) {
	s, err := New(a2a.AgentCard{Name: "x"}, agent.Demo(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.Run(ctx); err == nil {
		t.Error("it ran again")
	}
}
