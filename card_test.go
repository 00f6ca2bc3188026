package parley

import (
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/engine"
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
