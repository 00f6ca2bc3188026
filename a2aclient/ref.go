package a2aclient

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"github.com/parley-a2a/parley/a2a"
)

// The paths at which agents publish their cards: since version 0.3, and before.
const (
	wellKnown    = "/.well-known/agent-card.json"
	oldWellKnown = "/.well-known/agent.json"
)

// reference is a parsed card reference: a file, or URLs to be tried in their order.
type reference struct {
	file    string
	urls    []*url.URL
	base    *url.URL // where an agent may be, unless it is the URL of a document
	guessed bool     // the caller gave no scheme
}

// parseRef parses a reference; see Resolve for the forms. The text alone decides
// between a host and a file, so that a file in the working directory cannot take the
// place of a host.
func parseRef(ref string) (reference, error) {
	scheme, _, isURL := strings.Cut(ref, "://")
	switch {
	case strings.TrimSpace(ref) == "":
		return reference{}, errors.New("the reference is empty: give a host, a URL or a file")
	case isURL && strings.EqualFold(scheme, "file"):
		return fileURL(ref)
	case isURL && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")):
		u, err := url.Parse(ref)
		if err != nil || u.Host == "" {
			return reference{}, errors.New("not a valid URL")
		}
		return reference{urls: candidates(u), base: agentAt(u)}, nil
	case isURL:
		return reference{}, fmt.Errorf("the scheme %q is not supported: use http, https or file", scheme)
	case looksLikeFile(ref):
		return reference{file: ref}, nil
	}
	host, _, _ := strings.Cut(ref, "/")
	scheme = "https"
	if loopback(host) {
		scheme = "http"
	}
	u, err := url.Parse(scheme + "://" + ref)
	if err != nil || u.Host == "" {
		return reference{}, errors.New("neither a host nor a URL nor a file: write https://host, or ./file for a file")
	}
	return reference{urls: candidates(u), base: agentAt(u), guessed: scheme == "https"}, nil
}

// agentAt returns the address of an agent that has no card; nil if u can only be the
// URL of a card.
func agentAt(u *url.URL) *url.URL {
	if isDocument(u) {
		return nil
	}
	return u
}

// isDocument reports whether a URL is that of a card.
func isDocument(u *url.URL) bool {
	return strings.HasSuffix(strings.ToLower(u.Path), ".json") || strings.Contains(u.Path, "/.well-known/")
}

func fileURL(ref string) (reference, error) {
	u, err := url.Parse(ref)
	if err != nil || u.Host != "" && u.Host != "localhost" || u.Path == "" {
		return reference{}, errors.New("not a file URL: write file:///path")
	}
	path := u.Path
	if len(path) > 2 && path[0] == '/' && path[2] == ':' { // file:///C:/card.json
		path = path[1:]
	}
	return reference{file: path}, nil
}

// looksLikeFile reports whether a reference without a scheme is a path: it begins like
// one, or its first segment is no host name.
func looksLikeFile(ref string) bool {
	for _, prefix := range []string{"/", "./", "../", `\`, `.\`, `..\`, "~"} {
		if strings.HasPrefix(ref, prefix) {
			return true
		}
	}
	if len(ref) > 2 && ref[1] == ':' && (ref[2] == '\\' || ref[2] == '/') {
		return true // C:\card.json
	}
	first, _, deeper := strings.Cut(ref, "/")
	json := strings.HasSuffix(strings.ToLower(ref), ".json")
	switch {
	case strings.Contains(first, `\`):
		return true
	case !deeper:
		return json
	case strings.ContainsAny(first, ".:") || first == "localhost":
		return false
	}
	return true
}

// loopback reports whether host, with or without a port, is this machine.
func loopback(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	host = strings.ToLower(host)
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// candidates lists where the card of a URL may be. The URL of a document is used
// unchanged. Agents below a path have their card there or, if the host has only one, at
// its root.
func candidates(u *url.URL) []*url.URL {
	u.Fragment, u.RawFragment = "", ""
	if isDocument(u) {
		return []*url.URL{u}
	}
	root := *u
	root.Path, root.RawPath, root.RawQuery, root.ForceQuery = "", "", "", false
	bases := []*url.URL{&root}
	if base := strings.TrimRight(u.EscapedPath(), "/"); base != "" {
		below := root
		below.Path, below.RawPath = strings.TrimRight(u.Path, "/"), base
		bases = []*url.URL{&below, &root}
	}
	var list []*url.URL
	for _, path := range []string{wellKnown, oldWellKnown} {
		for _, b := range bases {
			list = append(list, b.JoinPath(path))
		}
	}
	return list
}

// isFor reports whether a card that was found at u can be the reference's. The card of
// a host does not apply to everything below it: a caller who misspells an agent's name
// must not talk to another agent. A card that names only other hosts may apply, because
// many agents do not know their own address.
func (r reference) isFor(u *url.URL, card *a2a.AgentCard) bool {
	if r.base == nil || strings.Trim(r.base.Path, "/") == "" || strings.HasPrefix(u.EscapedPath(), strings.TrimRight(r.base.EscapedPath(), "/")+"/") {
		return true
	}
	elsewhere := false
	for _, in := range card.SupportedInterfaces {
		at, err := url.Parse(in.URL)
		if err != nil || at.Scheme != r.base.Scheme || !strings.EqualFold(at.Host, r.base.Host) {
			continue
		}
		if path := strings.Trim(at.Path, "/"); path != "" && (below(at.Path, r.base.Path) || below(r.base.Path, at.Path)) {
			return true
		}
		elsewhere = true
	}
	return !elsewhere
}

// below reports whether path equals from or is below it.
func below(path, from string) bool {
	rest, ok := strings.CutPrefix(strings.Trim(path, "/"), strings.Trim(from, "/"))
	return ok && (rest == "" || rest[0] == '/')
}
