package a2aclient

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
)

// binding is how calls look on one protocol binding.
type binding interface {
	// build makes the call of an operation, in the n-th of its ways; 0 is the
	// usual one. req is of the operation's request type and has the tenant.
	build(op dialect.Op, n int, req any) (*call, error)
	// ways returns how many ways there are to make the call; 0 if there is no
	// such operation.
	ways(op dialect.Op) int
	// answer reads an answer that is no stream, whatever its status.
	answer(k *call, res *http.Response, body []byte) (any, error)
	// element reads the data of an event: usually one element.
	element(k *call, name string, data []byte) ([]*a2a.StreamResponse, error)
}

// bindings are those this client speaks.
var bindings = []string{a2a.BindingJSONRPC, a2a.BindingHTTPJSON, a2a.BindingGRPC}

// newBinding is called for an interface that choose has returned.
func newBinding(c *Client, card *a2a.AgentCard, iface *a2a.AgentInterface, d dialect.Dialect) (binding, error) {
	switch {
	case strings.EqualFold(iface.ProtocolBinding, a2a.BindingHTTPJSON):
		return newREST(iface.URL, d)
	case strings.EqualFold(iface.ProtocolBinding, a2a.BindingGRPC):
		base := grpcBase(card, iface.URL)
		own := *c.http
		own.Transport = http2Only(own.Transport, base)
		return &grpc{base, &own}, nil
	}
	return &jsonrpc{
		url: iface.URL, next: func() int64 { return c.lastID.Add(1) },
		dialect: d, codec: dialect.CodecOf(d, a2a.BindingJSONRPC),
	}, nil
}

// choose returns the interface to be used, and behind it those to fall back
// to.
func choose(card *a2a.AgentCard, o *Options) ([]*a2a.AgentInterface, error) {
	if len(card.SupportedInterfaces) == 0 {
		return nil, &CardError{Ref: card.Name, Kind: CardInvalid, Err: errors.New("it names no interface at which the agent can be called")}
	}
	if o.Version != "" {
		if err := dialect.CheckVersion(o.Version); err != nil {
			return nil, a2a.Errorf(a2a.CodeVersionNotSupported, "protocol version %q is not spoken by this client: use %s",
				o.Version, strings.Join(dialect.Versions, ", "))
		}
	}
	var usable []*a2a.AgentInterface
	otherVersion := false
	for _, in := range card.SupportedInterfaces {
		if in == nil || !contains(bindings, in.ProtocolBinding) || !callable(card, in) {
			continue
		}
		if versionOf(in, o) == "" {
			otherVersion = true
			continue
		}
		usable = append(usable, in)
	}
	if len(usable) == 0 {
		return nil, noneUsable(card, otherVersion)
	}
	var preferred []*a2a.AgentInterface
	for _, want := range o.Bindings {
		for _, in := range usable {
			if strings.EqualFold(in.ProtocolBinding, want) && !slices.Contains(preferred, in) {
				preferred = append(preferred, in)
			}
		}
	}
	if len(preferred) > 0 {
		usable = preferred
	}
	first := usable[0]
	return slices.DeleteFunc(usable, func(in *a2a.AgentInterface) bool { return !standsIn(card, in, first) }), nil
}

// versionOf returns the version to speak with an interface, as Major.Minor, or
// "" if there is none. Interfaces came with 1.0: one that forgot its version is
// of that.
func versionOf(in *a2a.AgentInterface, o *Options) string {
	offered := in.ProtocolVersion
	if offered == "" {
		offered = dialect.Versions[0]
	}
	d, ok := dialect.ParseVersion(offered)
	if !ok || !d.Speaks(in.ProtocolBinding) || !spoken(d, in.ProtocolBinding) {
		return ""
	}
	v := minor(offered)
	if o.Version != "" && minor(o.Version) != v {
		return ""
	}
	return v
}

// spoken reports whether this client has what it takes for a dialect on a
// binding.
func spoken(d dialect.Dialect, binding string) bool {
	return strings.EqualFold(binding, a2a.BindingGRPC) && d >= dialect.V10 || dialect.CodecOf(d, strings.ToUpper(binding)) != nil
}

// minor cuts a patch number off: it is never sent (§3.6, §14.2.1).
func minor(version string) string {
	parts := strings.SplitN(strings.TrimSpace(version), ".", 3)
	return strings.Join(parts[:min(len(parts), 2)], ".")
}

func callable(card *a2a.AgentCard, in *a2a.AgentInterface) bool {
	if strings.EqualFold(in.ProtocolBinding, a2a.BindingGRPC) {
		return grpcBase(card, in.URL) != ""
	}
	u, err := url.Parse(in.URL)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

func contains(list []string, s string) bool {
	return slices.ContainsFunc(list, func(x string) bool { return strings.EqualFold(x, s) })
}

func noneUsable(card *a2a.AgentCard, otherVersion bool) error {
	var offers []string
	for i, in := range card.SupportedInterfaces {
		if in == nil {
			continue
		}
		if i == 8 { // the text is for people
			offers = append(offers, "…")
			break
		}
		offer := fmt.Sprintf("%.40s %.10s", in.ProtocolBinding, in.ProtocolVersion)
		if contains(bindings, in.ProtocolBinding) && !callable(card, in) {
			offer += " at an address that is no http or https URL"
			if strings.EqualFold(in.ProtocolBinding, a2a.BindingGRPC) {
				offer += " and no host:port"
			}
		}
		offers = append(offers, offer)
	}
	code := a2a.CodeUnsupportedOperation
	if otherVersion {
		code = a2a.CodeVersionNotSupported
	}
	return a2a.Errorf(code, "the agent cannot be called: its card offers %s; this client speaks %s over %s",
		strings.Join(offers, ", "), strings.Join(dialect.Versions, ", "), strings.Join(bindings, ", "))
}
