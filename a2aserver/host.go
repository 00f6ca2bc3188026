package a2aserver

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/catalog"
)

// Route is one agent of a Host.
type Route struct {
	// Name is the agent's name: it is served at /agents/{name}; see ValidName. Only the
	// default agent may have none, and is then served only at /.
	Name string
	// Default serves the agent at / as well.
	Default bool
	// Service and Card are as for New.
	Service a2a.Service
	Card    *a2a.AgentCard
	// Callbacks serves the paths below /callbacks/{name}/, or below /callbacks/default/
	// for an agent without a name; it gets the rest of the path. Options.Identity,
	// Hosts, Origins and Limits do not apply to it. Nil means no callbacks.
	Callbacks http.Handler
}

// AgentsPath is where a Host lists its agents, and below which it serves them.
// CallbacksPath is the path below which other systems call them back.
const (
	AgentsPath    = "/agents"
	CallbacksPath = "/callbacks"
)

// maxName is the maximal length of a label of a host name.
const maxName = 63

// ValidName reports whether name can be an agent's name in a Host: a word of a-z, 0-9
// and -, of 63 bytes at most, that neither begins nor ends with -.
func ValidName(name string) bool {
	if name == "" || len(name) > maxName || name[0] == '-' || name[len(name)-1] == '-' {
		return false
	}
	for _, c := range []byte(name) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}

// agentPath returns the path of an agent below its Host.
func agentPath(name string) string {
	if name == "" {
		return ""
	}
	return AgentsPath + "/" + name
}

// Host is the http.Handler of several agents: each is served at /agents/{name} as a
// Server serves one at /, and one of them at / as well. Over gRPC an agent is selected
// by the tenant agents/{name}, or agents/{name}/{tenant} for a tenant of a caller;
// version 0.3 reaches only the agent at /. All agents have the same Options, and a
// caller's limits apply to all of them together. Keys and probes are only at /.
//
// GET /agents lists the agents for callers who are let in. The paths of Agentic
// Resource Discovery list them, too: /.well-known/ard.json and ai-catalog.json, POST
// /search and GET /agents/{urn}. Every unknown path is answered with the same 404. If
// agents have names, no tenant can be called agents or callbacks over HTTP+JSON at /.
type Host struct {
	*shared
	table atomic.Pointer[table]
}

// table has the agents of a Host at one time. It does not change.
type table struct {
	root      *Server // at /; a Server without an agent if none is there
	agent     bool    // root has an agent
	quotas    *quotas
	named     map[string]*Server
	callbacks map[string]http.Handler
	list      []*Server // in the order of the routes
}

// NewHost returns the handler of some agents. Cards are as for New. It returns an error
// if an agent lacks a service, a card or a valid name, if two have the same name or are
// both the default, or if signed cards have no fixed address.
func NewHost(agents []Route, o *Options) (*Host, error) {
	h := &Host{shared: newShared(cmp.Or(o, new(Options)))}
	return h, h.Set(agents, o)
}

// Set replaces agents and options, all at once or, on an error, not at all. Calls under
// way continue as they began, but the new Identity decides whether their callers are
// still let in.
func (h *Host) Set(agents []Route, o *Options) error {
	o = cmp.Or(o, new(Options))
	var before *quotas
	if was := h.table.Load(); was != nil {
		before = was.quotas
	}
	t := &table{named: map[string]*Server{}, callbacks: map[string]http.Handler{}, quotas: newQuotas(o, before)}
	for i := range agents {
		if err := t.add(h.shared, &agents[i], o); err != nil {
			return err
		}
	}
	if t.root == nil {
		t.root = newServer(nobody{}, &a2a.AgentCard{}, o, h.shared, t.quotas)
	}
	h.newest.Store(o)
	h.table.Store(t)
	if o.asks() {
		h.open.cancel(errAsked, func(w *openCall) bool { return !w.asked })
	}
	return nil
}

func (t *table) add(sh *shared, r *Route, o *Options) error {
	switch {
	case r.Service == nil || r.Card == nil:
		return fmt.Errorf("a2aserver: the agent %q needs a service and a card", r.Name)
	case r.Name == "" && !r.Default:
		return fmt.Errorf("a2aserver: an agent that is not at / needs a name")
	case r.Name != "" && !ValidName(r.Name):
		return fmt.Errorf("a2aserver: %q is not a valid name of an agent: it must be a word of a-z, 0-9 and -", r.Name)
	case r.Name != "" && t.named[r.Name] != nil:
		return fmt.Errorf("a2aserver: there are two agents called %q", r.Name)
	case r.Default && t.root != nil:
		return fmt.Errorf("a2aserver: there are two agents at /")
	case o.Sign != nil && o.publicURL() == "" && len(r.Card.SupportedInterfaces) == 0:
		return fmt.Errorf("a2aserver: signed cards need Options.PublicURL, or interfaces of their own")
	}
	s := newServer(r.Service, r.Card, o, sh, t.quotas)
	if s.name = r.Name; s.name != "" {
		s.log = s.log.With("agent", s.name)
	}
	if r.Default {
		t.root, t.agent = s, true
	} else {
		s.at = agentPath(r.Name)
	}
	back := r.Name
	if back == "" {
		back = "default"
	} else {
		t.named[r.Name] = s
	}
	if r.Callbacks != nil {
		if t.callbacks[back] != nil {
			return fmt.Errorf("a2aserver: two agents are called back at %q", back)
		}
		t.callbacks[back] = r.Callbacks
	}
	t.list = append(t.list, s)
	return nil
}

