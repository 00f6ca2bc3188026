package console

import (
	"net/http"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/admin"
)

// agentRow is an agent in a list or a choice.
type agentRow struct {
	Agent
	Key  string
	Host *admin.Agent // nil for those who do not operate the server
}

type agentData struct {
	Agent *Agent
	Key   string
	Admin *admin.Agent // nil for those who do not operate the server
	Raw   string
	Login []string // ways to authenticate, in words; each suffices
	Curl  string
	CLI   string
	Binds []binding
}

// binding is an interface of the card: which versions of the protocol it speaks.
type binding struct {
	Name, URL string
	Versions  []string
}

func (c *Console) agentRows() (rows []agentRow) {
	for _, a := range c.opts.Agents() {
		rows = append(rows, agentRow{Agent: a, Key: a.key()})
	}
	return rows
}

func (c *Console) agents(w http.ResponseWriter, r *request) {
	rows := c.agentRows()
	if c.everybody(r) {
		list, err := c.opts.Admin.Agents(r.ctx)
		if err != nil {
			c.failed(w, r, err)
			return
		}
		for i := range rows {
			rows[i].Host = named(list, rows[i].Name)
		}
	}
	c.show(w, r, "agents", page{Title: "Agents", Place: "agents", Data: struct{ Rows []agentRow }{rows}})
}

func named(list []admin.Agent, name string) *admin.Agent {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}

func (c *Console) agent(w http.ResponseWriter, r *request) {
	a := c.find(r.PathValue("agent"))
	if a == nil {
		c.fail(w, r.Request, http.StatusNotFound, "There is no such agent", "Choose one of the list of agents.")
		return
	}
	d := agentData{Agent: a, Key: a.key(), Raw: indent(a.Card.AppendJSON(nil)), Login: loginWays(a.Card)}
	to := agentURL(r, a)
	d.Curl = "curl " + quote(strings.TrimSuffix(to, "/")+"/.well-known/agent-card.json")
	d.CLI = "parley send -a " + quote(to) + " 'hello'"
	for _, i := range a.Card.SupportedInterfaces {
		at := slices.IndexFunc(d.Binds, func(b binding) bool { return b.Name == i.ProtocolBinding && b.URL == i.URL })
		if at < 0 {
			at = len(d.Binds)
			d.Binds = append(d.Binds, binding{Name: i.ProtocolBinding, URL: i.URL})
		}
		d.Binds[at].Versions = append(d.Binds[at].Versions, i.ProtocolVersion)
	}
	if c.everybody(r) {
		list, err := c.opts.Admin.Agents(r.ctx)
		if err != nil {
			c.failed(w, r, err)
			return
		}
		d.Admin = named(list, a.Name)
	}
	c.show(w, r, "agent", page{Title: a.Card.Name, Place: "agents", Data: d})
}

// loginWays says in words how a card lets callers in.
func loginWays(card *a2a.AgentCard) (ways []string) {
	for _, req := range card.SecurityRequirements {
		var all []string
		for name := range req {
			all = append(all, name+schemeWords(card.SecuritySchemes[name]))
		}
		slices.Sort(all)
		if len(all) > 0 {
			ways = append(ways, strings.Join(all, " and "))
		}
	}
	return ways
}

func schemeWords(s *a2a.SecurityScheme) string {
	switch {
	case s == nil:
		return ""
	case s.APIKey != nil:
		return ": an API key in " + s.APIKey.Name
	case s.HTTPAuth != nil:
		return ": " + s.HTTPAuth.Scheme + " over HTTP"
	case s.OAuth2 != nil:
		return ": OAuth 2.0"
	case s.OpenIDConnect != nil:
		return ": OpenID Connect at " + s.OpenIDConnect.OpenIDConnectURL
	case s.MutualTLS != nil:
		return ": a client certificate"
	}
	return ""
}
