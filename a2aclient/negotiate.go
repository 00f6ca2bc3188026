package a2aclient

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
)

// binding makes and reads the calls of one protocol binding.
type binding interface {
	// build makes the call of an operation in the n-th of its ways; 0 is the usual one.
	// req has the operation's request type, and the tenant.
	build(op dialect.Op, n int, req any) (*call, error)
	// ways returns how many ways there are to make the call; 0 if there is no
	// such operation.
	ways(op dialect.Op) int
	// answer decodes an answer that is no stream, with any status.
	answer(k *call, res *http.Response, body []byte) (any, error)
	// element decodes the data of an event, usually to one element.
	element(k *call, name string, data []byte) ([]*a2a.StreamResponse, error)
}

// bindings are the bindings that this client speaks.
var bindings = []string{a2a.BindingJSONRPC, a2a.BindingHTTPJSON, a2a.BindingGRPC}

// newFace makes an interface of a card ready to be called in a version that
// ParseVersion knows.
func newFace(c *Client, card *a2a.AgentCard, in *a2a.AgentInterface, version string) (*face, error) {
	d, _ := dialect.ParseVersion(version)
	f := &face{iface: in, version: version, dialect: d}
	switch {
	case strings.EqualFold(in.ProtocolBinding, a2a.BindingHTTPJSON):
		b, err := newREST(in.URL, d)
		if err != nil {
			return nil, err
		}
		f.binding = b
	case strings.EqualFold(in.ProtocolBinding, a2a.BindingGRPC):
		base := grpcBase(card, in.URL)
		own := *c.http
		own.Transport = http2Only(own.Transport.(*guard), base)
		f.binding = &grpc{base, &own, dialect.GRPCOf(d)}
	default:
		f.binding = &jsonrpc{
			url: in.URL, next: func() int64 { return c.lastID.Add(1) },
			version: version, dialect: d, codec: dialect.CodecOf(d, a2a.BindingJSONRPC),
		}
	}
	return f, nil
}

// offer is an interface of a card with the version to be spoken there.
type offer struct {
	iface   *a2a.AgentInterface
	version string // Major.Minor
}

// choose returns the interface to be used, followed by those to fall back to. If the
// caller forces a version that the card does not list, choose still tries it at the
// card's addresses: people force a version because the card is wrong.
//
// Interfaces at addresses that from may not name are left out.
func choose(card *a2a.AgentCard, o *Options, from *source) ([]offer, error) {
	if len(card.SupportedInterfaces) == 0 {
		return nil, &CardError{Ref: card.Name, Kind: CardInvalid, Err: errors.New("it names no interface at which the agent can be called")}
	}
	if err := o.checkVersion(); err != nil {
		return nil, err
	}
	var usable, forced []offer
	otherVersion, tenant := false, ""
	var refused error // the first address that is not allowed
	for _, in := range card.SupportedInterfaces {
		if in == nil || !contains(bindings, in.ProtocolBinding) || !callable(card, in) {
			continue
		}
		if u, err := url.Parse(baseOf(card, in)); err == nil { // callable has parsed it
			if err := from.check(u); err != nil {
				refused = cmp.Or(refused, err)
				continue
			}
		}
		version := versionOf(in)
		otherVersion = otherVersion || version == ""
		want := dialect.Minor(o.Version)
		switch {
		case version != "" && o.takes(version):
			usable = append(usable, offer{in, version})
		case o.Version == "" || o.major() != "" || !speaks(want, in.ProtocolBinding):
		case in.Tenant != "" && !saysTenant(want):
			tenant = cmp.Or(tenant, in.Tenant)
		default:
			forced = append(forced, offer{in, want})
		}
	}
	if len(usable) == 0 {
		usable = forced
	}
	switch {
	case len(usable) > 0:
	case refused != nil:
		return nil, &CardError{Ref: card.Name, Kind: CardRefused, Err: refused}
	case tenant != "":
		return nil, a2a.Errorf(a2a.CodeVersionNotSupported, "A2A %s has no tenants, and the agent's card names one (%.40s) that requests must carry: call it in 1.0 or later",
			dialect.Minor(o.Version), tenant)
	default:
		return nil, noneUsable(card, otherVersion || o.Version != "")
	}
	slices.SortStableFunc(usable, func(a, b offer) int { return rank(a.version) - rank(b.version) })
	usable = o.preferred(usable)
	first := usable[0]
	return slices.DeleteFunc(usable, func(of offer) bool { return !standsIn(card, of.iface, first.iface) }), nil
}

// preferred returns the offers over Options.Bindings, in the order of that list, or all
// of them if there are none.
func (o *Options) preferred(all []offer) []offer {
	var list []offer
	for _, want := range o.Bindings {
		for _, of := range all {
			if strings.EqualFold(of.iface.ProtocolBinding, want) && !slices.Contains(list, of) {
				list = append(list, of)
			}
		}
	}
	if len(list) == 0 {
		return all
	}
	return list
}

// saysTenant reports whether requests of a version can name a tenant. Without that they
// would reach the agent without a tenant at the same address.
func saysTenant(version string) bool {
	d, _ := dialect.ParseVersion(version)
	return d >= dialect.V10
}

func rank(version string) int { return slices.Index(dialect.Preferred, version) }

// versionOf returns the version of an interface as Major.Minor, or "" if this client
// does not speak it. Interfaces were introduced in 1.0, so an interface without a
// version has that one.
func versionOf(in *a2a.AgentInterface) string {
	offered := cmp.Or(in.ProtocolVersion, dialect.Versions[0])
	if !speaks(offered, in.ProtocolBinding) {
		return ""
	}
	return dialect.Minor(offered)
}

// speaks reports whether this client implements a version on a binding.
func speaks(version, binding string) bool {
	d, ok := dialect.ParseVersion(version)
	return ok && d.Speaks(binding)
}

func callable(card *a2a.AgentCard, in *a2a.AgentInterface) bool {
	if strings.EqualFold(in.ProtocolBinding, a2a.BindingGRPC) {
		return grpcBase(card, in.URL) != ""
	}
	return a2a.WebURL(in.URL) != nil
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
		offer := fmt.Sprintf("%.40s %.10s", cmp.Or(in.ProtocolBinding, "no protocolBinding"), in.ProtocolVersion)
		if contains(bindings, in.ProtocolBinding) && !callable(card, in) {
			offer += fmt.Sprintf(" at %.60q, which is not an http or https URL", in.URL)
			if strings.EqualFold(in.ProtocolBinding, a2a.BindingGRPC) {
				offer += " or host:port"
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
