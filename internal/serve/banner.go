package serve

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/plain"
)

// versions lists the versions that clients may speak. The last one is a draft.
func versions() string {
	last := len(dialect.Versions) - 1
	return "A2A " + strings.Join(dialect.Versions[:last], ", ") + "; draft " + dialect.Versions[last]
}

// maxBannerAgents caps how many agents are listed by name.
const maxBannerAgents = 20

// Print prints serve's banner on standard output; it may be called before Run. version is the
// program's, and parley the command that starts it again. The link that opens the console is
// printed only on a terminal; elsewhere it would stay in logs.
func (h *Host) Print(w io.Writer, version, parley string, terminal bool) error {
	var out strings.Builder
	fmt.Fprintf(&out, "parley %s\n", version)
	add := func(label, text string) {
		if text != "" {
			fmt.Fprintf(&out, "  %-10s %s\n", label, plain.Line(text))
		}
	}
	r, f, redact := h.now, h.now.settings, h.env.Stderr.Redact
	url := h.URL()
	first, hello, second := url, "hello", ""
	if n := r.agents[0]; len(r.agents) == 1 && n.from.Default {
		what := redact(n.what)
		if name := n.from.Name; name != "" && name != what {
			what = name + " (" + what + ")"
		}
		add("Agent", what)
		add("JSON-RPC", url)
		add("HTTP+JSON", url)
		add("gRPC", url[strings.Index(url, "://")+len("://"):])
		add("Card", url+"/.well-known/agent-card.json")
		add("Versions", versions())
		add("Model", h.modelLine(n)) // after the addresses, because programs take the first one
		second = parley + ` task list -a ` + h.reached(url)
		if n.from.Builtin == "demo" {
			hello, second = "echo hello", parley+` send -a `+h.reached(url)+` --stream "stream 20 200"`
		}
	} else {
		add("Agents", url+"/agents")
		shown := r.agents[:min(len(r.agents), maxBannerAgents)]
		for _, n := range shown {
			at := url + "/agents/" + n.from.Name
			if n.from.Default {
				at += " and " + url
			}
			add("", at+"  "+redact(n.what))
		}
		if more := len(r.agents) - len(shown); more > 0 {
			add("", fmt.Sprintf("and %d more", more))
		}
		for _, n := range shown {
			if model := h.modelLine(n); model != "" {
				add("Model", n.from.Name+": "+model)
			}
		}
		add("Versions", versions())
		first = url + "/agents/" + n.from.Name
	}
	console, link := h.console()
	switch {
	case link == "":
	case terminal:
		console = link
	case h.location.AdminFile() != "":
		console += "  (for a link that lets you in: " + h.location.Command(h.env.Program, "admin console") + ")"
	default:
		console += "  (a link that lets you in is printed on a terminal only)"
	}
	add("Console", console)
	if add("Public", r.public); r.public == "" && everywhere(h.addr) {
		add("Network", "every address of this machine; the card names the one that was asked")
	}
	add("Callers", f.auth.who(r.local))
	add("Tasks", redact(h.location.String()))
	add("Traces", redact(h.telemetry.Traces))
	add("First", redact(f.auth.first(h.env.Program, h.location)))
	add("Try", parley+` send -a `+h.reached(first)+` "`+hello+`"`)
	add("and", second)
	stop := "Ctrl-C"
	switch {
	case h.location.Shared():
		stop += "; unfinished tasks resume on another server, or at the next start"
	case !h.location.Memory():
		stop += "; unfinished tasks resume at the next start"
	}
	add("Stop", stop)
	_, err := io.WriteString(w, out.String())
	return err
}

// modelLine describes the model that answers, its endpoint, and whether it is there; "" if none
// does.
func (h *Host) modelLine(n *instance) string {
	c := n.from.OpenAI
	if c == nil {
		return ""
	}
	scheme, _, _ := strings.Cut(c.URL, "://")
	return h.env.Stderr.Redact(c.Model + " at " + scheme + "://" + hostOf(c.URL) + " · " + n.model)
}

// reached returns a URL of the server with the flags that a client on this machine needs: the
// certificate, if no authority signed it.
func (h *Host) reached(url string) string {
	if c := h.certificate(); c != nil && bytes.Equal(c.RawIssuer, c.RawSubject) {
		return url + " --ca-file " + plain.Quote(h.env.Stderr.Redact(h.now.settings.tls.cert))
	}
	return url
}

// everywhere reports whether a listener accepts connections to any address.
func everywhere(at net.Addr) bool {
	tcp, ok := at.(*net.TCPAddr)
	return ok && tcp.IP.IsUnspecified()
}

// URL returns the URL of the server for clients on this machine.
func (h *Host) URL() string { return LocalURL(h.addr, h.now.settings.tls.given()) }

// console returns the URL of the web console, "" if there is none, and a link that opens it
// without credentials, "" if they are needed. The link must never be logged.
func (h *Host) console() (url, link string) {
	if h.pages == nil {
		return "", ""
	}
	url = cmp.Or(h.now.public, h.URL()) + ConsolePath + "/"
	if h.pages.token != "" {
		link = url + "open?token=" + h.pages.token
	}
	return url, link
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
