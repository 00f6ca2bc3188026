package serve

import (
	"net"
	"strings"
)

// Status is what a host is, for people, once it has come up. Its texts have no
// credentials.
type Status struct {
	Addr   net.Addr
	URL    string // by which this machine can connect
	Public string // the URL that cards advertise; "" if none is set
	Agents []AgentStatus
	Tasks  string // where they are kept
	Keeps  bool   // tasks outlive the server
	Shared bool   // other servers may have them, too
	Demo   bool   // the demo agent is at /

	Callers string // who may call
	First   string // the command that gets credentials; "" where none are needed
}

// AgentStatus is one agent of a host.
type AgentStatus struct {
	Name    string // where it is; "" if it is the only one, at /
	What    string
	Default bool // it is at /
}

// Status returns what the host is. It may be called before Run.
func (h *Host) Status() *Status {
	r, w := h.now, h.env.Stderr
	f := r.settings
	s := &Status{
		Addr: h.addr, URL: LocalURL(h.addr, f.tls.given()), Public: r.public, Keeps: !h.location.Memory(), Shared: h.location.Shared(), Tasks: w.Redact(h.location.String()),
		Callers: f.auth.who(r.local), First: w.Redact(f.auth.first(h.env.Program, h.location)),
	}
	for _, n := range r.agents {
		s.Agents = append(s.Agents, AgentStatus{n.from.Name, w.Redact(n.what), n.from.Default})
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

// local reports whether only this machine can call a server at an address, and
// nobody else through a proxy in front.
func (f *flags) local(at net.Addr) bool {
	tcp, ok := at.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback() && f.publicURL == "" && len(f.proxies) == 0
}

// warn prints what is legal and may be a mistake.
func (h *Host) warn() {
	f, local, note := h.now.settings, h.now.local, h.env.Stderr.Note
	switch {
	case f.auth.any() && !f.tls.given() && !local && !strings.HasPrefix(h.now.public, "https://"):
		note("Warning", "credentials come to %s without encryption: give --tls-cert and --tls-key, or say with --public-url https://... that something in front has TLS", h.addr)
	case !local && !f.auth.any():
		note("Warning", "everybody who can reach %s may call this agent, and sees the tasks of all others", h.addr)
	case f.auth.any() && f.auth.anonymous:
		note("Warning", "callers without credentials are served, too, and share what they make (--allow-anonymous)")
	}
}
