package a2a

import (
	"net"
	"net/url"
)

// WebURL parses an absolute URL of http or https with a host, as interfaces,
// webhooks and services have them. It returns nil if s is not such a URL. Errors
// should not quote s, which may hold a password.
func WebURL(s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil
	}
	return u
}

// IsLoopback reports whether a host, without port and brackets, is localhost or a
// loopback address. It does not resolve names.
func IsLoopback(host string) bool {
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}
