package acts

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"
)

// request returns the request of a step.
func (p *player) request(s *Step) (*request, error) {
	h, err := p.headers(s)
	if err != nil {
		return nil, err
	}
	r := &request{op: s.Operation, header: h, kept: &p.kept}
	if s.Raw != nil {
		err = p.raw(s.Raw, r)
	} else if s.Operation != "get_agent_card" { // which has none
		r.params, err = p.params(s)
	}
	return r, err
}

// headers returns the service parameters and credentials of a step.
func (p *player) headers(s *Step) (http.Header, error) {
	h, set := http.Header{}, s.Headers
	if s.Raw != nil {
		set = s.Raw.Headers // a raw request sets its own version
	} else if p.iface.version == "1.0" {
		h.Set("A2A-Version", p.iface.version)
	}
	if uris := p.target.extensions(true); len(uris) > 0 {
		name := "A2A-Extensions"
		if p.iface.version != "1.0" {
			name = "X-A2A-Extensions"
		}
		h.Set(name, strings.Join(uris, ", "))
	}
	switch s.Auth {
	case "":
		p.o.Credentials.apply(h, p.target.card)
	case "other":
		if !p.o.Other.given() {
			return nil, &errSkip{"needs credentials of a second caller"}
		}
		p.o.Other.apply(h, p.target.card)
	case "wrong":
		wrong := p.o.Credentials.wrong()
		wrong.apply(h, p.target.card)
	}
	for name, v := range set {
		r, err := p.resolve(v)
		if err != nil {
			return nil, p.cannot(err)
		}
		switch r := r.(type) {
		case nil:
			h.Del(name)
		case []any:
			h.Del(name)
			for _, x := range r {
				h.Add(name, plainText(x))
			}
		default:
			h.Set(name, plainText(r))
		}
	}
	return h, nil
}

// params returns the parameters of an operation; a message without an id gets one (ACTS §12.4).
func (p *player) params(s *Step) (obj, error) {
	v, err := p.resolve(any(s.Params))
	if err != nil {
		return nil, p.cannot(err)
	}
	params, _ := v.(obj)
	if params == nil {
		params = obj{}
	}
	if m, ok := params["message"].(obj); ok {
		if _, ok := m["messageId"]; !ok {
			m["messageId"] = uuid.NewString()
		} else if m["messageId"] == nil {
			delete(m, "messageId")
		}
	}
	return params, nil
}

// raw makes a raw request. Its path is appended to the interface's address; / is the address
// itself.
func (p *player) raw(of *RawRequest, r *request) error {
	v, err := p.resolve(of.Path)
	if err != nil {
		return p.cannot(err)
	}
	at := plainText(v)
	if !strings.Contains(at, "://") {
		base := strings.TrimSuffix(p.iface.url, "/")
		switch {
		case strings.HasPrefix(at, "/.well-known/"):
			u, err := url.Parse(p.target.cardURL)
			if err != nil {
				return err
			}
			at = u.Scheme + "://" + u.Host + at
		case at == "/" && p.iface.binding == JSONRPC:
			at = p.iface.url
		case strings.HasPrefix(at, "/?") && p.iface.binding == JSONRPC:
			at = p.iface.url + at[1:]
		default:
			at = base + at
		}
	}
	r.method, r.url = of.Method, at
	if of.BodyRaw != nil {
		v, err = p.resolve(*of.BodyRaw)
		r.body = []byte(plainText(v))
	} else if of.Body != nil {
		v, err = p.resolve(of.Body)
		r.body = []byte(compact(v))
	}
	return p.cannot(err)
}
