package a2aserver

import (
	"net/http"

	"github.com/parley-a2a/parley/internal/catalog"
)

// listed is an agent in the list of a Host.
type listed struct {
	Name        string `json:"name"`
	Title       string `json:"title"` // of its card
	Description string `json:"description,omitempty"`
	URL         string `json:"url"`
	Card        string `json:"card"`
	Default     bool   `json:"default,omitempty"`
}

// serveIndex lists the agents. path is the requested one. In items the agents are as in
// the catalog.
func (t *table) serveIndex(w http.ResponseWriter, r *http.Request, path string) {
	t.serveListed(w, r, path, readers, func(_ *httpCall, base string) (any, error) {
		index := struct {
			Agents []listed `json:"agents"`
			catalog.ListResponse
		}{Agents: []listed{}}
		for _, s := range t.list {
			at := base + agentPath(s.name)
			index.Agents = append(index.Agents, listed{
				Name: s.name, Title: s.card.Name, Description: s.card.Description,
				URL: at, Card: at + cardPath, Default: s == t.root,
			})
		}
		page, err := t.page(base, r.URL.Query())
		index.ListResponse = page
		return &index, err
	})
}
