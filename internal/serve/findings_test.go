package serve

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/admin"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/keyfile"
)

// What a card lacks is said, each thing once and by its name.
func TestCardFindings(t *testing.T) {
	full := func() *a2a.AgentCard {
		return &a2a.AgentCard{
			Name: "Translator", Description: "Translates between German and English.", Version: "2.1.0",
			DefaultInputModes: []string{"text/plain"}, DefaultOutputModes: []string{"text/*"},
			Skills: []*a2a.AgentSkill{{ID: "translate", Name: "Translate", Description: "Translates a text.", Tags: []string{"text"}, Examples: []string{"Guten Tag"}}},
		}
	}
	for what, tt := range map[string]struct {
		change func(*a2a.AgentCard)
		want   string
	}{
		"nothing":           {func(*a2a.AgentCard) {}, ""},
		"no description":    {func(c *a2a.AgentCard) { c.Description = " " }, "no description"},
		"the name again":    {func(c *a2a.AgentCard) { c.Description = "translator" }, "no more than the name"},
		"no version":        {func(c *a2a.AgentCard) { c.Version = "" }, "no version"},
		"no skills":         {func(c *a2a.AgentCard) { c.Skills = nil }, "no skills"},
		"no examples":       {func(c *a2a.AgentCard) { c.Skills[0].Examples = nil }, "the skill translate has no examples"},
		"no words":          {func(c *a2a.AgentCard) { c.Skills[0].Description = "" }, "the skill translate has no description"},
		"no tags":           {func(c *a2a.AgentCard) { c.Skills[0].Tags = nil }, "the skill translate has no tags"},
		"twice":             {func(c *a2a.AgentCard) { c.Skills = append(c.Skills, c.Skills[0]) }, "more than one skill is called translate"},
		"an icon of a disk": {func(c *a2a.AgentCard) { c.IconURL = "file:///icon.png" }, "the icon URL file:///icon.png is not"},
		"a local document":  {func(c *a2a.AgentCard) { c.DocumentationURL = "http://localhost/doc" }, "the documentation URL"},
		"a word for a mode": {func(c *a2a.AgentCard) { c.DefaultInputModes = []string{"text"} }, "text is not a media type"},
	} {
		card := full()
		tt.change(card)
		found := messages(cardFindings(card, false))
		if tt.want == "" && len(found) == 0 || len(found) == 1 && tt.want != "" && strings.Contains(found[0], tt.want) {
			continue
		}
		t.Errorf("%s: found %q, want %q", what, found, tt.want)
	}
	if found := messages(cardFindings(&a2a.AgentCard{Name: "x", DefaultInputModes: strings.Fields("a b c d e f g")}, false)); len(found) != maxFindings+1 || found[maxFindings] != "and 4 more" {
		t.Errorf("of many: %q", found)
	}
	for name, card := range map[string]a2a.AgentCard{"demo": agent.DemoCard(), "conformance": agent.ConformanceCard()} {
		if found := messages(cardFindings(&card, false)); len(found) > 0 {
			t.Errorf("the %s agent: %q", name, found)
		}
	}
	made := agent.ExecCard([]string{"tr"})
	if found := messages(cardFindings(&made, true)); len(found) != 1 || !strings.Contains(found[0], "are generated") {
		t.Errorf("of a command: %q", found)
	}
}

// The text that a finding offers to paste is, with the agent, a good
// parley.yaml.
func TestFindingsCanBePasted(t *testing.T) {
	made := agent.ExecCard([]string{"tr"})
	poor := a2a.AgentCard{Name: "x", IconURL: "file:///x", DefaultInputModes: []string{"text"}, Skills: []*a2a.AgentSkill{{ID: `a: "b`, Name: "n", Description: "d", Tags: []string{"t"}}}}
	for _, found := range [][]admin.Finding{ofAgent("tr", cardFindings(&made, true)), ofAgent("", cardFindings(&poor, false)), ofAgent("x", cardFindings(&a2a.AgentCard{Name: "x"}, false))} {
		for _, f := range found {
			if f.YAML == "" {
				t.Errorf("%s: there is nothing to paste", f.Message)
				continue
			}
			draft := "version: 1\n" + strings.Replace(f.YAML, "    card:\n", "    builtin: demo\n    card:\n", 1)
			_, err := config.Parse("parley.yaml", []byte(draft), &config.Options{Check: CheckValue(), Elsewhere: true})
			// Of a skill the rest is in the file that it is pasted into.
			if err != nil && !(f.Field == "skills" && strings.Contains(err.Error(), "is missing")) {
				t.Errorf("%s: %v in\n%s", f.Message, err, draft)
			}
		}
	}
}

// The address on the cards is judged as far as that needs nobody else.
func TestAddressFindings(t *testing.T) {
	for _, tt := range []struct {
		public string
		open   bool
		want   string
	}{
		{"", true, ""},
		{"https://agents.example.org", true, ""},
		{"http://10.1.2.3:7275", true, ""},
		{"http://localhost:7275", false, ""},
		{"http://localhost:7275", true, "their own machines"},
		{"http://[::1]:7275", true, "their own machines"},
		{"http://agents.example.org", false, "no encryption"},
	} {
		found := strings.Join(addressFindings(tt.public, tt.open), "; ")
		if (tt.want == "") != (found == "") || !strings.Contains(found, tt.want) {
			t.Errorf("%s: found %q, want %q", tt.public, found, tt.want)
		}
	}
}

// The card is fetched by the address that it names: what comes must be the card.
func TestReach(t *testing.T) {
	for what, tt := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"the agent": {func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/at/.well-known/agent-card.json" {
				_, _ = w.Write([]byte(`{"name":"Greeter"}`))
			}
		}, ""},
		"another agent":  {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"name":"Other"}`)) }, "another agent answers there: Other"},
		"a page":         {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`<html>`)) }, "not an agent card"},
		"nobody there":   {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }, "it answers 502"},
		"a flood":        {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, keyfile.MaxCard+1)) }, "cannot be read"},
		"hangs up on us": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF"},
	} {
		t.Run(what, func(t *testing.T) {
			server := httptest.NewServer(tt.answer)
			defer server.Close()
			err := reachOnce(t.Context(), server.Client(), server.URL+"/at", "Greeter")
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("%v, want %q", err, tt.want)
			case err != nil && strings.Contains(err.Error(), server.URL):
				t.Errorf("the address is said twice: %v", err)
			}
		})
	}
}

// roundTrip is a network of one function.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// What stands in front of a server may be a moment late; it is not waited for
// for ever, nor beyond the server's end.
func TestReachTriesForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		refuses := &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			tries++
			return nil, context.DeadlineExceeded
		})}
		if err := reach(t.Context(), refuses, "https://agents.example.org", "x"); err == nil || tries != reachTries {
			t.Errorf("%d tries: %v", tries, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := reach(ctx, refuses, "https://agents.example.org", "x"); err != nil {
			t.Errorf("after the end: %v", err)
		}
	})
}
