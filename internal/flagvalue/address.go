package flagvalue

import (
	"errors"
	"net"
	"strings"
)

// Address returns a value for an address to listen on, with the default in *to.
func Address(to *string) *Value {
	return Of("address", to, ParseAddress, func(s string) string { return s })
}

// ParseAddress parses an address to listen on. A port alone means this machine only, so that a
// short form never admits others.
func ParseAddress(s string) (string, error) {
	host, port, err := net.SplitHostPort(s)
	if strings.Trim(s, "0123456789") == "" && s != "" {
		host, port, err = "127.0.0.1", s, nil
	}
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return "", errors.New("must be a port from 0 to 65535, or an address with one: 8080, 127.0.0.1:8080 or :8080")
	}
	return net.JoinHostPort(host, port), nil
}
