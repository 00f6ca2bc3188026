package a2a

// AgentCard describes an agent (specification §4.4.1).
type AgentCard struct {
	Name                 string
	Description          string
	SupportedInterfaces  []*AgentInterface // in order of preference, best first
	Provider             *AgentProvider
	Version              string // of the agent, not of the protocol
	DocumentationURL     string
	Capabilities         AgentCapabilities
	SecuritySchemes      map[string]*SecurityScheme
	SecurityRequirements []SecurityRequirement // alternatives: one of them suffices
	DefaultInputModes    []string              // media types
	DefaultOutputModes   []string
	Skills               []*AgentSkill
	Signatures           []*AgentCardSignature
	IconURL              string
}

// Card is short for AgentCard in an author's program.
type Card = AgentCard

// AgentProvider is who offers the agent (§4.4.2).
type AgentProvider struct {
	URL          string
	Organization string
}

// AgentCapabilities are the optional abilities of an agent (§4.4.3). Nil
// means that the card says nothing, which clients read as false.
type AgentCapabilities struct {
	Streaming         *bool
	PushNotifications *bool
	Extensions        []*AgentExtension
	ExtendedAgentCard *bool
}

// AgentExtension declares a protocol extension (§4.4.4).
type AgentExtension struct {
	URI         string
	Description string
	Required    bool
	Params      JSON // an object, or empty
}

// AgentSkill is something the agent can do (§4.4.5).
type AgentSkill struct {
	ID                   string
	Name                 string
	Description          string
	Tags                 []string
	Examples             []string
	InputModes           []string
	OutputModes          []string
	SecurityRequirements []SecurityRequirement
}

// Names of the protocol bindings of the specification (§5).
const (
	BindingJSONRPC  = "JSONRPC"
	BindingHTTPJSON = "HTTP+JSON"
	BindingGRPC     = "GRPC"
)

// AgentInterface is a place where the agent can be reached (§4.4.6).
type AgentInterface struct {
	URL             string
	ProtocolBinding string // one of the Binding constants, or a URI
	Tenant          string // clients repeat it in every request
	ProtocolVersion string // Major.Minor
}

// AgentCardSignature is a detached JWS over the card (§4.4.7).
type AgentCardSignature struct {
	Protected string // base64url
	Signature string // base64url
	Header    JSON
}

// SecurityRequirement names schemes that must be met together, each with the
// scopes it needs.
type SecurityRequirement map[string][]string

// SecurityScheme is one way to authenticate (§4.5.1): exactly one pointer is
// set.
type SecurityScheme struct {
	APIKey        *APIKeySecurityScheme
	HTTPAuth      *HTTPAuthSecurityScheme
	OAuth2        *OAuth2SecurityScheme
	OpenIDConnect *OpenIDConnectSecurityScheme
	MutualTLS     *MutualTLSSecurityScheme
}

// APIKeySecurityScheme is an API key (§4.5.2).
type APIKeySecurityScheme struct {
	Description string
	Location    string // "query", "header" or "cookie"
	Name        string // of the parameter, header or cookie
}

// HTTPAuthSecurityScheme is a scheme of the Authorization header (§4.5.3).
type HTTPAuthSecurityScheme struct {
	Description  string
	Scheme       string // as registered with IANA, such as Bearer
	BearerFormat string
}

// OAuth2SecurityScheme is OAuth 2 (§4.5.4).
type OAuth2SecurityScheme struct {
	Description       string
	Flows             OAuthFlows
	OAuth2MetadataURL string
}

// OpenIDConnectSecurityScheme is OpenID Connect (§4.5.5).
type OpenIDConnectSecurityScheme struct {
	Description      string
	OpenIDConnectURL string
}

// MutualTLSSecurityScheme is a client certificate (§4.5.6).
type MutualTLSSecurityScheme struct {
	Description string
}

// OAuthFlows holds the one flow of an OAuth2SecurityScheme (§4.5.7): exactly
// one pointer is set. Implicit and Password are deprecated by the protocol.
type OAuthFlows struct {
	AuthorizationCode *OAuthFlow
	ClientCredentials *OAuthFlow
	Implicit          *OAuthFlow
	Password          *OAuthFlow
	DeviceCode        *OAuthFlow
}

// OAuthFlow configures a flow; which URLs it needs depends on the flow
// (§4.5.8 to §4.5.10).
type OAuthFlow struct {
	AuthorizationURL       string
	DeviceAuthorizationURL string
	TokenURL               string
	RefreshURL             string
	Scopes                 map[string]string // scope to description
	PKCERequired           bool              // authorization code only
}
