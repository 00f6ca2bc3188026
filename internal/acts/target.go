package acts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
)

// TargetError says why an agent cannot be tested at all.
type TargetError struct {
	Message string
	Cause   error
}

func (e *TargetError) Error() string { return e.Message }
func (e *TargetError) Unwrap() error { return e.Cause }

// target is the agent: its card, and the interfaces to test.
type target struct {
	cardURL    string
	card       obj
	cardAnswer *Answer
	interfaces []*iface
	skipped    []string // interfaces of the card that are not tested, with the reason
}

// iface is one interface of a card: a binding in a version.
type iface struct {
	binding string // in the words of ACTS
	version string // Major.Minor
	url     string
	tenant  string
	caller  caller
	bad     error // why caller is nil
	watch   watcher
}

// decode translates the result of an operation to the names of version 1.0.
func (i *iface) decode(op string, v any) any {
	if i.version == "0.3" {
		return decode03(op, v, i.binding == JSONRPC)
	}
	return v
}

// addressed returns params of version 1.0 with the interface's tenant, if it has one.
func (i *iface) addressed(params obj) obj {
	if i.tenant != "" && params["tenant"] == nil {
		params = maps.Clone(params)
		params["tenant"] = i.tenant
	}
	return params
}

var bindingOf = map[string]string{"JSONRPC": JSONRPC, "HTTP+JSON": REST, "GRPC": GRPC}

// cardPaths are the paths of cards; the second is for versions before 0.3.
var cardPaths = []string{"/.well-known/agent-card.json", "/.well-known/agent.json"}

// discover reads the card. An address that ends in .json is that of the card itself.
func discover(ctx context.Context, o *Options) (*target, error) {
	base := o.URL
	if !strings.Contains(base, "://") {
		scheme := "https://"
		if host, _, _ := strings.Cut(base, ":"); host == "localhost" || strings.HasPrefix(host, "127.") || strings.HasPrefix(base, "[::1]") {
			scheme = "http://"
		}
		base = scheme + base
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return nil, &TargetError{fmt.Sprintf("%q is not the address of an agent", o.URL), err}
	}
	urls := []string{base}
	if !strings.HasSuffix(u.Path, ".json") {
		urls = nil
		for _, path := range cardPaths {
			urls = append(urls, strings.TrimSuffix(base, "/")+path)
		}
	}
	var last error
	for _, at := range urls {
		a := fetchCard(ctx, o.Client, at, nil, new(kept))
		card, ok := a.raw.(obj)
		switch {
		case a.broken != nil:
			last = &TargetError{fmt.Sprintf("the card at %s cannot be fetched: %v", at, a.broken), a.broken}
		case a.status != http.StatusOK:
			if last == nil {
				last = &TargetError{fmt.Sprintf("there is no card at %s: HTTP %d", at, a.status), nil}
			}
		case !ok:
			last = &TargetError{fmt.Sprintf("the card at %s is not a JSON object", at), nil}
		default:
			t := &target{cardURL: at, card: card, cardAnswer: a}
			t.find()
			return t, nil
		}
	}
	return nil, last
}

// fetchCard fetches the card, without credentials unless they are in header.
func fetchCard(ctx context.Context, client *http.Client, at string, header http.Header, k *kept) *Answer {
	h := http.Header{"Accept": {"application/json"}}
	maps.Copy(h, header)
	a := exchange(ctx, client, &iface{binding: "card"}, &request{op: "get_agent_card", method: "GET", url: at, header: h, kept: k}, nil)
	a.value = a.raw
	if a.broken == nil && (a.status < 200 || a.status > 299) {
		a.err = restError(a)
	}
	return a
}

