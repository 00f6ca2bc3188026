package parley

import (
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

// The card cannot promise what the server does not do.
func TestCardsThatPromiseTooMuchAreRefused(t *testing.T) {
	tests := map[string]a2a.AgentCard{
		"no name": {Description: "x"},
		"push":    {Name: "x", Capabilities: a2a.AgentCapabilities{PushNotifications: new(true)}},
	}
	for name, card := range tests {
		if full, err := complete(card); err == nil {
			t.Errorf("%s: accepted as %+v", name, full)
		}
	}
}

func TestCardsAreCompleted(t *testing.T) {
	given := a2a.AgentCard{Name: "x", Capabilities: a2a.AgentCapabilities{Streaming: new(false)}}
	full, err := complete(given)
	if err != nil {
		t.Fatal(err)
	}
	if *full.Capabilities.Streaming || *full.Capabilities.PushNotifications {
		t.Errorf("capabilities are %+v", full.Capabilities)
	}
	full.SupportedInterfaces = []*a2a.AgentInterface{{URL: "http://x", ProtocolBinding: a2a.BindingJSONRPC, ProtocolVersion: "1.0"}}
	if err := full.Validate(); err != nil {
		t.Errorf("the completed card is invalid: %v", err)
	}
	if given.Description != "" || given.Capabilities.PushNotifications != nil {
		t.Error("the author's card was written to")
	}
}

// An extended card takes what it leaves open from the card that is enforced.
func TestExtendedCardsAreCompletedFromThePublicOne(t *testing.T) {
	public, err := complete(a2a.AgentCard{
		Name: "x", Version: "7", DefaultInputModes: []string{"image/png"},
		Capabilities: a2a.AgentCapabilities{Streaming: new(false), ExtendedAgentCard: new(true)},
	})
	if err != nil {
		t.Fatal(err)
	}
	given := a2a.AgentCard{Name: "more", Description: "of it"}
	full, err := extend(given, public)
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
	if _, err := extend(a2a.AgentCard{}, public); err == nil {
		t.Error("a card without a name was accepted")
	}
}
