package main

import (
	"context"
	"fmt"
	"mime"
	"net/url"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/a2a"
)

// maxFindings caps what is said of one card: the first are enough to begin with.
const maxFindings = 6

// cardFindings says what a card lacks that callers choose agents by, or that
// programs stumble over; none of it keeps a server from starting. made says
// that nobody wrote the card's words: they were made up from what the agent is.
func cardFindings(card *a2a.AgentCard, made bool) []string {
	var found []string
	add := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	description := strings.TrimSpace(card.Description)
	switch {
	case made:
		add("nobody has said yet what the agent does: its description and its skills are made up from what it runs, without examples")
	case description == "":
		add("no description: callers, and models that choose for them, go by it")
	case strings.EqualFold(description, strings.TrimSpace(card.Name)):
		add("the description says no more than the name")
	}
	if strings.TrimSpace(card.Version) == "" {
		add("no version: callers cannot tell that the agent has changed; it is served as 1.0.0")
	}
	if !made {
		skillFindings(card.Skills, add)
	}
	for _, link := range []struct{ what, url string }{{"documentation URL", card.DocumentationURL}, {"icon URL", card.IconURL}, {"provider's URL", providerURL(card)}} {
		if link.url != "" && !isLink(link.url) {
			add("the %s %s is not an https or http URL that others can open", link.what, quote(link.url))
		}
	}
	for _, mode := range slices.Concat(card.DefaultInputModes, card.DefaultOutputModes) {
		if !isMediaType(mode) {
			add("%s is no media type such as text/plain", quote(mode))
		}
	}
	if n := len(found) - maxFindings; n > 0 {
		found = append(found[:maxFindings], fmt.Sprintf("and %d more", n))
	}
	return found
}

func skillFindings(skills []*a2a.AgentSkill, add func(string, ...any)) {
	if len(skills) == 0 {
		add("no skills: one is made up from the name and the description")
	}
	seen := map[string]bool{}
	for _, s := range skills {
		name := quote(s.ID)
		if seen[s.ID] {
			add("more than one skill is called %s", name)
		}
		seen[s.ID] = true
		if strings.TrimSpace(s.Description) == "" {
			add("the skill %s has no description", name)
		}
		if len(s.Examples) == 0 {
			add("the skill %s has no examples of what to send", name)
		}
		if len(s.Tags) == 0 {
			add("the skill %s has no tags, which version 1.0 requires", name)
		}
	}
}

func providerURL(card *a2a.AgentCard) string {
	if card.Provider == nil {
		return ""
	}
	return card.Provider.URL
}

// isLink reports whether a URL is one for others: not a file, not of this machine.
func isLink(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Hostname() != "" && u.User == nil && !isLocalHost(u.Hostname())
}

// isMediaType reports whether a mode is a media type or a range of them.
func isMediaType(s string) bool {
	media, _, err := mime.ParseMediaType(s)
	return err == nil && strings.Count(media, "/") == 1
}

// tell says what the cards of a revision lack, each thing once.
func (s *serving) tell(r *revision) {
	now := map[string]bool{}
	note := func(of, text string) {
		if now[text] = true; !s.told[text] {
			s.app.note(of, "%s", text)
		}
	}
	say := func(name, text string) {
		if name != "" {
			text = name + ": " + text
		}
		note("Card", text)
	}
	for i, n := range r.agents {
		if n.unknown != nil {
			say(n.from.Name, "it is not known yet, because what is behind does not answer: "+cleanLine(n.unknown.Error()))
			continue
		}
		madeUp := n.madeUp && n.from.Card.Description == "" && len(n.from.Card.Skills) == 0
		for _, text := range cardFindings(&r.hosted[i].Card, madeUp) {
			say(n.from.Name, text)
		}
	}
	if !slices.ContainsFunc(r.agents, func(n *made) bool { return n.from.Default }) {
		say("", "no agent is at /, where callers look who know no more than the host, and where the tasks of an only agent are: default: true puts one there")
	}
	for _, text := range addressFindings(r.public, !r.local) {
		say("", text)
	}
	if s.store != nil {
		var names []string
		front := ""
		for _, h := range r.hosted {
			if h.Default || h.Name == "" {
				front = h.Name
				names = append(names, "") // the tasks that it has, whatever its name is
			} else {
				names = append(names, h.Name)
			}
		}
		left, err := leftFindings(context.Background(), s.store, names, front)
		if err != nil {
			s.log.Warn("it was not found out whose tasks there are", "error", err)
		}
		for _, text := range left {
			note("Tasks", text)
		}
	}
	s.told = now
}
