package serve

import (
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

// Print prints serve's banner on standard output when the server runs. version is the
// program's, and parley the command that starts it again. The link that opens the
// console is printed only on a terminal; elsewhere it would stay in logs.
func (b *Status) Print(w io.Writer, version, parley string, terminal bool) error {
	switch {
	case b.Link == "":
	case terminal:
		b.Console = b.Link
	case b.LinkFrom != "":
		b.Console += "  (for a link that lets you in: " + b.LinkFrom + ")"
	default:
		b.Console += "  (a link that lets you in is printed on a terminal only)"
	}
	url := b.URL
	hello := "hello"
	second := parley + ` task list -a ` + b.reach(url)
	if b.Demo {
		hello = "echo hello"
		second = parley + ` send -a ` + b.reach(url) + ` --stream "stream 20 200"`
	}
	stop := "Ctrl-C"
	switch {
	case b.Shared:
		stop += "; unfinished tasks resume on another server, or at the next start"
	case b.Keeps:
		stop += "; unfinished tasks resume at the next start"
	}
	var lines [][2]string
	if len(b.Agents) > 1 || len(b.Agents) == 1 && !b.Agents[0].Default {
		return b.printMany(w, version, stop, parley)
	}
	what := b.Agents[0].What
	if name := b.Agents[0].Name; name != "" && name != what {
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
	if model := b.Agents[0].Model; model != "" { // after the addresses, because programs take the first one
		lines = append(lines, [2]string{"Model", model})
	}
	lines = append(lines, b.around()...)
	lines = append(lines,
		[2]string{"Try", parley + ` send -a ` + b.reach(url) + ` "` + hello + `"`},
		[2]string{"and", second},
		[2]string{"Stop", stop})
	return printBanner(w, version, lines)
}

// reach returns a URL of the server with the flags that a client on this machine needs.
func (b *Status) reach(url string) string {
	if b.Trust != "" {
		return url + " --ca-file " + plain.Quote(b.Trust)
	}
	return url
}

// around returns the lines that do not depend on the agents.
func (b *Status) around() (lines [][2]string) {
	if b.Console != "" {
		lines = append(lines, [2]string{"Console", b.Console})
	}
	switch {
	case b.Public != "":
		lines = append(lines, [2]string{"Public", b.Public})
	case everywhere(b.Addr):
		lines = append(lines, [2]string{"Network", "every address of this machine; the card names the one that was asked"})
	}
	lines = append(lines, [2]string{"Callers", b.Callers}, [2]string{"Tasks", b.Tasks})
	if b.Traces != "" {
		lines = append(lines, [2]string{"Traces", b.Traces})
	}
	if b.First != "" {
		lines = append(lines, [2]string{"First", b.First})
	}
	return lines
}

// maxBannerAgents caps how many agents are listed by name.
const maxBannerAgents = 20

// printMany prints the banner for several agents: each has an address, and /agents
// lists all.
func (b *Status) printMany(w io.Writer, version, stop, parley string) error {
	url := b.URL
	lines := [][2]string{{"Agents", url + "/agents"}}
	for i, a := range b.Agents {
		if i == maxBannerAgents {
			lines = append(lines, [2]string{"", fmt.Sprintf("and %d more", len(b.Agents)-i)})
			break
		}
		at := url + "/agents/" + a.Name
		if a.Default {
			at += " and " + url
		}
		lines = append(lines, [2]string{"", at + "  " + a.What})
	}
	for i, a := range b.Agents {
		if a.Model != "" && i < maxBannerAgents {
			lines = append(lines, [2]string{"Model", a.Name + ": " + a.Model})
		}
	}
	lines = append(lines, [2]string{"Versions", versions()})
	lines = append(lines, b.around()...)
	first := url + "/agents/" + b.Agents[0].Name
	lines = append(lines, [2]string{"Try", parley + " send -a " + b.reach(first) + ` "hello"`}, [2]string{"Stop", stop})
	return printBanner(w, version, lines)
}

func printBanner(w io.Writer, version string, lines [][2]string) error {
	var out strings.Builder
	fmt.Fprintf(&out, "parley %s\n", version)
	for _, l := range lines {
		fmt.Fprintf(&out, "  %-10s %s\n", l[0], plain.Line(l[1]))
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// everywhere reports whether a listener accepts connections to any address.
func everywhere(at net.Addr) bool {
	tcp, ok := at.(*net.TCPAddr)
	return ok && tcp.IP.IsUnspecified()
}
