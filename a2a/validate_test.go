package a2a

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func ptr[T any](v T) *T { return &v }

func fields(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	var e *Error
	if !errors.As(err, &e) || e.Code != CodeInvalidParams || len(e.Fields) == 0 {
		t.Fatalf("got %#v", err)
	}
	var out []string
	for _, f := range e.Fields {
		out = append(out, f.Field)
		if f.Description == "" {
			t.Errorf("%s has no description", f.Field)
		}
	}
	return out
}

// what lacks REQUIRED members is refused.
func TestValidateNamesEveryMistake(t *testing.T) {
	message := func(change func(*Message)) *SendMessageRequest {
		m := &Message{MessageID: "m", Role: RoleUser, Parts: []*Part{TextPart("hi")}}
		change(m)
		return &SendMessageRequest{Message: m}
	}
	long := strings.Repeat("x", MaxID+1)
	for _, tt := range []struct {
		name string
		req  interface{ Validate() error }
		want []string
	}{
		{"good", message(func(*Message) {}), nil},
		{"no message", &SendMessageRequest{}, []string{"message"}},
		{"empty message", &SendMessageRequest{Message: &Message{}}, []string{"message.messageId", "message.role", "message.parts"}},
		{"agent's role", message(func(m *Message) { m.Role = RoleAgent }), []string{"message.role"}},
		{"unknown role", message(func(m *Message) { m.Role = 7 }), []string{"message.role"}},
		{"parts without content", message(func(m *Message) { m.Parts = []*Part{{}, TextPart(""), nil, {Kind: 9}} }),
			[]string{"message.parts[0]", "message.parts[2]", "message.parts[3]"}},
		{"parts", message(func(m *Message) {
			m.Parts = []*Part{DataPart(nil), DataPart(JSON("{")), URLPart("", "", ""), {Kind: PartText, Metadata: JSON("[]")}, RawPart(nil, "", "")}
		}), []string{"message.parts[1].data", "message.parts[2].url", "message.parts[3].metadata"}},
		{"too many parts", message(func(m *Message) { m.Parts = slices.Repeat(m.Parts, MaxParts+1) }), []string{"message.parts"}},
		{"too many references", message(func(m *Message) {
			m.ReferenceTaskIDs, m.Extensions = make([]string, MaxReferences+1), make([]string, MaxReferences+1)
		}), []string{"message.extensions", "message.referenceTaskIds"}},
		{"most references", message(func(m *Message) {
			m.ReferenceTaskIDs, m.Extensions = slices.Repeat([]string{"t"}, MaxReferences), make([]string, MaxReferences)
		}), nil},
		{"long words", &SendMessageRequest{
			Message:       message(func(m *Message) { m.Extensions = []string{"", strings.Repeat("x", MaxURI+1)} }).Message,
			Configuration: &SendMessageConfiguration{AcceptedOutputModes: []string{"text/plain", long}},
		}, []string{"message.extensions[1]", "configuration.acceptedOutputModes[1]"}},
		{"too many modes", &SendMessageRequest{
			Message: message(func(*Message) {}).Message, Configuration: &SendMessageConfiguration{AcceptedOutputModes: make([]string, 1_000_000)},
		}, []string{"configuration.acceptedOutputModes"}},
		{"longest words", &SendMessageRequest{
			Message:       message(func(m *Message) { m.Extensions = slices.Repeat([]string{strings.Repeat("x", MaxURI)}, MaxReferences) }).Message,
			Configuration: &SendMessageConfiguration{AcceptedOutputModes: slices.Repeat([]string{long[1:]}, MaxReferences)},
		}, nil},
		{"most parts", message(func(m *Message) { m.Parts = slices.Repeat(m.Parts, MaxParts) }), nil},
		{"ids", message(func(m *Message) {
			m.MessageID, m.ContextID, m.TaskID, m.ReferenceTaskIDs = long, "a\nb", "a\x7f", []string{"ok", "", "\xff"}
		}), []string{"message.messageId", "message.contextId", "message.taskId", "message.referenceTaskIds[1]", "message.referenceTaskIds[2]"}},
		{"longest id", message(func(m *Message) { m.MessageID = long[1:] }), nil},
		{"metadata", message(func(m *Message) { m.Metadata = JSON(strings.Repeat(" ", 99)) }), []string{"message.metadata"}},
		{"metadata with space", message(func(m *Message) { m.Metadata = JSON(strings.Repeat(" ", 99) + "{}") }), nil},
		{"configuration", &SendMessageRequest{
			Tenant:  "\x00",
			Message: message(func(*Message) {}).Message, Metadata: JSON("[]"),
			Configuration: &SendMessageConfiguration{HistoryLength: ptr(int32(-1)),
				TaskPushNotificationConfig: &TaskPushNotificationConfig{Authentication: &AuthenticationInfo{}}},
		}, []string{"tenant", "configuration.historyLength", "configuration.taskPushNotificationConfig.url",
			"configuration.taskPushNotificationConfig.authentication.scheme", "metadata"}},
		{"agent message", &Message{MessageID: "m", Role: RoleAgent, Parts: []*Part{TextPart("")}}, nil},
		{"artifact", &Artifact{}, []string{"artifactId", "parts"}},
		{"get", &GetTaskRequest{HistoryLength: ptr(int32(-1))}, []string{"id", "historyLength"}},
		{"get all", &GetTaskRequest{ID: "1", HistoryLength: ptr(int32(0))}, nil},
		{"list", &ListTasksRequest{Status: 99, PageSize: ptr(int32(0)), HistoryLength: ptr(int32(-1))}, []string{"status", "pageSize", "historyLength"}},
		{"list large", &ListTasksRequest{PageSize: ptr(int32(101))}, []string{"pageSize"}},
		{"list all", &ListTasksRequest{}, nil},
		{"list page", &ListTasksRequest{PageSize: ptr(int32(100)), Status: TaskStateAuthRequired}, nil},
		{"cancel", &CancelTaskRequest{Metadata: JSON("1")}, []string{"id", "metadata"}},
		{"subscribe", &SubscribeToTaskRequest{After: -1}, []string{"id", "after"}},
		{"card", &GetExtendedAgentCardRequest{Tenant: long}, []string{"tenant"}},
		{"create webhook", &TaskPushNotificationConfig{}, []string{"taskId", "url"}},
		{"get webhook", &GetTaskPushNotificationConfigRequest{}, []string{"taskId", "id"}},
		{"delete webhook", &DeleteTaskPushNotificationConfigRequest{}, []string{"taskId", "id"}},
		{"list webhooks", &ListTaskPushNotificationConfigsRequest{PageSize: -1}, []string{"taskId", "pageSize"}},
	} {
		err := tt.req.Validate()
		if got := fields(t, err); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestManyMistakesMakeAShortMessage(t *testing.T) {
	err := (&Message{Parts: slices.Repeat([]*Part{{}}, MaxParts)}).Validate()
	if got := fields(t, err); len(got) != MaxParts+2 {
		t.Errorf("got %d fields", len(got))
	}
	if !strings.HasSuffix(err.Error(), "; and 997 more") || len(err.Error()) > 500 {
		t.Errorf("got %v", err)
	}
}

//
func TestCardValidate(t *testing.T) {
	good := func() *AgentCard {
		var c AgentCard
		if err := c.UnmarshalJSON([]byte(goldenCard)); err != nil {
			t.Fatal(err)
		}
		return &c
	}
	for name, tt := range map[string]struct {
		change func(*AgentCard)
		want   []string
	}{
		"good":      {func(c *AgentCard) {}, nil},
		"no skills": {func(c *AgentCard) { c.Skills = nil }, nil},
		"empty": {func(c *AgentCard) { *c = AgentCard{} },
			[]string{"name", "description", "version", "supportedInterfaces", "defaultInputModes", "defaultOutputModes"}},
		"interface": {func(c *AgentCard) {
			c.SupportedInterfaces = []*AgentInterface{nil, {}, {URL: "localhost:80", ProtocolBinding: BindingJSONRPC, ProtocolVersion: "1.0.1"},
				{URL: "localhost:80", ProtocolBinding: BindingGRPC, ProtocolVersion: "1.0"}, {URL: "/x", ProtocolBinding: BindingHTTPJSON, ProtocolVersion: "1"}}
		}, []string{"supportedInterfaces[0]", "supportedInterfaces[1].protocolBinding", "supportedInterfaces[1].url", "supportedInterfaces[1].protocolVersion",
			"supportedInterfaces[2].url", "supportedInterfaces[2].protocolVersion", "supportedInterfaces[4].url", "supportedInterfaces[4].protocolVersion"}},
		"parts": {func(c *AgentCard) {
			c.Provider = &AgentProvider{}
			c.Capabilities.Extensions = []*AgentExtension{nil, {}}
			c.DefaultInputModes = []string{""}
			c.Skills = []*AgentSkill{nil, {}}
			c.Signatures = []*AgentCardSignature{nil, {Header: JSON("1")}}
		}, []string{"provider.organization", "provider.url", "capabilities.extensions[0]", "capabilities.extensions[1].uri", "defaultInputModes[0]",
			"skills[0]", "skills[1].id", "skills[1].name", "skills[1].description",
			"signatures[0]", "signatures[1].protected", "signatures[1].signature", "signatures[1].header"}},
		"security": {func(c *AgentCard) {
			c.SecuritySchemes = map[string]*SecurityScheme{
				"a": nil, "b": {}, "c": {APIKey: &APIKeySecurityScheme{}, MutualTLS: &MutualTLSSecurityScheme{}}, "d": {APIKey: &APIKeySecurityScheme{Location: "body"}},
				"e": {HTTPAuth: &HTTPAuthSecurityScheme{}}, "f": {OpenIDConnect: &OpenIDConnectSecurityScheme{}}, "g": {MutualTLS: &MutualTLSSecurityScheme{}},
				"h": {OAuth2: &OAuth2SecurityScheme{}}, "i": {OAuth2: &OAuth2SecurityScheme{Flows: OAuthFlows{AuthorizationCode: &OAuthFlow{}}}},
				"j": {OAuth2: &OAuth2SecurityScheme{Flows: OAuthFlows{DeviceCode: &OAuthFlow{}}}}, "k": {OAuth2: &OAuth2SecurityScheme{Flows: OAuthFlows{Implicit: &OAuthFlow{}}}},
			}
			c.SecurityRequirements = []SecurityRequirement{{}, {"g": nil, "z": nil}}
			c.Skills = nil
		}, []string{"securitySchemes.a", "securitySchemes.b", "securitySchemes.c", "securitySchemes.d.apiKeySecurityScheme.name",
			"securitySchemes.d.apiKeySecurityScheme.location", "securitySchemes.e.httpAuthSecurityScheme.scheme",
			"securitySchemes.f.openIdConnectSecurityScheme.openIdConnectUrl", "securitySchemes.h.oauth2SecurityScheme.flows",
			"securitySchemes.i.oauth2SecurityScheme.flows.authorizationCode.authorizationUrl", "securitySchemes.i.oauth2SecurityScheme.flows.authorizationCode.tokenUrl",
			"securitySchemes.j.oauth2SecurityScheme.flows.deviceCode.deviceAuthorizationUrl", "securitySchemes.j.oauth2SecurityScheme.flows.deviceCode.tokenUrl",
			"securityRequirements[1].schemes.z"}},
	} {
		c := good()
		tt.change(c)
		if got := fields(t, c.Validate()); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q\nwant %q", name, got, tt.want)
		}
	}
}
