package dialect

import (
	"cmp"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/pb"
	"github.com/parley-a2a/parley/internal/pb/v03"
	"google.golang.org/protobuf/proto"
)

// cardV03PB writes a card as a message of 0.3. Most of its parts have the same field
// numbers in both versions and are copied unchanged; readers skip the fields that 0.3
// does not have.
//
// The addresses are those at which the card offers 0.3, the gRPC one first, because the
// caller uses gRPC; if it offers none, those of any version.
func cardV03PB(c *a2a.AgentCard) (*v03.AgentCard, error) {
	p, err := cardPB(c)
	if err != nil {
		return nil, err
	}
	out := &v03.AgentCard{
		ProtocolVersion: "0.3.0",
		Name:            p.Name, Description: p.Description, Version: p.Version,
		DocumentationUrl: p.GetDocumentationUrl(), IconUrl: p.GetIconUrl(),
		Provider: recast(p.Provider, new(v03.AgentProvider)),
		Capabilities: &v03.AgentCapabilities{
			Streaming: p.Capabilities.GetStreaming(), PushNotifications: p.Capabilities.GetPushNotifications(),
			Extensions: recasts(p.Capabilities.Extensions, func() *v03.AgentExtension { return new(v03.AgentExtension) }),
		},
		Security:          recasts(p.SecurityRequirements, func() *v03.Security { return new(v03.Security) }),
		DefaultInputModes: p.DefaultInputModes, DefaultOutputModes: p.DefaultOutputModes,
		Skills:                            recasts(p.Skills, func() *v03.AgentSkill { return new(v03.AgentSkill) }),
		Signatures:                        recasts(p.Signatures, func() *v03.AgentCardSignature { return new(v03.AgentCardSignature) }),
		SupportsAuthenticatedExtendedCard: p.Capabilities.GetExtendedAgentCard(),
	}
	for name, s := range p.SecuritySchemes {
		if out.SecuritySchemes == nil {
			out.SecuritySchemes = map[string]*v03.SecurityScheme{}
		}
		out.SecuritySchemes[name] = recast(s, new(v03.SecurityScheme))
	}
	for i, in := range interfacesV03(c) {
		if i == 0 {
			out.Url, out.PreferredTransport = in.Url, in.Transport
		}
		out.AdditionalInterfaces = append(out.AdditionalInterfaces, in) // with the first one (0.3 §5.6.2)
	}
	return out, nil
}

func interfacesV03(c *a2a.AgentCard) []*v03.AgentInterface {
	var first, rest, other []*v03.AgentInterface
	for _, in := range c.SupportedInterfaces {
		if in == nil {
			continue
		}
		m := &v03.AgentInterface{Url: utf(in.URL), Transport: utf(in.ProtocolBinding)}
		switch d, ok := ParseVersion(in.ProtocolVersion); {
		case !ok || d != V03:
			other = append(other, m)
		case strings.EqualFold(in.ProtocolBinding, a2a.BindingGRPC):
			first = append(first, m)
		default:
			rest = append(rest, m)
		}
	}
	if list := append(first, rest...); len(list) > 0 {
		return list
	}
	return other
}

// cardOfV03PB is the inverse of cardV03PB.
func cardOfV03PB(op Op, c *v03.AgentCard) (any, error) {
	can := c.GetCapabilities()
	if can == nil {
		can = new(v03.AgentCapabilities)
	}
	p := &pb.AgentCard{
		Name: c.GetName(), Description: c.GetDescription(), Version: c.GetVersion(),
		DocumentationUrl: optional(c.GetDocumentationUrl()), IconUrl: optional(c.GetIconUrl()),
		Provider: recast(c.Provider, new(pb.AgentProvider)),
		Capabilities: &pb.AgentCapabilities{
			Streaming: &can.Streaming, PushNotifications: &can.PushNotifications,
			ExtendedAgentCard: &c.SupportsAuthenticatedExtendedCard,
			Extensions:        recasts(can.GetExtensions(), func() *pb.AgentExtension { return new(pb.AgentExtension) }),
		},
		SecurityRequirements: recasts(c.GetSecurity(), func() *pb.SecurityRequirement { return new(pb.SecurityRequirement) }),
		DefaultInputModes:    c.GetDefaultInputModes(), DefaultOutputModes: c.GetDefaultOutputModes(),
		Skills:     recasts(c.GetSkills(), func() *pb.AgentSkill { return new(pb.AgentSkill) }),
		Signatures: recasts(c.GetSignatures(), func() *pb.AgentCardSignature { return new(pb.AgentCardSignature) }),
	}
	for name, s := range c.GetSecuritySchemes() {
		if p.SecuritySchemes == nil {
			p.SecuritySchemes = map[string]*pb.SecurityScheme{}
		}
		p.SecuritySchemes[name] = recast(s, new(pb.SecurityScheme))
	}
	version := cmp.Or(c.GetProtocolVersion(), V03.Version()) // the default of its schema
	if d, ok := ParseVersion(version); ok {
		version = d.Version()
	}
	add := func(url, transport string) {
		if transport == "" {
			transport = a2a.BindingJSONRPC // by rule (0.3 §5.6.1)
		}
		for _, in := range p.SupportedInterfaces {
			if in.Url == url && in.ProtocolBinding == transport {
				return
			}
		}
		if url != "" {
			p.SupportedInterfaces = append(p.SupportedInterfaces, &pb.AgentInterface{Url: url, ProtocolBinding: transport, ProtocolVersion: version})
		}
	}
	add(c.GetUrl(), c.GetPreferredTransport())
	for _, in := range c.GetAdditionalInterfaces() {
		add(in.GetUrl(), in.GetTransport())
	}
	return ResultFromProto(op, p)
}

// recast reads a message as another type with the same field numbers.
func recast[From, To proto.Message](from From, to To) To {
	var none To
	if !from.ProtoReflect().IsValid() {
		return none
	}
	raw, err := proto.Marshal(from)
	if err == nil {
		err = (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(raw, to)
	}
	if err != nil { // texts are UTF-8: it cannot fail
		return none
	}
	return to
}

func recasts[From, To proto.Message](list []From, make func() To) []To {
	var out []To
	for _, m := range list {
		out = append(out, recast(m, make()))
	}
	return out
}