// find lists the interfaces of the card: those of 1.0 first, then those that older versions
// have in other members. It lists each interface only once.
func (t *target) find() {
	seen := map[string]bool{}
	add := func(binding, version, at, tenant string) {
		word, known := bindingOf[strings.ToUpper(binding)]
		parts := strings.Split(version, ".")
		if len(parts) > 2 {
			version = strings.Join(parts[:2], ".")
		}
		name := binding + " " + version
		if seen[name] || at == "" {
			return
		}
		seen[name] = true
		switch {
		case !known:
			t.skipped = append(t.skipped, name+": the binding is not one of the specification")
		case word != JSONRPC && slices.Contains([]string{"0.1", "0.2", "1.1"}, version):
			t.skipped = append(t.skipped, name+": of this version only JSON-RPC is judged")
		case !slices.Contains([]string{"1.1", "1.0", "0.3", "0.2", "0.1"}, version):
			t.skipped = append(t.skipped, name+": there are no tests of this version")
		default:
			t.interfaces = append(t.interfaces, &iface{binding: word, version: version, url: at, tenant: tenant})
		}
	}
	text := func(o obj, name string) string { s, _ := o[name].(string); return s }
	for _, v := range asElements(t.card["supportedInterfaces"]) {
		if i, ok := v.(obj); ok {
			add(text(i, "protocolBinding"), text(i, "protocolVersion"), text(i, "url"), text(i, "tenant"))
		}
	}
	version := text(t.card, "protocolVersion")
	if version == "" && t.card["supportedInterfaces"] == nil {
		version = "0.3"
	}
	if at := text(t.card, "url"); at != "" && version != "" {
		preferred := cmp.Or(text(t.card, "preferredTransport"), "JSONRPC")
		add(preferred, version, at, "")
		for _, v := range asElements(t.card["additionalInterfaces"]) {
			if i, ok := v.(obj); ok {
				add(text(i, "transport"), version, text(i, "url"), "")
			}
		}
	}
}

// named adds interfaces that a card cannot show: an agent of 0.1 does not say so, and an agent
// with several versions at an address names only one. If the user asks for 0.1 or 0.2, they are
// tested at the card's JSON-RPC interface.
func (t *target) named(versions []string) {
	for _, v := range versions {
		if v != "0.1" && v != "0.2" || slices.ContainsFunc(t.interfaces, func(i *iface) bool { return i.version == v }) {
			continue
		}
		at, _ := t.card["url"].(string)
		for _, i := range t.interfaces {
			if at == "" && i.binding == JSONRPC {
				at = i.url
			}
		}
		if at != "" {
			t.interfaces = append(t.interfaces, &iface{binding: JSONRPC, version: v, url: at})
		}
	}
}

// exact replaces a major version, such as 1, by its newest version on the card. The draft 1.1
// is tested only if it is named.
func (t *target) exact(versions []string) []string {
	versions = slices.Clone(versions)
	for n, major := range versions {
		for _, i := range t.interfaces {
			if strings.HasPrefix(i.version, major+".") && i.version != "1.1" {
				versions[n] = max(versions[n], i.version)
			}
		}
	}
	return versions
}

// choose keeps the wanted interfaces, and gives each a caller.
func (t *target) choose(o *Options) error {
	var found []string
	versions := t.exact(o.Versions)
	t.named(versions)
	kept := t.interfaces[:0:0]
	for _, i := range t.interfaces {
		found = append(found, i.binding+" "+i.version)
		if len(o.Bindings) > 0 && !slices.Contains(o.Bindings, i.binding) || len(versions) > 0 && !slices.Contains(versions, i.version) {
			continue
		}
		kept = append(kept, i)
	}
	if len(kept) == 0 {
		message := cut(strings.Join(append([]string{"the card at " + t.cardURL + " has no interface that can be judged"}, t.skipped...), "; "), 500)
		if len(found) > 0 {
			message = "none of the interfaces that are wanted is on the card at " + t.cardURL + ": it has " + strings.Join(found, ", ")
		}
		return &TargetError{message, nil}
	}
	t.interfaces = kept
	for _, i := range t.interfaces {
		i.caller, i.bad = i.dial(o, strings.HasPrefix(t.cardURL, "https:"))
	}
	return nil
}

// dial returns the caller of an interface; secure says that the card was fetched over TLS.
func (i *iface) dial(o *Options, secure bool) (caller, error) {
	if i.binding == GRPC {
		return dialGRPC(o, i, secure)
	}
	if u, err := url.Parse(i.url); err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("its url is not an http or https URL: " + cut(i.url, 120))
	}
	if i.binding == REST {
		return &restCaller{client: o.Client, i: i}, nil
	}
	return &jsonrpcCaller{client: o.Client, i: i}, nil
}

