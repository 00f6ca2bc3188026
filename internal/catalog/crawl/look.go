package crawl

import (
	"slices"
	"strings"

	"github.com/parley-a2a/parley/internal/catalog"
)

// Search returns the agents of catalogs that match a text, best first: as results, and as the
// catalogs have them. If several have one identifier, the first one counts.
func Search(list []*Catalog, text string) ([]catalog.Result, []*Agent, error) {
	var entries []catalog.Entry
	agents, source := map[string]*Agent{}, map[string]string{}
	for _, c := range list {
		for i := range c.Agents {
			if agent := &c.Agents[i]; agents[agent.Identifier] == nil {
				entries = append(entries, agent.Entry)
				agents[agent.Identifier], source[agent.Identifier] = agent, c.Source
			}
		}
	}
	found, _, err := catalog.Search(entries, &catalog.Query{Text: text}, catalog.MaxPage, "")
	if err != nil {
		return nil, nil, err
	}
	var of []*Agent
	for i := range found {
		found[i].Source = source[found[i].Identifier]
		of = append(of, agents[found[i].Identifier])
	}
	return found, of, nil
}

// Named returns the agents of catalogs that ref names by identifier or by name. Agents with the
// same address count once.
func Named(list []*Catalog, ref string) (found []*Agent) {
	urn := strings.HasPrefix(ref, "urn:")
	for _, c := range list {
		for i := range c.Agents {
			agent := &c.Agents[i]
			fits := agent.Identifier == ref || !urn && (strings.EqualFold(agent.Name(), ref) || strings.EqualFold(agent.DisplayName, ref))
			if fits && !slices.ContainsFunc(found, func(f *Agent) bool { return f.URL == agent.URL }) {
				found = append(found, agent)
			}
		}
	}
	return found
}
