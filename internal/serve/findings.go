package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/admin"
	"github.com/parley-a2a/parley/internal/plain"
)

// notKnown describes a card whose service does not answer.
const notKnown = "it is not known yet, because the service behind the agent does not answer: "

// sayUnderCard is the advice for a card whose texts were generated.
const sayUnderCard = "say what the agent does in parley.yaml, under card: (docs/config.md)"

// maxFindings caps the findings of one card.
const maxFindings = 6

// cardFindings returns what a card lacks for callers who choose agents by it, and what
// may break programs; none of it keeps a server from starting. made says that the
// card's texts were generated. The YAML of a finding is for the agent's card: in
// parley.yaml.
func cardFindings(card *a2a.AgentCard, made bool) []admin.Finding {
	var found []admin.Finding
	add := func(field, yaml, format string, args ...any) {
		found = append(found, admin.Finding{Field: field, YAML: yaml, Message: fmt.Sprintf(format, args...)})
	}
	description := strings.TrimSpace(card.Description)
	switch {
	case made:
		add("description", describe+skills, "the description and the skills are generated: "+sayUnderCard)
	case description == "":
		add("description", describe, "there is no description: callers, and models that choose for them, go by it")
	case strings.EqualFold(description, strings.TrimSpace(card.Name)):
		add("description", describe, "the description says no more than the name")
	}
	if strings.TrimSpace(card.Version) == "" {
		add("version", "version: \"1.0.0\"\n", "there is no version: callers cannot tell that the agent has changed; it is served as 1.0.0")
	}
	if !made {
		skillFindings(card.Skills, add)
	}
	for _, link := range []struct{ what, field, url string }{
		{"documentation URL", "documentation_url", card.DocumentationURL}, {"icon URL", "icon_url", card.IconURL}, {"provider's URL", "organization_url", providerURL(card)},
	} {
		if link.url != "" && !isLink(link.url) {
			add(link.field, link.field+": https://example.org/\n", "the %s %s is not an https or http URL that others can open", link.what, plain.Quote(link.url))
		}
	}
	for _, modes := range []struct {
		field string
		list  []string
	}{{"input_modes", card.DefaultInputModes}, {"output_modes", card.DefaultOutputModes}} {
		for _, mode := range modes.list {
			if !isMediaType(mode) {
				add(modes.field, modes.field+": [text/plain]\n", "%s is not a media type such as text/plain", plain.Quote(mode))
			}
		}
	}
	if n := len(found) - maxFindings; n > 0 {
		found = append(found[:maxFindings], admin.Finding{Message: fmt.Sprintf("and %d more", n)})
	}
	return found
}

// Snippets to paste below card: of an agent, and to edit.
const (
	describe = "description: What the agent does, in a sentence or two.\n"
	skills   = `skills:
  - id: main
    name: What it is called
    description: What the agent does when it is asked for this.
    tags: [keyword]
    examples: [Something to send]
`
)

func skillFindings(list []*a2a.AgentSkill, add func(field, yaml, format string, args ...any)) {
	if len(list) == 0 {
		add("skills", skills, "there are no skills: one is generated from the name and the description")
	}
	seen := map[string]bool{}
	for _, s := range list {
		name := plain.Quote(s.ID)
		id, err := json.Marshal(s.ID) // YAML reads JSON as well
		if err != nil {
			continue // never for a string
		}
		of := "skills:\n  - id: " + string(id) + "\n"
		if seen[s.ID] {
			add("skills", "", "more than one skill is called %s", name)
		}
		seen[s.ID] = true
		if strings.TrimSpace(s.Description) == "" {
			add("skills", of+"    description: What the agent does when it is asked for this.\n", "the skill %s has no description", name)
		}
		if len(s.Examples) == 0 {
			add("skills", of+"    examples: [Something to send]\n", "the skill %s has no examples of what to send", name)
		}
		if len(s.Tags) == 0 {
			add("skills", of+"    tags: [keyword]\n", "the skill %s has no tags, which version 1.0 requires", name)
		}
	}
}

// messages returns only the messages of findings.
func messages(found []admin.Finding) (list []string) {
	for _, f := range found {
		list = append(list, f.Message)
	}
	return list
}

// ofAgent indents each snippet for its place in parley.yaml.
func ofAgent(name string, found []admin.Finding) []admin.Finding {
	key, err := json.Marshal(cmp.Or(name, "agent")) // an agent of the command line has no name yet
	if err != nil {
		return found // never for a string
	}
	for i := range found {
		if f := &found[i]; f.YAML != "" {
			f.YAML = "agents:\n  " + string(key) + ":\n    card:\n      " + strings.ReplaceAll(strings.TrimSuffix(f.YAML, "\n"), "\n", "\n      ") + "\n"
		}
	}
	return found
}

func providerURL(card *a2a.AgentCard) string {
	if card.Provider == nil {
		return ""
	}
	return card.Provider.URL
}

// isLink reports whether others can open a URL: it is no file, and not on this machine.
func isLink(s string) bool {
	u := a2a.WebURL(s)
	return u != nil && u.Hostname() != "" && u.User == nil && !isLocalHost(u.Hostname())
}

// isMediaType reports whether a mode is a media type or a media range.
func isMediaType(s string) bool {
	media, _, err := mime.ParseMediaType(s)
	return err == nil && strings.Count(media, "/") == 1
}

// printFindings prints what the cards of a revision lack, each finding once.
func (h *Host) printFindings(r *revision) {
	now := map[string]bool{}
	note := func(of, text string) {
		if now[text] = true; !h.printed[text] {
			h.env.Stderr.Note(of, "%s", text)
		}
	}
	for _, text := range r.findings() {
		note("Card", text)
	}
	if !h.location.Memory() {
		left, err := r.orphans(context.Background(), h.store.Tasks)
		if err != nil {
			h.log.Warn("tasks of removed agents could not be looked up", "error", err)
		}
		for _, text := range left {
			note("Tasks", text)
		}
	}
	h.printed = now
}

// findings returns what the cards of a revision lack.
func (r *revision) findings() (found []string) {
	say := func(name, text string) {
		if name != "" {
			text = name + ": " + text
		}
		found = append(found, text)
	}
	for i, n := range r.agents {
		if n.unknown != nil {
			say(n.from.Name, notKnown+plain.Line(n.unknown.Error()))
			continue
		}
		madeUp := n.madeUp && n.from.Card.Description == "" && len(n.from.Card.Skills) == 0
		for _, text := range messages(cardFindings(&r.hosted[i].Card, madeUp)) {
			say(n.from.Name, text)
		}
	}
	if !slices.ContainsFunc(r.agents, func(n *instance) bool { return n.from.Default }) {
		say("", "no agent is at /, where callers look that know only the host: default: true on an agent puts it there")
	}
	for _, text := range addressFindings(r.public, !r.local) {
		say("", text)
	}
	return found
}
