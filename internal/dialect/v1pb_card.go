package dialect

import (
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/pb"
)

func cardPB(c *a2a.AgentCard) *pb.AgentCard {
	out := &pb.AgentCard{
		Name: utf(c.Name), Description: utf(c.Description), Version: utf(c.Version),
		DocumentationUrl: optional(utf(c.DocumentationURL)), IconUrl: optional(utf(c.IconURL)),
		SupportedInterfaces: each(c.SupportedInterfaces, func(i *a2a.AgentInterface) *pb.AgentInterface {
			return &pb.AgentInterface{Url: utf(i.URL), ProtocolBinding: utf(i.ProtocolBinding), Tenant: utf(i.Tenant), ProtocolVersion: utf(i.ProtocolVersion)}
		}),
		Capabilities: &pb.AgentCapabilities{
			Streaming: c.Capabilities.Streaming, PushNotifications: c.Capabilities.PushNotifications, ExtendedAgentCard: c.Capabilities.ExtendedAgentCard,
			Extensions: each(c.Capabilities.Extensions, func(e *a2a.AgentExtension) *pb.AgentExtension {
				return &pb.AgentExtension{Uri: utf(e.URI), Description: utf(e.Description), Required: e.Required, Params: structPB(e.Params)}
			}),
		},
		SecurityRequirements: requirementsPB(c.SecurityRequirements),
		DefaultInputModes:    utfs(c.DefaultInputModes), DefaultOutputModes: utfs(c.DefaultOutputModes),
		Skills: each(c.Skills, func(s *a2a.AgentSkill) *pb.AgentSkill {
			return &pb.AgentSkill{
				Id: utf(s.ID), Name: utf(s.Name), Description: utf(s.Description), Tags: utfs(s.Tags), Examples: utfs(s.Examples),
				InputModes: utfs(s.InputModes), OutputModes: utfs(s.OutputModes), SecurityRequirements: requirementsPB(s.SecurityRequirements),
			}
		}),
		Signatures: each(c.Signatures, func(s *a2a.AgentCardSignature) *pb.AgentCardSignature {
			return &pb.AgentCardSignature{Protected: utf(s.Protected), Signature: utf(s.Signature), Header: structPB(s.Header)}
		}),
	}
	if p := c.Provider; p != nil {
		out.Provider = &pb.AgentProvider{Url: utf(p.URL), Organization: utf(p.Organization)}
	}
	if len(c.SecuritySchemes) > 0 {
		out.SecuritySchemes = map[string]*pb.SecurityScheme{}
		for name, s := range c.SecuritySchemes {
			out.SecuritySchemes[utf(name)] = schemePB(s)
		}
	}
	return out
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func requirementsPB(list []a2a.SecurityRequirement) []*pb.SecurityRequirement {
	var out []*pb.SecurityRequirement
	for _, r := range list {
		m := map[string]*pb.StringList{}
		for name, scopes := range r {
			m[utf(name)] = &pb.StringList{List: utfs(scopes)}
		}
		out = append(out, &pb.SecurityRequirement{Schemes: m})
	}
	return out
}

func requirements(list []*pb.SecurityRequirement) []a2a.SecurityRequirement {
	var out []a2a.SecurityRequirement
	for _, r := range list {
		m := a2a.SecurityRequirement{}
		for name, scopes := range r.GetSchemes() {
			m[name] = scopes.GetList()
		}
		out = append(out, m)
	}
	return out
}

func schemePB(s *a2a.SecurityScheme) *pb.SecurityScheme {
	switch {
	case s == nil:
	case s.APIKey != nil:
		k := s.APIKey
		return &pb.SecurityScheme{Scheme: &pb.SecurityScheme_ApiKeySecurityScheme{ApiKeySecurityScheme: &pb.APIKeySecurityScheme{
			Description: utf(k.Description), Location: utf(k.Location), Name: utf(k.Name),
		}}}
	case s.HTTPAuth != nil:
		h := s.HTTPAuth
		return &pb.SecurityScheme{Scheme: &pb.SecurityScheme_HttpAuthSecurityScheme{HttpAuthSecurityScheme: &pb.HTTPAuthSecurityScheme{
			Description: utf(h.Description), Scheme: utf(h.Scheme), BearerFormat: utf(h.BearerFormat),
		}}}
	case s.OAuth2 != nil:
		o := s.OAuth2
		return &pb.SecurityScheme{Scheme: &pb.SecurityScheme_Oauth2SecurityScheme{Oauth2SecurityScheme: &pb.OAuth2SecurityScheme{
			Description: utf(o.Description), Flows: flowsPB(&o.Flows), Oauth2MetadataUrl: utf(o.OAuth2MetadataURL),
		}}}
	case s.OpenIDConnect != nil:
		o := s.OpenIDConnect
		return &pb.SecurityScheme{Scheme: &pb.SecurityScheme_OpenIdConnectSecurityScheme{OpenIdConnectSecurityScheme: &pb.OpenIdConnectSecurityScheme{
			Description: utf(o.Description), OpenIdConnectUrl: utf(o.OpenIDConnectURL),
		}}}
	case s.MutualTLS != nil:
		return &pb.SecurityScheme{Scheme: &pb.SecurityScheme_MtlsSecurityScheme{MtlsSecurityScheme: &pb.MutualTlsSecurityScheme{
			Description: utf(s.MutualTLS.Description),
		}}}
	}
	return new(pb.SecurityScheme)
}

func scheme(s *pb.SecurityScheme) *a2a.SecurityScheme {
	out := new(a2a.SecurityScheme)
	switch s := s.GetScheme().(type) {
	case *pb.SecurityScheme_ApiKeySecurityScheme:
		k := s.ApiKeySecurityScheme
		out.APIKey = &a2a.APIKeySecurityScheme{Description: k.GetDescription(), Location: k.GetLocation(), Name: k.GetName()}
	case *pb.SecurityScheme_HttpAuthSecurityScheme:
		h := s.HttpAuthSecurityScheme
		out.HTTPAuth = &a2a.HTTPAuthSecurityScheme{Description: h.GetDescription(), Scheme: h.GetScheme(), BearerFormat: h.GetBearerFormat()}
	case *pb.SecurityScheme_Oauth2SecurityScheme:
		o := s.Oauth2SecurityScheme
		out.OAuth2 = &a2a.OAuth2SecurityScheme{Description: o.GetDescription(), Flows: flows(o.GetFlows()), OAuth2MetadataURL: o.GetOauth2MetadataUrl()}
	case *pb.SecurityScheme_OpenIdConnectSecurityScheme:
		o := s.OpenIdConnectSecurityScheme
		out.OpenIDConnect = &a2a.OpenIDConnectSecurityScheme{Description: o.GetDescription(), OpenIDConnectURL: o.GetOpenIdConnectUrl()}
	case *pb.SecurityScheme_MtlsSecurityScheme:
		out.MutualTLS = &a2a.MutualTLSSecurityScheme{Description: s.MtlsSecurityScheme.GetDescription()}
	}
	return out
}

func texts(m map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range m {
		out[utf(k)] = utf(v)
	}
	return out
}

func flowsPB(f *a2a.OAuthFlows) *pb.OAuthFlows {
	switch {
	case f.AuthorizationCode != nil:
		o := f.AuthorizationCode
		return &pb.OAuthFlows{Flow: &pb.OAuthFlows_AuthorizationCode{AuthorizationCode: &pb.AuthorizationCodeOAuthFlow{
			AuthorizationUrl: utf(o.AuthorizationURL), TokenUrl: utf(o.TokenURL), RefreshUrl: utf(o.RefreshURL),
			Scopes: texts(o.Scopes), PkceRequired: o.PKCERequired,
		}}}
	case f.ClientCredentials != nil:
		o := f.ClientCredentials
		return &pb.OAuthFlows{Flow: &pb.OAuthFlows_ClientCredentials{ClientCredentials: &pb.ClientCredentialsOAuthFlow{
			TokenUrl: utf(o.TokenURL), RefreshUrl: utf(o.RefreshURL), Scopes: texts(o.Scopes),
		}}}
	case f.Implicit != nil:
		o := f.Implicit
		return &pb.OAuthFlows{Flow: &pb.OAuthFlows_Implicit{Implicit: &pb.ImplicitOAuthFlow{
			AuthorizationUrl: utf(o.AuthorizationURL), RefreshUrl: utf(o.RefreshURL), Scopes: texts(o.Scopes),
		}}}
	case f.Password != nil:
		o := f.Password
		return &pb.OAuthFlows{Flow: &pb.OAuthFlows_Password{Password: &pb.PasswordOAuthFlow{
			TokenUrl: utf(o.TokenURL), RefreshUrl: utf(o.RefreshURL), Scopes: texts(o.Scopes),
		}}}
	case f.DeviceCode != nil:
		o := f.DeviceCode
		return &pb.OAuthFlows{Flow: &pb.OAuthFlows_DeviceCode{DeviceCode: &pb.DeviceCodeOAuthFlow{
			DeviceAuthorizationUrl: utf(o.DeviceAuthorizationURL), TokenUrl: utf(o.TokenURL), RefreshUrl: utf(o.RefreshURL), Scopes: texts(o.Scopes),
		}}}
	}
	return new(pb.OAuthFlows)
}

func flows(f *pb.OAuthFlows) a2a.OAuthFlows {
	var out a2a.OAuthFlows
	switch f := f.GetFlow().(type) {
	case *pb.OAuthFlows_AuthorizationCode:
		o := f.AuthorizationCode
		out.AuthorizationCode = &a2a.OAuthFlow{
			AuthorizationURL: o.GetAuthorizationUrl(), TokenURL: o.GetTokenUrl(), RefreshURL: o.GetRefreshUrl(),
			Scopes: o.GetScopes(), PKCERequired: o.GetPkceRequired(),
		}
	case *pb.OAuthFlows_ClientCredentials:
		o := f.ClientCredentials
		out.ClientCredentials = &a2a.OAuthFlow{TokenURL: o.GetTokenUrl(), RefreshURL: o.GetRefreshUrl(), Scopes: o.GetScopes()}
	case *pb.OAuthFlows_Implicit:
		o := f.Implicit
		out.Implicit = &a2a.OAuthFlow{AuthorizationURL: o.GetAuthorizationUrl(), RefreshURL: o.GetRefreshUrl(), Scopes: o.GetScopes()}
	case *pb.OAuthFlows_Password:
		o := f.Password
		out.Password = &a2a.OAuthFlow{TokenURL: o.GetTokenUrl(), RefreshURL: o.GetRefreshUrl(), Scopes: o.GetScopes()}
	case *pb.OAuthFlows_DeviceCode:
		o := f.DeviceCode
		out.DeviceCode = &a2a.OAuthFlow{DeviceAuthorizationURL: o.GetDeviceAuthorizationUrl(), TokenURL: o.GetTokenUrl(), RefreshURL: o.GetRefreshUrl(), Scopes: o.GetScopes()}
	}
	return out
}

func (r *reader) card(c *pb.AgentCard) *a2a.AgentCard {
	out := &a2a.AgentCard{
		Name: c.GetName(), Description: c.GetDescription(), Version: c.GetVersion(),
		DocumentationURL: c.GetDocumentationUrl(), IconURL: c.GetIconUrl(),
		SupportedInterfaces: readEach("", c.GetSupportedInterfaces(), func(_ string, i *pb.AgentInterface) *a2a.AgentInterface {
			return &a2a.AgentInterface{URL: i.GetUrl(), ProtocolBinding: i.GetProtocolBinding(), Tenant: i.GetTenant(), ProtocolVersion: i.GetProtocolVersion()}
		}),
		Capabilities: a2a.AgentCapabilities{
			Extensions: readEach("capabilities.extensions", c.GetCapabilities().GetExtensions(), func(path string, e *pb.AgentExtension) *a2a.AgentExtension {
				return &a2a.AgentExtension{URI: e.GetUri(), Description: e.GetDescription(), Required: e.GetRequired(), Params: r.object(under(path, "params"), e.GetParams())}
			}),
		},
		SecurityRequirements: requirements(c.GetSecurityRequirements()),
		DefaultInputModes:    c.GetDefaultInputModes(), DefaultOutputModes: c.GetDefaultOutputModes(),
		Skills: readEach("", c.GetSkills(), func(_ string, s *pb.AgentSkill) *a2a.AgentSkill {
			return &a2a.AgentSkill{
				ID: s.GetId(), Name: s.GetName(), Description: s.GetDescription(), Tags: s.GetTags(), Examples: s.GetExamples(),
				InputModes: s.GetInputModes(), OutputModes: s.GetOutputModes(), SecurityRequirements: requirements(s.GetSecurityRequirements()),
			}
		}),
		Signatures: readEach("signatures", c.GetSignatures(), func(path string, s *pb.AgentCardSignature) *a2a.AgentCardSignature {
			return &a2a.AgentCardSignature{Protected: s.GetProtected(), Signature: s.GetSignature(), Header: r.object(under(path, "header"), s.GetHeader())}
		}),
	}
	if can := c.GetCapabilities(); can != nil {
		out.Capabilities.Streaming, out.Capabilities.PushNotifications, out.Capabilities.ExtendedAgentCard = can.Streaming, can.PushNotifications, can.ExtendedAgentCard
	}
	if p := c.GetProvider(); p != nil {
		out.Provider = &a2a.AgentProvider{URL: p.GetUrl(), Organization: p.GetOrganization()}
	}
	if len(c.GetSecuritySchemes()) > 0 {
		out.SecuritySchemes = map[string]*a2a.SecurityScheme{}
		for name, s := range c.GetSecuritySchemes() {
			out.SecuritySchemes[name] = scheme(s)
		}
	}
	return out
}
