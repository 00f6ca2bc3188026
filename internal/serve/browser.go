package serve

import (
	"errors"
	"net"
	"strings"

	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/flagvalue"
)

// browserFlags say which web pages may call, and by which host names.
type browserFlags struct {
	origins []string
	hosts   []string
}

func (f *browserFlags) register(fs *pflag.FlagSet) {
	fs.Var(flagvalue.List("origin", &f.origins, flagvalue.One(parseOrigin), flagvalue.Commas), "cors-origin", "let web pages of an `origin` call, such as https://console.example.org; others cannot; may be repeated")
	fs.Var(flagvalue.List("name", &f.hosts, flagvalue.One(parseHost), flagvalue.Commas), "allowed-host", "answer requests for this host `name` only, such as agents.example.org; may be repeated. A server that only this machine's users can call, without credentials or with --allow-anonymous, answers for localhost and its addresses")
}

// allowed returns the host names that requests may have; none means any. A server that
// trusts every user of its machine must not answer web pages: a site can make its own
// name resolve to its visitor's machine.
func (f *browserFlags) allowed(local bool, listen net.Addr) []string {
	if !local {
		return f.hosts
	}
	names := append([]string{"localhost", "127.0.0.1", "::1"}, f.hosts...)
	if tcp, ok := listen.(*net.TCPAddr); ok { // such as 127.0.0.2
		names = append(names, tcp.IP.String())
	}
	return names
}

// parseOrigin returns an origin, as browsers define it.
func parseOrigin(s string) (string, error) {
	u := a2a.WebURL(s)
	if u == nil || u.Scheme+"://"+u.Host != strings.ToLower(s) || strings.Contains(s, "*") {
		return "", errors.New("must be an origin as browsers write it, scheme and host in lower case and nothing behind: https://console.example.org")
	}
	return strings.ToLower(s), nil
}

// parseHost returns the name of a host, without port.
func parseHost(s string) (string, error) {
	name := strings.ToLower(strings.Trim(s, "[]"))
	if ip := net.ParseIP(name); ip != nil {
		return ip.String(), nil
	}
	if name == "" || strings.ContainsAny(name, ":/*@? ") {
		return "", errors.New("must be a name or an address without a port, such as agents.example.org")
	}
	return name, nil
}
