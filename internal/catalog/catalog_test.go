package catalog

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

func TestParseKeepsWhatCanBeUsed(t *testing.T) {
	const doc = `{"specVersion":"1.0","host":{"displayName":"Acme","logoUrl":"x"},"collections":[],"entries":[
		{"identifier":"urn:air:acme.com:agent:good","displayName":"Good","type":"application/a2a-agent-card+json","url":"https://acme.com/card.json","x:y":1},
		{"identifier":"urn:air:acme.com:agent:both","displayName":"B","type":"t","url":"https://acme.com","data":{}},
		{"identifier":"urn:air:acme.com:agent:neither","displayName":"N","type":"t"},
		{"identifier":"acme","displayName":"N","type":"t","url":"https://acme.com"},
		{"identifier":"urn:air:acme.com:agent:script","displayName":"N","type":"t","url":"javascript:alert(1)"},
		{"identifier":"urn:air:acme.com:agent:good","displayName":"Again","type":"t","url":"https://acme.com"},
		{"identifier":7},
		{"identifier":"urn:air:acme.com:sub","displayName":"Sub","type":"application/ai-catalog+json","data":{"entries":[]}}]}`
	m, findings, err := Parse([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Entries) != 2 || !m.Entries[0].IsAgent() || m.Entries[0].Name() != "good" || m.Entries[0].Publisher() != "acme.com" || !m.Entries[1].IsCatalog() {
		t.Errorf("%+v", m.Entries)
	}
	got := fmt.Sprint(findings)
	for _, want := range []string{"{urn:air:acme.com:agent:both there must be", "{entries[3] the identifier is not", "not an http or https", "twice", "{entries[6] a member has a type"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
	for _, wrong := range []string{"", "[]", "{}", `{"entries":{}}`, `{"entries":null}`} {
		if _, _, err := Parse([]byte(wrong)); err == nil {
			t.Errorf("%q is a catalog", wrong)
		}
	}
	many := `{"entries":[` + strings.TrimSuffix(strings.Repeat(`{},`, MaxEntries+5), ",") + `]}`
	if _, findings, err := Parse([]byte(many)); err != nil || len(findings) != MaxEntries+1 {
		t.Errorf("%d findings, %v", len(findings), err)
	}
}

func TestSearch(t *testing.T) {
	entries := []Entry{
		OfAgent("acme.com", "polyglot", &a2a.AgentCard{Name: "Polyglot", Description: "Knows many languages.", Skills: []*a2a.AgentSkill{
			{ID: "translation", Tags: []string{"language"}, Examples: []string{"say hello in French", "what is Brot in English"}}}}, "https://acme.com/p"),
		OfAgent("acme.com", "weather", &a2a.AgentCard{Name: "Weather", Description: "Tells the weather, in your language."}, "https://acme.com/w"),
		{Identifier: "urn:air:other.org:registry:all", DisplayName: "All", Type: TypeRegistry, URL: "https://other.org"},
	}
	for _, c := range []struct {
		text   string
		filter map[string]Values
		want   string
	}{
		{"translate a text for me", nil, "polyglot"},
		{"find me an agent for the weather", nil, "weather"},
		{"language", nil, "polyglot weather"},
		{"language", map[string]Values{"tags": {"other", "Language"}}, "polyglot"},
		{"weather", map[string]Values{"publisher": {"other.org"}}, ""},
		{"zebra", nil, ""},
		{"...", nil, ""},
	} {
		page, next, err := Search(entries, &Query{Text: c.text, Filter: c.filter}, 10, "")
		var got []string
		for _, r := range page {
			got = append(got, r.Name())
			if r.Score < 1 || r.Score > 100 || r.Queries != nil {
				t.Errorf("%+v", r)
			}
		}
		if strings.Join(got, " ") != c.want || next != "" || err != nil {
			t.Errorf("%q: got %v %q %v, want %s", c.text, got, next, err, c.want)
		}
	}
	one, next, err := Search(entries, &Query{Text: "language"}, 1, "")
	if err != nil || len(one) != 1 || next != "1" {
		t.Fatalf("%v %q %v", one, next, err)
	}
	two, next, err := Search(entries, &Query{Text: "language"}, 1, next)
	if err != nil || len(two) != 1 || next != "" || two[0].Identifier == one[0].Identifier {
		t.Errorf("%v %q %v", two, next, err)
	}
	if _, _, err := Search(entries, &Query{Text: "language"}, 1, "-1"); err == nil {
		t.Error("-1 is a token")
	}
}

func TestParseSearchNamesWhatIsWrong(t *testing.T) {
	for doc, want := range map[string]string{
		``: "not a search", `{}`: "query.text is missing", `{"query":{"text":" "}}`: "query.text is missing",
		`{"query":{"text":"x"},"federation":"all"}`:          `federation "all"`,
		`{"query":{"text":"x"},"pageSize":0}`:                "pageSize 0",
		`{"query":{"text":"x"},"pageSize":101}`:              "pageSize 101",
		`{"query":{"text":"x","filter":{"metadata.x":1}}}`:   "not a search",
		`{"query":{"text":"x","filter":{"metadata.x":"1"}}}`: "query.filter.metadata.x is not supported",
	} {
		if _, err := ParseSearch([]byte(doc)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", doc, err)
		}
	}
}

func TestIdentifiers(t *testing.T) {
	for host, want := range map[string]string{
		"Agents.Example.ORG:8443": "urn:air:agents.example.org:agent:x", "127.0.0.1:1": "urn:air:127.0.0.1:agent:x", "[::1]:80": "urn:air:1:agent:x", "": "urn:air:localhost:agent:x",
	} {
		if got := Identifier(host, "agent", "x"); got != want || !identifiers.MatchString(got) {
			t.Errorf("%s: %s", host, got)
		}
	}
}

// The conformance tool's own pattern of identifiers.
var theirs = regexp.MustCompile(`^urn:air:([a-zA-Z0-9.-]+)(?::([a-zA-Z0-9._:-]+))?:([a-zA-Z0-9._-]+)$`)

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"entries":[{"identifier":"urn:air:a.b:c","displayName":"x","type":"t","url":"https://a.b"}]}`), "x")
	f.Add([]byte(`{"entries":[{"identifier":"urn:air:a:b","displayName":"x","type":"application/ai-catalog+json","data":{"entries":[]}}]}`), "a b")
	f.Fuzz(func(t *testing.T, doc []byte, text string) {
		m, _, err := Parse(doc)
		if err != nil {
			return
		}
		for i := range m.Entries {
			e := &m.Entries[i]
			if !theirs.MatchString(e.Identifier) || e.Name() == "" || e.Publisher() == "" || (e.URL == "") == (len(e.Data) == 0) {
				t.Errorf("accepted: %+v", e)
			}
		}
		again, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if n, findings, err := Parse(again); err != nil || len(n.Entries) != len(m.Entries) || len(findings) > 0 {
			t.Errorf("not stable: %v %v", findings, err)
		}
		if page, _, err := Search(m.Entries, &Query{Text: text}, 10, ""); err != nil || len(page) > 10 {
			t.Errorf("%d results, %v", len(page), err)
		}
		_, _ = ParseSearch(doc)
	})
}