// nobody is the Service at / if no agent is there.
type nobody struct{ a2a.Unimplemented }

func (h *Host) front() *Server { return h.table.Load().root }

func (h *Host) of(tenant string) (*Server, string) {
	t := h.table.Load()
	rest, ok := strings.CutPrefix(tenant, AgentsPath[1:]+"/")
	if !ok || len(t.named) == 0 {
		if !t.agent {
			return nil, ""
		}
		return t.root, tenant
	}
	name, callers, _ := strings.Cut(rest, "/")
	return t.named[name], callers
}

// ServeHTTP answers one request.
func (h *Host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	t := h.table.Load()
	path := r.URL.EscapedPath()
	skip := 0
	if strings.HasPrefix(path, "//") {
		path, skip = path[1:], 1 // as in Server.ServeHTTP
	}
	if t.root.opened(w, r, path) {
		return
	}
	if handler := t.root.opts.beside(path); handler != nil {
		t.serveBeside(handler, w, r)
		return
	}
	switch {
	case len(t.named) > 0 && below(path, AgentsPath):
		name, rest := segment(path[len(AgentsPath):])
		if s := t.named[name]; s != nil {
			s.ServeHTTP(w, behind(r, skip+len(path)-len(rest)))
			return
		}
		switch {
		case strings.Trim(path, "/") == AgentsPath[1:]:
			t.serveIndex(w, r, path)
		case rest == "" && strings.HasPrefix(name, "urn:"):
			t.serveEntry(w, r, path, name)
		default:
			t.serveNothing(w, r)
		}
	case len(t.named) > 0 && (path == catalog.Path || path == catalog.OldPath):
		t.serveCatalog(w, r, path)
	case len(t.named) > 0 && path == searchPath:
		t.serveSearch(w, r)
	case len(t.callbacks) > 0 && below(path, CallbacksPath):
		name, rest := segment(path[len(CallbacksPath):])
		if c := t.callbacks[name]; c != nil {
			t.serveCallback(c, w, behind(r, skip+len(path)-len(rest)))
			return
		}
		t.serveNothing(w, r)
	case t.agent || belongsToHost(path):
		t.root.ServeHTTP(w, r)
	case strings.Trim(path, "/") == "" && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		t.serveIndex(w, r, path)
	default:
		t.serveNothing(w, r)
	}
}

func below(path, at string) bool {
	rest, ok := strings.CutPrefix(path, at)
	return ok && (rest == "" || rest[0] == '/')
}

// segment cuts the first segment off a path: rest is "", or begins with a slash.
func segment(path string) (first, rest string) {
	path = strings.TrimPrefix(path, "/")
	if i := strings.IndexByte(path, '/'); i >= 0 {
		return path[:i], path[i:]
	}
	return path, ""
}

// behind returns the request without the first n bytes of its path, in which nothing is
// percent-encoded.
func behind(r *http.Request, n int) *http.Request {
	c := *r
	u := *r.URL
	u.Path = u.Path[n:]
	u.RawPath = u.RawPath[min(n, len(u.RawPath)):] // a RawPath that does not encode Path is ignored, before and after
	c.URL = &u
	return &c
}

// belongsToHost reports whether path is served even if no agent is at /.
func belongsToHost(path string) bool {
	return isProbe(path) || path == keysPath || path == CardKeysPath
}

// beside returns the handler of Options.Beside for path, or nil.
func (o *Options) beside(path string) (found http.Handler) {
	longest := -1
	for at, handler := range o.Beside {
		if below(path, at) && len(at) > longest {
			found, longest = handler, len(at)
		}
	}
	return found
}

// serveBeside passes a request to a handler of Options.Beside.
func (t *table) serveBeside(h http.Handler, w http.ResponseWriter, r *http.Request) {
	limitBody(w, r)
	if t.root.forThisHost(w, r) {
		h.ServeHTTP(w, r)
	}
}

// opened redirects a browser in which somebody opened / to Options.Front, and reports
// whether it answered.
func (s *Server) opened(w http.ResponseWriter, r *http.Request, path string) bool {
	if s.opts.Front == "" || path != "/" || r.Method != http.MethodGet ||
		r.Header.Get("Sec-Fetch-Mode") != "navigate" && r.Header.Get("Sec-Fetch-Mode") != "" || !strings.Contains(r.Header.Get("Accept"), "text/html") {
		return false
	}
	if !s.forThisHost(w, r) {
		return true
	}
	q := ofHTTP(r, "")
	at, err := s.addressOf(&q)
	if err != nil {
		return false
	}
	h := w.Header()
	h.Set("Vary", "Accept, Sec-Fetch-Mode")
	h.Set("Cache-Control", "no-store")
	h.Set("Location", at.prefix+s.opts.Front+"/")
	w.WriteHeader(http.StatusSeeOther)
	return true
}

// serveNothing answers a request for an unknown path.
func (t *table) serveNothing(w http.ResponseWriter, r *http.Request) {
	limitBody(w, r)
	if !t.root.fromBrowser(w, r) {
		return
	}
	t.root.refuse(w, r, a2a.Errorf(a2a.CodeMethodNotFound, "there is nothing at this path"))
}
