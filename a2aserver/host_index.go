package a2aserver

import (
	"encoding/json"
	"net/http"

	"github.com/parley-a2a/parley/internal/dialect"
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

// serveIndex lists the agents, for who may call them. path is where it was asked
// for.
func (t *table) serveIndex(w http.ResponseWriter, r *http.Request, path string) {
	limitBody(w, r)
	root := t.root
	if !root.fromBrowser(w, r) || !root.onlyGet(w, r, "GET, HEAD") {
		return
	}
	x := root.newHTTPCall(w, r, &restFraming{mediaType: jsonMedia, dialect: dialect.V10})
	defer x.protect()
	if err := x.enter(); err != nil {
		x.fail(err)
		return
	}
	base, err := root.baseURL(r, path)
	if err != nil {
		x.fail(err)
		return
	}
	index := struct {
		Agents []listed `json:"agents"`
	}{[]listed{}}
	for _, s := range t.list {
		at := base + agentPath(s.name)
		index.Agents = append(index.Agents, listed{
			Name: s.name, Title: s.card.Name, Description: s.card.Description,
			URL: at, Card: at + cardPath, Default: s == root,
		})
	}
	doc, err := json.MarshalIndent(&index, "", "  ")
	if err != nil {
		x.fail(err)
		return
	}
	x.audit.Skip() // a list of agents is no operation
	x.write(http.StatusOK, append(doc, '\n'))
}
