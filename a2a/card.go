package a2a

// AgentCard describes an agent (specification §4.4.1).
type AgentCard struct {
	Name                 string                     `json:"name"`
	Description          string                     `json:"description"`
	SupportedInterfaces  []*AgentInterface          `json:"supportedInterfaces"` // in order of preference, best first
	Provider             *AgentProvider             `json:"provider,omitempty"`
	Version              string                     `json:"version"` // of the agent, not of the protocol
	DocumentationURL     string                     `json:"documentationUrl,omitempty"`
	Capabilities         AgentCapabilities          `json:"capabilities"`
	SecuritySchemes      map[string]*SecurityScheme `json:"securitySchemes,omitempty"`
	SecurityRequirements []SecurityRequirement      `json:"securityRequirements,omitempty"` // alternatives: one of them suffices
	DefaultInputModes    []string                   `json:"defaultInputModes"`              // media types
	DefaultOutputModes   []string                   `json:"defaultOutputModes"`
	Skills               []*AgentSkill              `json:"skills"`
	Signatures           []*AgentCardSignature      `json:"signatures,omitempty"`
	IconURL              string                     `json:"iconUrl,omitempty"`

	Unknown *JSON `json:"-" form:"unknown"` // see Task.Unknown
}

// Card is short for AgentCard in an author's program.
type Card = AgentCard

// AgentProvider is the organization that offers the agent (§4.4.2).
type AgentProvider struct {
	URL          string `json:"url"`
	Organization string `json:"organization"`

	Unknown *JSON `json:"-" form:"unknown"` // see Task.Unknown
}

// AgentCapabilities are the optional abilities of an agent (§4.4.3). Nil
// means that the card says nothing, which clients read as false.
type AgentCapabilities struct {
	Streaming         *bool             `json:"streaming,omitempty"`
	PushNotifications *bool             `json:"pushNotifications,omitempty"`
	Extensions        []*AgentExtension `json:"extensions,omitempty"`
	ExtendedAgentCard *bool             `json:"extendedAgentCard,omitempty"`

	Unknown *JSON `json:"-" form:"unknown"` // see Task.Unknown
}

// AgentExtension declares a protocol extension (§4.4.4).
type AgentExtension struct {
	URI         string `json:"uri,omitempty"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
	Params      JSON   `json:"params,omitempty"` // an object, or empty

	Unknown *JSON `json:"-" form:"unknown"` // see Task.Unknown
}

// AgentSkill is something the agent can do (§4.4.5).
type AgentSkill struct {
	ID                   string                `json:"id"`
	Name                 string                `json:"name"`
	Description          string                `json:"description"`
	Tags                 []string              `json:"tags"`
	Examples             []string              `json:"examples,omitempty"`
	InputModes           []string              `json:"inputModes,omitempty"`
	OutputModes          []string              `json:"outputModes,omitempty"`
	SecurityRequirements []SecurityRequirement `json:"securityRequirements,omitempty"`

	Unknown *JSON `json:"-" form:"unknown"` // see Task.Unknown
}

// Names of the protocol bindings of the specification (§5).
const (
	BindingJSONRPC  = "JSONRPC"
	BindingHTTPJSON = "HTTP+JSON"
	BindingGRPC     = "GRPC"
)

// AgentInterface is an address at which the agent can be reached (§4.4.6).
type AgentInterface struct {
	URL             string `json:"url"`
	ProtocolBinding string `json:"protocolBinding"`  // one of the Binding constants, or a URI
	Tenant          string `json:"tenant,omitempty"` // clients repeat it in every request
	ProtocolVersion string `json:"protocolVersion"`  // Major.Minor

	Unknown *JSON `json:"-" form:"unknown"` // see Task.Unknown
}

// AgentCardSignature is a detached JWS over the card (§4.4.7).
type AgentCardSignature struct {
	Protected string `json:"protected"` // base64url
	Signature string `json:"signature"` // base64url
	Header    JSON   `json:"header,omitempty"`

	Unknown *JSON `json:"-" form:"unknown"` // see Task.Unknown
}

// SecurityRequirement names schemes that must be met together, each with the
// scopes it needs.
type SecurityRequirement map[string][]string

// SecurityScheme is one way to authenticate (§4.5.1): exactly one pointer is
// set.
type SecurityScheme struct {
	APIKey        *APIKeySecurityScheme        `json:"apiKeySecurityScheme" form:"oneof"`
	HTTPAuth      *HTTPAuthSecurityScheme      `json:"httpAuthSecurityScheme" form:"oneof"`
	OAuth2        *OAuth2SecurityScheme        `json:"oauth2SecurityScheme" form:"oneof"`
	OpenIDConnect *OpenIDConnectSecurityScheme `json:"openIdConnectSecurityScheme" form:"oneof"`
	MutualTLS     *MutualTLSSecurityScheme     `json:"mtlsSecurityScheme" form:"oneof"`
}

// APIKeySecurityScheme is an API key (§4.5.2).
type APIKeySecurityScheme struct {
	Description string `json:"description,omitempty"`
	Location    string `json:"location"` // "query", "header" or "cookie"
	Name        string `json:"name"`     // of the parameter, header or cookie
}

// HTTPAuthSecurityScheme is a scheme of the Authorization header (§4.5.3).
type HTTPAuthSecurityScheme struct {
	Description  string `json:"description,omitempty"`
	Scheme       string `json:"scheme"` // as registered with IANA, such as Bearer
	BearerFormat string `json:"bearerFormat,omitempty"`
}

// OAuth2SecurityScheme is OAuth 2 (§4.5.4).
type OAuth2SecurityScheme struct {
	Description       string     `json:"description,omitempty"`
	Flows             OAuthFlows `json:"flows"`
	OAuth2MetadataURL string     `json:"oauth2MetadataUrl,omitempty"`
}

// OpenIDConnectSecurityScheme is OpenID Connect (§4.5.5).
type OpenIDConnectSecurityScheme struct {
	Description      string `json:"description,omitempty"`
	OpenIDConnectURL string `json:"openIdConnectUrl"`
}

// MutualTLSSecurityScheme is a client certificate (§4.5.6).
type MutualTLSSecurityScheme struct {
	Description string `json:"description,omitempty"`
}

// OAuthFlows holds the one flow of an OAuth2SecurityScheme (§4.5.7): exactly
// one pointer is set. Implicit and Password are deprecated by the protocol.
type OAuthFlows struct {
	AuthorizationCode *OAuthFlow `json:"authorizationCode" form:"oneof"`
	ClientCredentials *OAuthFlow `json:"clientCredentials" form:"oneof"`
	Implicit          *OAuthFlow `json:"implicit" form:"oneof"`
	Password          *OAuthFlow `json:"password" form:"oneof"`
	DeviceCode        *OAuthFlow `json:"deviceCode" form:"oneof"`
}

// OAuthFlow configures a flow; which URLs it needs depends on the flow
// (§4.5.8 to §4.5.10).
type OAuthFlow struct {
	AuthorizationURL       string            `json:"authorizationUrl,omitempty"`
	DeviceAuthorizationURL string            `json:"deviceAuthorizationUrl,omitempty"`
	TokenURL               string            `json:"tokenUrl,omitempty"`
	RefreshURL             string            `json:"refreshUrl,omitempty"`
	Scopes                 map[string]string `json:"scopes,omitempty"`       // scope to description
	PKCERequired           bool              `json:"pkceRequired,omitempty"` // authorization code only
}