func (t *target) close() {
	for _, i := range t.interfaces {
		if c, ok := i.caller.(*grpcCaller); ok {
			c.conn.Close()
		}
	}
}

// capability returns a member of the card's capabilities.
func (t *target) capability(name string) any {
	v, _ := lookup(any(t.card), "capabilities."+name)
	if v == nil && name == "extendedAgentCard" {
		return t.card["supportsAuthenticatedExtendedCard"]
	}
	return v
}

// authenticated reports whether the card requires credentials.
func (t *target) authenticated() bool {
	return len(asElements(t.card["securityRequirements"])) > 0 || len(asElements(t.card["security"])) > 0
}

// accepts reports whether the card lists a media type as an input, of the agent or of a skill.
func (t *target) accepts(media string) bool {
	modes := asElements(t.card["defaultInputModes"])
	for _, v := range asElements(t.card["skills"]) {
		s, _ := v.(obj)
		modes = append(slices.Clip(modes), asElements(s["inputModes"])...)
	}
	return slices.ContainsFunc(modes, func(v any) bool {
		mode, _ := v.(string)
		ok, err := path.Match(mode, media)
		return ok && err == nil || mode == "*"
	})
}

// extensions returns the URIs that the card declares; if required, only the required ones.
func (t *target) extensions(required bool) (uris []string) {
	list, _ := lookup(any(t.card), "capabilities.extensions")
	for _, v := range asElements(list) {
		e, ok := v.(obj)
		uri, isText := e["uri"].(string)
		if ok && isText && (!required || e["required"] == true) && !slices.Contains(uris, uri) {
			uris = append(uris, uri)
		}
	}
	return uris
}

// Credentials are sent with requests to identify the caller.
type Credentials struct {
	Bearer         string
	APIKey         string
	User, Password string
	Header         http.Header
}

func (c *Credentials) given() bool {
	return c.Bearer != "" || c.APIKey != "" || c.User != "" || len(c.Header) > 0
}

// wrong returns invalid credentials of the same kind.
func (c *Credentials) wrong() *Credentials {
	const nobodys = "parley-conformance-wrong"
	switch {
	case c.APIKey != "":
		return &Credentials{APIKey: nobodys}
	case c.Bearer == "" && c.User != "":
		return &Credentials{User: c.User, Password: nobodys}
	}
	return &Credentials{Bearer: nobodys}
}

// apply sets the headers. An API key goes where the card's scheme says.
func (c *Credentials) apply(h http.Header, card obj) {
	maps.Copy(h, c.Header)
	switch {
	case c.Bearer != "":
		h.Set("Authorization", "Bearer "+c.Bearer)
	case c.User != "":
		r := http.Request{Header: http.Header{}}
		r.SetBasicAuth(c.User, c.Password)
		h.Set("Authorization", r.Header.Get("Authorization"))
	}
	if c.APIKey == "" {
		return
	}
	schemes, _ := card["securitySchemes"].(obj)
	for _, name := range slices.Sorted(maps.Keys(schemes)) {
		s, _ := schemes[name].(obj)
		place := "in"
		if k, ok := s["apiKeySecurityScheme"].(obj); ok {
			s, place = k, "location"
		}
		where, _ := s[place].(string)
		field, _ := s["name"].(string)
		switch {
		case where == "header" && field != "":
			h.Set(field, c.APIKey)
			return
		case where == "cookie" && field != "":
			h.Add("Cookie", field+"="+c.APIKey)
			return
		}
	}
	h.Set("X-API-Key", c.APIKey)
}

const minSecret = 4

// secrets are texts that a report must not show.
type secrets []string

func (c *Credentials) secrets() (list secrets) {
	add := func(s string) {
		if len(s) >= minSecret {
			list = append(list, s, strings.Trim(compact(s), `"`)) // unchanged, and in JSON
		}
	}
	add(c.Bearer)
	add(c.APIKey)
	add(c.Password)
	h := http.Header{}
	c.apply(h, nil)
	for _, values := range h {
		for _, v := range values {
			add(v)
			if _, token, ok := strings.Cut(v, " "); ok {
				add(token)
			}
		}
	}
	slices.SortFunc(list, func(a, b string) int { return len(b) - len(a) })
	return list
}
