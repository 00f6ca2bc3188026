package main

import (
	"errors"
	"net"
	"net/url"
	"strings"

	"github.com/spf13/pflag"
)

// browserFlags say which web pages may call, and by which names.
type browserFlags struct {
	origins origins
	hosts   hostNames
}

func (f *browserFlags) register(fs *pflag.FlagSet) {
	fs.Var(&f.origins, "cors-origin", "let web pages of an `origin` call, such as https://console.example.org; others cannot; may be repeated")
	fs.Var(&f.hosts, "allowed-host", "answer requests for this host `name` only, such as agents.example.org; may be repeated. A server that only this machine's users can call, without credentials or with --allow-anonymous, answers for localhost and its addresses")
}

// allowed returns the names that requests may be for; none means any. A server
// that trusts whoever is on its machine must not be reached from there by a web
// page, whose site can let its own name lead to the machine of its visitor.
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

// origins is a repeatable flag of what browsers call origins.
type origins []string

func (o *origins) String() string { return strings.Join(*o, ",") }
func (o *origins) Type() string   { return "origin" }
func (o *origins) Set(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Scheme+"://"+u.Host != strings.ToLower(s) || strings.Contains(s, "*") {
		return errors.New("must be an origin as browsers write it, scheme and host in lower case and nothing behind: https://console.example.org")
	}
	*o = append(*o, strings.ToLower(s))
	return nil
}

// hostNames is a repeatable flag of the names of hosts, without port.
type hostNames []string

func (h *hostNames) String() string { return strings.Join(*h, ",") }
func (h *hostNames) Type() string   { return "name" }
func (h *hostNames) Set(s string) error {
	name := strings.ToLower(strings.Trim(s, "[]"))
	if ip := net.ParseIP(name); ip != nil {
		*h = append(*h, ip.String())
		return nil
	}
	if name == "" || strings.ContainsAny(name, ":/*@? ") {
		return errors.New("must be a name or an address without a port, such as agents.example.org")
	}
	*h = append(*h, name)
	return nil
}
