package egress

import (
	"net"
	"net/url"
	"strconv"
	"strings"
)

// MaxURL bounds a URL, in bytes.
const MaxURL = 2048

// parseURL reads a URL and refuses what a URL that is meant to be posted to
// has no use for.
func parseURL(raw string) (*url.URL, error) {
	if len(raw) > MaxURL {
		return nil, refuse("is longer than " + strconv.Itoa(MaxURL) + " bytes")
	}
	// Space, control characters and backslashes are what parsers disagree on.
	if strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' || r == 0xfffd }) {
		return nil, refuse("has a character in it that no URL has")
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, refuse("cannot be read as a URL")
	}
	if u.Fragment != "" || strings.Contains(raw, "#") {
		return u, refuse("has a fragment, which is never sent")
	}
	return u, nil
}

// target is where a connection goes.
type target struct {
	host
	port uint16
}

// authority is the target as a URL has it.
func (t target) authority(scheme string) string {
	if t.port == 443 && scheme == "https" || t.port == 80 && scheme == "http" {
		if t.addr.Is6() {
			return "[" + t.name + "]"
		}
		return t.name
	}
	return t.String()
}

// String is the target as a dialer has it.
func (t target) String() string { return net.JoinHostPort(t.name, strconv.Itoa(int(t.port))) }

// parseTarget reads a host and a port.
func parseTarget(name string, bracketed bool, port string) (target, error) {
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return target{}, refuse("has a port outside 1 to 65535")
	}
	h, err := parseHost(name, bracketed)
	if err != nil {
		return target{}, err
	}
	return target{h, uint16(n)}, nil
}

// portOf returns the port of a URL of http or https.
func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "http":
		return "80"
	}
	return "443"
}
