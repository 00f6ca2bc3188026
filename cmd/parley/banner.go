package main

import (
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/parley-a2a/parley/internal/dialect"
)

// banner is what serve says once, on standard output, when it runs.
type banner struct {
	addr   net.Addr
	tls    bool
	public string // the URL that cards advertise; "" if none is set
	agents []bannerAgent
	tasks  string // where they are kept
	keeps  bool   // whether tasks outlive the server
	shared bool   // whether other servers have them, too
	demo   bool

	callers string // who may call
	first   string // the command that gets credentials; "" where none are needed
}

// bannerAgent is one of the agents.
type bannerAgent struct {
	name      string // where it is; "" if it is the only one, at /
	what      string
	isDefault bool
}

// loopback reports whether only this machine can connect.
func (b *banner) loopback() bool {
	tcp, ok := b.addr.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// everywhere reports whether the listener takes connections to any address.
func (b *banner) everywhere() bool {
	tcp, ok := b.addr.(*net.TCPAddr)
	return ok && tcp.IP.IsUnspecified()
}

// versions lists what clients may speak. The last one is a draft.
func versions() string {
	last := len(dialect.Versions) - 1
	return "A2A " + strings.Join(dialect.Versions[:last], ", ") + "; draft " + dialect.Versions[last]
}

// local is a URL by which this machine can connect.
func (b *banner) local() string {
	scheme := "http://"
	if b.tls {
		scheme = "https://"
	}
	host, port, err := net.SplitHostPort(b.addr.String())
	if err != nil {
		return scheme + b.addr.String()
	}
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return scheme + net.JoinHostPort(host, port)
}

func (b *banner) print(w io.Writer) error {
	url := b.local()
	hello := "hello"
	second := `parley task list -a ` + url
	if b.demo {
		hello = "echo hello"
		second = `parley send -a ` + url + ` --stream "stream 20 200"`
	}
	stop := "Ctrl-C"
	switch {
	case b.shared:
		stop += "; what is running goes on elsewhere, or at the next start"
	case b.keeps:
		stop += "; what is running goes on at the next start"
	}
	var lines [][2]string
	if len(b.agents) > 1 || len(b.agents) == 1 && !b.agents[0].isDefault {
		return b.printMany(w, url, stop)
	}
	what := b.agents[0].what
	if name := b.agents[0].name; name != "" {
		what = name + " (" + what + ")"
	}
	lines = [][2]string{
		{"Agent", what},
		{"JSON-RPC", url},
		{"HTTP+JSON", url},
		{"gRPC", url[strings.Index(url, "://")+len("://"):]},
		{"Card", url + "/.well-known/agent-card.json"},
		{"Versions", versions()},
	}
	lines = append(lines, b.around()...)
	lines = append(lines,
		[2]string{"Try", `parley send -a ` + url + ` "` + hello + `"`},
		[2]string{"and", second},
		[2]string{"Stop", stop})
	return printBanner(w, lines)
}

// around is what does not depend on which agents there are.
func (b *banner) around() (lines [][2]string) {
	switch {
	case b.public != "":
		lines = append(lines, [2]string{"Public", b.public})
	case b.everywhere():
		lines = append(lines, [2]string{"Network", "every address of this machine; the card names the one that was asked"})
	}
	lines = append(lines, [2]string{"Callers", b.callers}, [2]string{"Tasks", b.tasks})
	if b.first != "" {
		lines = append(lines, [2]string{"First", b.first})
	}
	return lines
}

// maxBannerAgents caps how many agents are listed by name.
const maxBannerAgents = 20

// printMany is for several agents: each has an address, and all are in /agents.
func (b *banner) printMany(w io.Writer, url, stop string) error {
	lines := [][2]string{{"Agents", url + "/agents"}}
	for i, a := range b.agents {
		if i == maxBannerAgents {
			lines = append(lines, [2]string{"", fmt.Sprintf("and %d more", len(b.agents)-i)})
			break
		}
		at := url + "/agents/" + a.name
		if a.isDefault {
			at += " and " + url
		}
		lines = append(lines, [2]string{"", at + "  " + a.what})
	}
	lines = append(lines, [2]string{"Versions", versions()})
	lines = append(lines, b.around()...)
	first := url + "/agents/" + b.agents[0].name
	lines = append(lines, [2]string{"Try", "parley send -a " + first + ` "hello"`}, [2]string{"Stop", stop})
	return printBanner(w, lines)
}

func printBanner(w io.Writer, lines [][2]string) error {
	var out strings.Builder
	fmt.Fprintf(&out, "parley %s\n", version())
	for _, l := range lines {
		fmt.Fprintf(&out, "  %-10s %s\n", l[0], cleanLine(l[1]))
	}
	_, err := io.WriteString(w, out.String())
	return err
}
