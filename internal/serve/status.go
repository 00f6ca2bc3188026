package serve

import (
	"bytes"
	"net"
	"strings"
)

// Status describes a started host to people. Its texts contain no credentials.
type Status struct {
	Addr    net.Addr
	URL     string // for clients on this machine
	Trust   string // the certificate file that clients need, because no authority signed it
	Public  string // the URL that cards advertise; "" if none is set
	Console string // the URL of the web console; "" if there is none
	// Link opens the console on this machine without credentials; "" if they are
	// needed. Print it for people, but never log it.
	Link     string
	LinkFrom string // the command that prints Link; "" if there is none
	Agents   []AgentStatus
	Tasks    string // where the tasks are kept
	Keeps    bool   // tasks outlive the server
	Shared   bool   // other servers may use them, too
	Demo     bool   // the demo agent is at /

	Callers string // who may call
	Traces  string // where traces are sent; "" if there are none
	First   string // the command that gets credentials; "" if none are needed
}

// AgentStatus is one agent of a host.
type AgentStatus struct {
	Name    string // its name in the URL; "" if it is the only one, at /
	What    string
	Default bool   // it is at /
	Model   string // the model that answers, its endpoint, and whether it is there; "" if none does
}

// Status describes the host. It may be called before Run.
func (h *Host) Status() *Status {
	r, w := h.now, h.env.Stderr
	f := r.settings
	s := &Status{
		Addr: h.addr, URL: LocalURL(h.addr, f.tls.given()), Public: r.public, Keeps: !h.location.Memory(), Shared: h.location.Shared(), Tasks: w.Redact(h.location.String()),
		Callers: f.auth.who(r.local), Traces: w.Redact(h.telemetry.Traces), First: w.Redact(f.auth.first(h.env.Program, h.location)),
	}
	if c := h.certificate(); c != nil && bytes.Equal(c.RawIssuer, c.RawSubject) {
		s.Trust = w.Redact(f.tls.cert)
	}
	if h.pages != nil {
		if s.Console = s.URL; s.Public != "" {
			s.Console = s.Public
		}
		s.Console += ConsolePath + "/"
		if h.pages.token != "" {
			s.Link = s.Console + "open?token=" + h.pages.token
			if h.location.AdminFile() != "" {
				s.LinkFrom = h.location.Command(h.env.Program, "admin console")
			}
		}
	}
	for _, n := range r.agents {
		a := AgentStatus{Name: n.from.Name, What: w.Redact(n.what), Default: n.from.Default}
		if c := n.from.OpenAI; c != nil {
			scheme, _, _ := strings.Cut(c.URL, "://")
			a.Model = w.Redact(c.Model + " at " + scheme + "://" + hostOf(c.URL) + " · " + n.model)
		}
		s.Agents = append(s.Agents, a)
		s.Demo = s.Demo || n.from.Default && n.from.Builtin == "demo"
	}
	return s
}

// LocalURL returns a URL by which this machine can connect to a listener.
func LocalURL(at net.Addr, tls bool) string {
	scheme := "http://"
	if tls {
		scheme = "https://"
	}
	host, port, err := net.SplitHostPort(at.String())
	if err != nil {
		return scheme + at.String()
	}
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return scheme + net.JoinHostPort(host, port)
}

// local reports whether only this machine can call a server at an address, even through
// a proxy in front.
func (f *flags) local(at net.Addr) bool {
	tcp, ok := at.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback() && f.publicURL == "" && len(f.proxies) == 0
}

// caution returns a warning about callers that may be intended; "" if there is none.
func (f *flags) caution(at net.Addr, local bool, public string) string {
	switch {
	case f.auth.any() && !f.tls.given() && !local && !strings.HasPrefix(public, "https://"):
		return "credentials come to " + at.String() + " without encryption: give --tls-cert and --tls-key, or say with --public-url https://... that something in front has TLS"
	case !local && !f.auth.any():
		return "everybody who can reach " + at.String() + " may call this agent, and sees the tasks of all others"
	case f.auth.any() && f.auth.anonymous:
		return "callers without credentials are served, too, and share what they make (--allow-anonymous)"
	}
	return ""
}
