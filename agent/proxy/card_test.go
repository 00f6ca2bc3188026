package proxy_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent/proxy"
)

// A card says what the agent does, and nothing of the other server.
func TestCard(t *testing.T) {
	t.Parallel()
	theirs := a2a.AgentCard{
		Name: "Painter", Description: "Paints.", Version: "2.1",
		DocumentationURL: "https://painter.example/docs", IconURL: "https://painter.example/icon.png",
		Provider:             &a2a.AgentProvider{Organization: "Painters", URL: "https://painter.example"},
		DefaultInputModes:    []string{"text", "image/png"},
		DefaultOutputModes:   []string{"image/png"},
		SecuritySchemes:      map[string]*a2a.SecurityScheme{"k": {APIKey: &a2a.APIKeySecurityScheme{Location: "header", Name: "X-Key"}}},
		SecurityRequirements: []a2a.SecurityRequirement{{"k": nil}},
		Capabilities:         a2a.AgentCapabilities{Streaming: new(false), Extensions: []*a2a.AgentExtension{{URI: "https://x.example"}}},
		Skills: []*a2a.AgentSkill{{
			ID: "paint", Name: "Paint", Description: "Paints it.", Tags: []string{"art"}, Examples: []string{"a cat"},
			InputModes: []string{"text"}, SecurityRequirements: []a2a.SecurityRequirement{{"k": nil}},
			Unknown: new(a2a.JSON(`{"cost":"low"}`)),
		}},
	}
	up := (&puppet{card: theirs}).serve(t)
	p, err := proxy.New(up.url, &proxy.Options{APIKey: "key"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.Card(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := theirs
	want.DefaultInputModes = []string{"text/plain", "image/png"}
	want.SecuritySchemes, want.SecurityRequirements, want.Capabilities = nil, nil, a2a.AgentCapabilities{}
	skill := *theirs.Skills[0]
	skill.InputModes, skill.SecurityRequirements, skill.Unknown = []string{"text/plain"}, nil, nil
	want.Skills = []*a2a.AgentSkill{&skill}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the card differs (-want +got):\n%s", diff)
	}
}

// A card that is not trusted leads to no agent.
func TestCardIsJudged(t *testing.T) {
	t.Parallel()
	up := (&puppet{stream: says(task("up", a2a.TaskStateCompleted))}).serve(t)
	p, err := proxy.New(up.url, &proxy.Options{CheckCard: func(context.Context, []byte) ([]byte, error) { return nil, errors.New("not signed") }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Card(t.Context()); err == nil {
		t.Error("it was taken")
	}
	front := serve(t, a2a.AgentCard{Name: "x"}, p, nil)
	want(t, send(t, dial(t, front, nil), say("x")), a2a.TaskStateFailed, "does not trust the card")
	if len(up.messages()) > 0 {
		t.Error("it was sent to")
	}
}

// Options that cannot work are found out at once.
func TestOptions(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]*proxy.Options{
		"a version":      {Version: "7.0"},
		"two identities": {Bearer: "x", User: "y"},
		"a line break":   {APIKey: "x\n"},
		"push to where":  {Push: true, PushSecret: "s"},
		"push by whom":   {Push: true, PushURL: "https://here.example/callbacks/x"},
	} {
		if _, err := proxy.New("https://agent.example", o); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := proxy.New("", nil); err == nil {
		t.Error("no agent was taken")
	}
	for _, v := range []string{"", "0.1", "0.3", "1.0", "1.1"} {
		if _, err := proxy.New("https://agent.example", &proxy.Options{Version: v, Bindings: []string{a2a.BindingGRPC}}); err != nil {
			t.Error(err)
		}
	}
}
