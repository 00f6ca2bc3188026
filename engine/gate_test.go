package engine

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

// A skill that only the extended card lists can be named by callers that get that card, and its
// arguments are checked by the schema there. Other callers are told what the public card has.
func TestSkillsOfTheExtendedCard(t *testing.T) {
	listing := func(schemas map[string]a2a.JSON, ids ...string) *a2a.AgentCard {
		card := testCard()
		card.Capabilities.ExtendedAgentCard = new(true)
		if schemas != nil {
			card.Capabilities.Extensions = []*a2a.AgentExtension{a2a.SkillsExtension(schemas)}
		}
		for _, id := range ids {
			card.Skills = append(card.Skills, &a2a.AgentSkill{ID: id, Name: id, Description: id, Tags: []string{"x"}})
		}
		return card
	}
	schema := a2a.JSON(`{"type":"object","required":["days"],"properties":{"days":{"type":"integer"}}}`)
	public := listing(map[string]a2a.JSON{}, "chat")
	full := listing(map[string]a2a.JSON{"payroll": schema}, "chat", "payroll")
	broken := errors.New("the directory is away")
	asked := 0
	cards := func(_ context.Context, c a2a.Caller) (*a2a.AgentCard, error) {
		asked++
		switch c.Subject {
		case "boss":
			return full, nil
		case "broken":
			return nil, broken
		case "refused":
			return nil, a2a.Errorf(a2a.CodeUnauthenticated, "no")
		}
		return nil, nil
	}
	for _, tt := range []struct {
		name          string
		public        *a2a.AgentCard
		caller        a2a.Caller
		id, arguments string
		want          string // of the error; "" if the message is taken
		asked         int
	}{
		{"taken", public, a2a.Caller{Subject: "boss"}, "payroll", `{"days":3}`, "", 1},
		{"checked", public, a2a.Caller{Subject: "boss"}, "payroll", `{"days":"x"}`, "/arguments/days: must be of type integer", 1},
		{"on the public card", public, a2a.Caller{Subject: "boss"}, "chat", `{}`, "", 0},
		{"on neither", public, a2a.Caller{Subject: "boss"}, "nothing", `{}`, `no skill "nothing"; it has chat`, 1},
		{"somebody else", public, a2a.Caller{Subject: "other"}, "payroll", `{"days":3}`, `no skill "payroll"; it has chat`, 1},
		{"without the scope", public, a2a.Caller{Subject: "boss", Scopes: []string{a2a.ScopeTasksWrite}}, "payroll", `{"days":3}`, `no skill "payroll"; it has chat`, 0},
		{"refused the card", public, a2a.Caller{Subject: "refused"}, "payroll", `{"days":3}`, `no skill "payroll"; it has chat`, 1},
		{"the card cannot be made", public, a2a.Caller{Subject: "broken"}, "payroll", `{"days":3}`, broken.Error(), 1},
		{"declared on the extended card alone", listing(nil, "chat"), a2a.Caller{Subject: "boss"}, "payroll", `{}`, "/arguments/days: is required", 1},
		{"declared on neither for this caller", listing(nil, "chat"), a2a.Caller{Subject: "other"}, "payroll", `{}`, "", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			asked = 0
			w := newWorldWith(t, nil, says("done"), tt.public, &Options{ExtendedCard: cards})
			req := send("x")
			if err := req.Message.CallSkill(tt.id, a2a.JSON(tt.arguments)); err != nil {
				t.Fatal(err)
			}
			_, err := w.SendMessage(a2a.WithCaller(t.Context(), tt.caller), req)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%v, want %q", err, tt.want)
			}
			if asked != tt.asked {
				t.Errorf("the extended card was made %d times, want %d", asked, tt.asked)
			}
		})
	}
}
