package console

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/admin"
)

// CalmCard returns a card without texts that mislead their reader: the card of a proxied agent
// comes from a stranger.
func CalmCard(card *a2a.AgentCard) *a2a.AgentCard {
	c, text := new(a2a.AgentCard), string(card.AppendJSON(nil))
	if quiet := calm(text); quiet == text {
		return card
	} else if json.Unmarshal([]byte(quiet), c) != nil {
		return &a2a.AgentCard{Name: "An agent whose card cannot be shown"}
	}
	return c
}

// agentRow is an agent in the list.
type agentRow struct {
	Agent
	Host *admin.Agent // nil for viewers who do not operate the server

	Running, Waiting int // tasks at work, and tasks that wait for their client
}

type agentData struct {
	Agent    *Agent
	Card     *a2a.AgentCard // as it is published
	Admin    *admin.Agent   // nil for viewers who do not operate the server
	Raw      string
	Login    []string // ways to authenticate, in words; one is enough
	Curl     string
	CLI      string
	Versions []string
	Binds    []binding
	Signed   []string // the keys that signed it
	Can      []ability
}

// binding is a row of the matrix of a card's interfaces.
type binding struct {
	Name, URL string
	Speaks    []bool // by agentData.Versions
}

// ability is a feature that an agent offers or not.
type ability struct {
	Name string
	Has  bool
}

func (c *Console) agents(w http.ResponseWriter, r *request) {
	var list []admin.Agent
	if c.seesAll(r) {
		var err error
		if list, err = c.opts.Admin.Agents(r.ctx); err != nil {
			c.failed(w, r, err)
			return
		}
	}
	var rows []agentRow
	for _, a := range c.opts.Agents() {
		row := agentRow{Agent: a, Host: named(list, a.Name)}
		if row.Host != nil {
			row.Running, row.Waiting = tasksOf(row.Host)
		}
		rows = append(rows, row)
	}
	c.show(w, r, "agents", page{Title: "Agents", Place: "agents", Data: struct{ Rows []agentRow }{rows}})
}

// tasksOf counts the open tasks of an agent.
func tasksOf(a *admin.Agent) (running, waiting int) {
	for state, n := range a.Tasks {
		if s, _ := admin.ParseState(state); s.Interrupted() {
			waiting += n
		} else {
			running += n
		}
	}
	return running, waiting
}

func named(list []admin.Agent, name string) *admin.Agent {
	for i := range list {
		if list[i].Name == name || name == "" && list[i].Default {
			return &list[i]
		}
	}
	return nil
}

func (c *Console) agent(w http.ResponseWriter, r *request, a *Agent) {
	if a.ref != "" {
		http.Redirect(w, r.Request, base(r.Request)+"/elsewhere?agent="+url.QueryEscape(a.ref), http.StatusSeeOther)
		return
	}
	d := agentData{Agent: a, Card: a.Card}
	if c.opts.Published != nil {
		card := new(a2a.AgentCard)
		if doc := c.opts.Published(r.Request, a.Name); doc != nil && json.Unmarshal(doc, card) == nil {
			d.Card = CalmCard(card)
		}
	}
	d.read()
	to := c.agentURL(r, a)
	d.Curl = "curl " + quote(strings.TrimSuffix(to, "/")+"/.well-known/agent-card.json")
	d.CLI = "parley send -a " + quote(to) + " 'hello'"
	if c.seesAll(r) {
		list, err := c.opts.Admin.Agents(r.ctx)
		if err != nil {
			c.failed(w, r, err)
			return
		}
		d.Admin = named(list, a.Name)
	}
	c.show(w, r, "agent", page{Title: a.Card.Name, Place: "agents", Data: d})
}

// read fills in the data from the card.
func (d *agentData) read() {
	card := d.Card
	d.Raw, d.Login = indent(card.AppendJSON(nil)), loginWays(card)
	is := func(b *bool) bool { return b != nil && *b }
	d.Can = []ability{{"Streaming", is(card.Capabilities.Streaming)}, {"Webhooks", is(card.Capabilities.PushNotifications)}, {"Extended card", is(card.Capabilities.ExtendedAgentCard)}}
	for _, i := range card.SupportedInterfaces {
		if !slices.Contains(d.Versions, i.ProtocolVersion) {
			d.Versions = append(d.Versions, i.ProtocolVersion)
		}
	}
	slices.Sort(d.Versions)
	slices.Reverse(d.Versions)
	for _, i := range card.SupportedInterfaces {
		at := slices.IndexFunc(d.Binds, func(b binding) bool { return b.Name == i.ProtocolBinding && b.URL == i.URL })
		if at < 0 {
			at = len(d.Binds)
			d.Binds = append(d.Binds, binding{Name: i.ProtocolBinding, URL: i.URL, Speaks: make([]bool, len(d.Versions))})
		}
		d.Binds[at].Speaks[slices.Index(d.Versions, i.ProtocolVersion)] = true
	}
	for _, s := range card.Signatures {
		var header struct {
			Alg string `json:"alg"`
			Kid string `json:"kid"`
		}
		doc, err := base64.RawURLEncoding.DecodeString(s.Protected)
		if err != nil || json.Unmarshal(doc, &header) != nil {
			d.Signed = append(d.Signed, "a signature that cannot be read")
			continue
		}
		d.Signed = append(d.Signed, calm(strings.TrimSpace(header.Alg+" "+header.Kid)))
	}
}

// loginWays describes the ways in which a card lets callers authenticate.
func loginWays(card *a2a.AgentCard) (ways []string) {
	for _, req := range card.SecurityRequirements {
		if len(req) == 0 {
			ways = append(ways, "no credentials")
		}
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

// schemeWords describes the credentials of a scheme.
func schemeWords(s *a2a.SecurityScheme) string {
	switch {
	case s == nil:
		return ""
	case s.APIKey != nil:
		return ": an API key in the " + s.APIKey.Location + " " + s.APIKey.Name
	case s.HTTPAuth != nil && strings.EqualFold(s.HTTPAuth.Scheme, "bearer"):
		words := ": a bearer token in the header Authorization"
		if f := s.HTTPAuth.BearerFormat; f != "" {
			words += " (" + f + ")"
		}
		return words
	case s.HTTPAuth != nil && strings.EqualFold(s.HTTPAuth.Scheme, "basic"):
		return ": a user name and a password"
	case s.HTTPAuth != nil:
		return ": the scheme " + s.HTTPAuth.Scheme + " in the header Authorization"
	case s.OAuth2 != nil:
		return ": an OAuth 2.0 token" + flowWords(&s.OAuth2.Flows)
	case s.OpenIDConnect != nil:
		return ": a token of the OpenID Connect issuer at " + strings.TrimSuffix(s.OpenIDConnect.OpenIDConnectURL, "/.well-known/openid-configuration")
	case s.MutualTLS != nil:
		return ": a client certificate"
	}
	return ""
}

func flowWords(f *a2a.OAuthFlows) string {
	for _, of := range []struct {
		flow *a2a.OAuthFlow
		at   string
	}{{f.AuthorizationCode, "after a login at "}, {f.ClientCredentials, "for a program, from "}, {f.DeviceCode, "after a login on another device, from "}} {
		if of.flow == nil {
			continue
		}
		at := cmp.Or(of.flow.AuthorizationURL, of.flow.TokenURL)
		if u := a2a.WebURL(at); u != nil {
			return ", " + of.at + u.Host
		}
	}
	return ""
}
