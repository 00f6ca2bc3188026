package egress

import (
	"net"
	"net/url"
	"strconv"
	"strings"
)

// MaxURL bounds a URL, in bytes.
const MaxURL = 2048

// parseURL reads a URL and refuses parts that are of no use in a URL to post to.
func parseURL(raw string) (*url.URL, error) {
	if len(raw) > MaxURL {
		return nil, refuse("is longer than " + strconv.Itoa(MaxURL) + " bytes")
	}
	// Parsers disagree on space, control characters and backslashes.
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

// authority returns the target as in a URL.
func (t target) authority(scheme string) string {
	if t.port == 443 && scheme == "https" || t.port == 80 && scheme == "http" {
		if t.addr.Is6() {
			return "[" + t.name + "]"
		}
		return t.name
	}
	return t.String()
}

// String returns the target as a dialer needs it.
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

// PortOf returns the port of a URL of http or https.
func PortOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "http":
		return "80"
	}
	return "443"
}

// badPorts are the ports of services that might take a request for their own language:
// the list of the Fetch standard ("port blocking"), sorted.
var badPorts = []uint16{
	1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95,
	101, 102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179,
	389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995,
	1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
}
