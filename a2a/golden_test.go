package a2a

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// codec is what every type of the protocol can do.
type codec interface {
	AppendJSON([]byte) []byte
	UnmarshalJSON([]byte) error
}

// golden has, for every type, a document with every member set, byte for byte
// as we write it: members in the order of the .proto, keys of maps sorted.
var golden = []struct {
	name string
	new  func() codec
	doc  string
}{
	{"Task", func() codec { return new(Task) }, goldenTask},
	{"TaskStatus", func() codec { return new(TaskStatus) }, goldenStatus},
	{"Artifact", func() codec { return new(Artifact) }, goldenArtifact},
	{"TaskStatusUpdateEvent", func() codec { return new(TaskStatusUpdateEvent) }, goldenStatusUpdate},
	{"TaskArtifactUpdateEvent", func() codec { return new(TaskArtifactUpdateEvent) }, goldenArtifactUpdate},
	{"StreamResponse task", func() codec { return new(StreamResponse) }, `{"task":` + goldenTask + `}`},
	{"StreamResponse message", func() codec { return new(StreamResponse) }, `{"message":` + goldenMessage + `}`},
	{"StreamResponse status", func() codec { return new(StreamResponse) }, `{"statusUpdate":` + goldenStatusUpdate + `}`},
	{"StreamResponse artifact", func() codec { return new(StreamResponse) }, `{"artifactUpdate":` + goldenArtifactUpdate + `}`},
	{"Message", func() codec { return new(Message) }, goldenMessage},
	{"Part", func() codec { return new(Part) }, `{"text":"hi","metadata":{"a":1},"filename":"f.txt","mediaType":"text/plain"}`},
	{"SendMessageRequest", func() codec { return new(SendMessageRequest) },
		`{"tenant":"t","message":` + goldenMessage + `,"configuration":` + goldenConfiguration + `,"metadata":{"a":1}}`},
	{"SendMessageConfiguration", func() codec { return new(SendMessageConfiguration) }, goldenConfiguration},
	{"SendMessageResponse task", func() codec { return new(SendMessageResponse) }, `{"task":` + goldenTask + `}`},
	{"SendMessageResponse message", func() codec { return new(SendMessageResponse) }, `{"message":` + goldenMessage + `}`},
	{"GetTaskRequest", func() codec { return new(GetTaskRequest) }, `{"tenant":"t","id":"1","historyLength":7}`},
	{"ListTasksRequest", func() codec { return new(ListTasksRequest) },
		`{"tenant":"t","contextId":"c","status":"TASK_STATE_WORKING","pageSize":9,"pageToken":"p","historyLength":7,"statusTimestampAfter":"2026-01-02T03:04:05.678Z","includeArtifacts":true}`},
	{"ListTasksResponse", func() codec { return new(ListTasksResponse) }, `{"tasks":[` + goldenTask + `],"nextPageToken":"n","pageSize":9,"totalSize":100}`},
	{"CancelTaskRequest", func() codec { return new(CancelTaskRequest) }, `{"tenant":"t","id":"1","metadata":{"a":1}}`},
	{"SubscribeToTaskRequest", func() codec { return new(SubscribeToTaskRequest) }, `{"tenant":"t","id":"1"}`},
	{"GetExtendedAgentCardRequest", func() codec { return new(GetExtendedAgentCardRequest) }, `{"tenant":"t"}`},
	{"TaskPushNotificationConfig", func() codec { return new(TaskPushNotificationConfig) }, goldenWebhook},
	{"AuthenticationInfo", func() codec { return new(AuthenticationInfo) }, `{"scheme":"Bearer","credentials":"s"}`},
	{"GetTaskPushNotificationConfigRequest", func() codec { return new(GetTaskPushNotificationConfigRequest) }, `{"tenant":"t","taskId":"1","id":"w"}`},
	{"DeleteTaskPushNotificationConfigRequest", func() codec { return new(DeleteTaskPushNotificationConfigRequest) }, `{"tenant":"t","taskId":"1","id":"w"}`},
	{"ListTaskPushNotificationConfigsRequest", func() codec { return new(ListTaskPushNotificationConfigsRequest) }, `{"tenant":"t","taskId":"1","pageSize":9,"pageToken":"p"}`},
	{"ListTaskPushNotificationConfigsResponse", func() codec { return new(ListTaskPushNotificationConfigsResponse) }, `{"configs":[` + goldenWebhook + `],"nextPageToken":"n"}`},
	{"AgentCard", func() codec { return new(AgentCard) }, goldenCard},
	{"AgentProvider", func() codec { return new(AgentProvider) }, `{"url":"https://e.org","organization":"E"}`},
	{"AgentCapabilities", func() codec { return new(AgentCapabilities) }, goldenCapabilities},
	{"AgentExtension", func() codec { return new(AgentExtension) }, goldenExtension},
	{"AgentSkill", func() codec { return new(AgentSkill) }, goldenSkill},
	{"AgentInterface", func() codec { return new(AgentInterface) }, goldenInterface},
	{"AgentCardSignature", func() codec { return new(AgentCardSignature) }, goldenSignature},
	{"SecurityRequirement", func() codec { return new(SecurityRequirement) }, goldenRequirement},
	{"SecurityScheme apiKey", func() codec { return new(SecurityScheme) }, `{"apiKeySecurityScheme":{"description":"d","location":"header","name":"X-Key"}}`},
	{"SecurityScheme http", func() codec { return new(SecurityScheme) }, `{"httpAuthSecurityScheme":{"description":"d","scheme":"Bearer","bearerFormat":"JWT"}}`},
	{"SecurityScheme oauth2", func() codec { return new(SecurityScheme) },
		`{"oauth2SecurityScheme":{"description":"d","flows":{"clientCredentials":{"tokenUrl":"https://t","refreshUrl":"https://r","scopes":{"b_c":"x","read":"y"}}},"oauth2MetadataUrl":"https://m"}}`},
	{"SecurityScheme oidc", func() codec { return new(SecurityScheme) }, `{"openIdConnectSecurityScheme":{"description":"d","openIdConnectUrl":"https://o"}}`},
	{"SecurityScheme mtls", func() codec { return new(SecurityScheme) }, `{"mtlsSecurityScheme":{"description":"d"}}`},
	{"APIKeySecurityScheme", func() codec { return new(APIKeySecurityScheme) }, `{"description":"d","location":"cookie","name":"k"}`},
	{"HTTPAuthSecurityScheme", func() codec { return new(HTTPAuthSecurityScheme) }, `{"description":"d","scheme":"Bearer","bearerFormat":"JWT"}`},
	{"OAuth2SecurityScheme", func() codec { return new(OAuth2SecurityScheme) }, `{"description":"d","flows":{"password":{"tokenUrl":"https://t"}},"oauth2MetadataUrl":"https://m"}`},
	{"OpenIDConnectSecurityScheme", func() codec { return new(OpenIDConnectSecurityScheme) }, `{"description":"d","openIdConnectUrl":"https://o"}`},
	{"MutualTLSSecurityScheme", func() codec { return new(MutualTLSSecurityScheme) }, `{"description":"d"}`},
	{"OAuthFlows code", func() codec { return new(OAuthFlows) },
		`{"authorizationCode":{"authorizationUrl":"https://a","tokenUrl":"https://t","refreshUrl":"https://r","scopes":{"s":"d"},"pkceRequired":true}}`},
	{"OAuthFlows device", func() codec { return new(OAuthFlows) }, `{"deviceCode":{"deviceAuthorizationUrl":"https://a","tokenUrl":"https://t","scopes":{"s":"d"}}}`},
	{"OAuthFlows implicit", func() codec { return new(OAuthFlows) }, `{"implicit":{"authorizationUrl":"https://a","scopes":{"s":"d"}}}`},
	{"OAuthFlow", func() codec { return new(OAuthFlow) },
		`{"authorizationUrl":"https://a","deviceAuthorizationUrl":"https://d","tokenUrl":"https://t","refreshUrl":"https://r","scopes":{"s":"d"},"pkceRequired":true}`},
}

const (
	goldenMessage = `{"messageId":"m1","contextId":"c1","taskId":"t1","role":"ROLE_USER","parts":[` +
		`{"text":"hi","metadata":{"a":1},"filename":"f.txt","mediaType":"text/plain"},` +
		`{"raw":"+/8=","filename":"b.bin","mediaType":"application/octet-stream"},` +
		`{"url":"https://e.org/x"},{"data":[12345678901234567890,null]},{"data":null}],` +
		`"metadata":{"k":null},"extensions":["urn:x"],"referenceTaskIds":["t0"]}`
	goldenAgentMessage   = `{"messageId":"m2","role":"ROLE_AGENT","parts":[{"text":"working"}]}`
	goldenStatus         = `{"state":"TASK_STATE_WORKING","message":` + goldenAgentMessage + `,"timestamp":"2026-01-02T03:04:05.678Z"}`
	goldenArtifact       = `{"artifactId":"a1","name":"n","description":"d","parts":[{"text":""}],"metadata":{"a":1},"extensions":["urn:x"]}`
	goldenTask           = `{"id":"t1","contextId":"c1","status":` + goldenStatus + `,"artifacts":[` + goldenArtifact + `],"history":[` + goldenMessage + `],"metadata":{"a":1}}`
	goldenStatusUpdate   = `{"taskId":"t1","contextId":"c1","status":` + goldenStatus + `,"metadata":{"a":1}}`
	goldenArtifactUpdate = `{"taskId":"t1","contextId":"c1","artifact":` + goldenArtifact + `,"append":true,"lastChunk":true,"metadata":{"a":1}}`
	goldenWebhook        = `{"tenant":"t","id":"w","taskId":"t1","url":"https://e.org/hook","token":"s","authentication":{"scheme":"Bearer","credentials":"s"}}`
	goldenConfiguration  = `{"acceptedOutputModes":["text/plain"],"taskPushNotificationConfig":` + goldenWebhook + `,"historyLength":0,"returnImmediately":true}`

	goldenInterface    = `{"url":"https://e.org/a2a","protocolBinding":"JSONRPC","tenant":"t","protocolVersion":"1.0"}`
	goldenExtension    = `{"uri":"urn:x","description":"d","required":true,"params":{"a":1}}`
	goldenCapabilities = `{"streaming":true,"pushNotifications":false,"extensions":[` + goldenExtension + `],"extendedAgentCard":false}`
	goldenRequirement  = `{"schemes":{"google":{"list":["openid","read"]},"my_key":{}}}`
	goldenSkill        = `{"id":"s","name":"n","description":"d","tags":["t"],"examples":["e"],"inputModes":["text/plain"],"outputModes":["text/html"],"securityRequirements":[` + goldenRequirement + `]}`
	goldenSignature    = `{"protected":"p","signature":"s","header":{"kid":"1"}}`
	goldenCard         = `{"name":"n","description":"d","supportedInterfaces":[` + goldenInterface + `],"provider":{"url":"https://e.org","organization":"E"},"version":"1.2.3",` +
		`"documentationUrl":"https://e.org/doc","capabilities":` + goldenCapabilities + `,` +
		`"securitySchemes":{"google":{"openIdConnectSecurityScheme":{"openIdConnectUrl":"https://o"}},"my_key":{"apiKeySecurityScheme":{"location":"header","name":"X-Key"}}},` +
		`"securityRequirements":[` + goldenRequirement + `],"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[` + goldenSkill + `],` +
		`"signatures":[` + goldenSignature + `],"iconUrl":"https://e.org/i.png"}`
)

// names, enumerations and timestamps as
// ProtoJSON has them.
func TestGoldenDocumentsSurviveByteForByte(t *testing.T) {
	for _, g := range golden {
		t.Run(g.name, func(t *testing.T) {
			v := g.new()
			if err := v.UnmarshalJSON([]byte(g.doc)); err != nil {
				t.Fatal(err)
			}
			if got := string(v.AppendJSON(nil)); got != g.doc {
				t.Errorf("got  %s\nwant %s", got, g.doc)
			}
			if got := string(v.AppendJSON([]byte("before"))); got != "before"+g.doc {
				t.Errorf("AppendJSON does not append: %s", got)
			}
			std, err := json.Marshal(v)
			if err != nil || string(std) != g.doc {
				t.Errorf("json.Marshal: %s, %v", std, err)
			}
			pretty := new(bytes.Buffer)
			if err := json.Indent(pretty, []byte(g.doc), " ", "\t"); err != nil {
				t.Fatal(err)
			}
			v = g.new()
			if err := v.UnmarshalJSON(pretty.Bytes()); err != nil {
				t.Fatal(err)
			}
			again := new(bytes.Buffer) // metadata and data keep the spaces
			if err := json.Compact(again, v.AppendJSON(nil)); err != nil || again.String() != g.doc {
				t.Errorf("indented: got %s, %v", again, err)
			}
		})
	}
}

// Values that are not addressable must not fall back on Go's field names.
func TestValuesMarshalLikePointers(t *testing.T) {
	got, err := json.Marshal(map[string]any{"m": Message{Role: RoleUser, Parts: []*Part{TextPart("x")}}, "s": TaskStateWorking, "r": RoleAgent})
	if want := `{"m":{"messageId":"","role":"ROLE_USER","parts":[{"text":"x"}]},"r":"ROLE_AGENT","s":"TASK_STATE_WORKING"}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

//
func TestRequiredMembersAreAlwaysWritten(t *testing.T) {
	for _, tt := range []struct {
		v    codec
		want string
	}{
		{&Task{}, `{"id":"","status":{"state":"TASK_STATE_UNSPECIFIED"}}`},
		{&Message{}, `{"messageId":"","role":"ROLE_UNSPECIFIED","parts":[]}`},
		{&Artifact{}, `{"artifactId":"","parts":[]}`},
		{&Part{Kind: PartText}, `{"text":""}`},
		{&Part{Kind: PartRaw}, `{"raw":""}`},
		{&Part{Kind: PartURL}, `{"url":""}`},
		{&Part{Kind: PartData}, `{"data":null}`},
		{&TaskStatusUpdateEvent{}, `{"taskId":"","contextId":"","status":{"state":"TASK_STATE_UNSPECIFIED"}}`},
		{&TaskArtifactUpdateEvent{}, `{"taskId":"","contextId":"","artifact":{"artifactId":"","parts":[]}}`},
		{&ListTasksResponse{}, `{"tasks":[],"nextPageToken":"","pageSize":0,"totalSize":0}`},
		{&ListTasksRequest{}, `{}`},
		{&ListTaskPushNotificationConfigsResponse{}, `{}`},
		{&SendMessageConfiguration{HistoryLength: new(int32)}, `{"historyLength":0}`},
		{&AgentCapabilities{Streaming: new(bool)}, `{"streaming":false}`},
		{&AgentCard{}, `{"name":"","description":"","supportedInterfaces":[],"version":"","capabilities":{},"defaultInputModes":[],"defaultOutputModes":[],"skills":[]}`},
		{&AgentSkill{}, `{"id":"","name":"","description":"","tags":[]}`},
		{&SecurityRequirement{}, `{}`},
		{&OAuthFlows{AuthorizationCode: &OAuthFlow{}}, `{"authorizationCode":{"authorizationUrl":"","tokenUrl":"","scopes":{}}}`},
		{&OAuthFlows{DeviceCode: &OAuthFlow{}}, `{"deviceCode":{"deviceAuthorizationUrl":"","tokenUrl":"","scopes":{}}}`},
		{&OAuthFlows{Implicit: &OAuthFlow{}}, `{"implicit":{}}`},
	} {
		if got := string(tt.v.AppendJSON(nil)); got != tt.want {
			t.Errorf("%T: got %s, want %s", tt.v, got, tt.want)
		}
	}
}

// freeForm members hold any JSON, whose names are not ours.
var freeForm = []string{"metadata", "params", "header", "data"}

// ownKeys are maps, whose keys are not field names.
var ownKeys = []string{"scopes", "securitySchemes", "schemes"}

func toSnake(name string) string {
	var b strings.Builder
	for _, r := range name {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// snakeKeys renames all field names of a decoded document.
func snakeKeys(v any, keys bool) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			if !slices.Contains(freeForm, k) {
				e = snakeKeys(e, !slices.Contains(ownKeys, k))
			}
			if keys {
				k = toSnake(k)
			}
			out[k] = e
		}
		return out
	case []any:
		out := []any{}
		for _, e := range v {
			out = append(out, snakeKeys(e, true))
		}
		return out
	}
	return v
}

func parseAny(t *testing.T, doc string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(doc))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func mustMarshal(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestSnakeCaseIsRead(t *testing.T) {
	for _, g := range golden {
		doc := mustMarshal(t, snakeKeys(parseAny(t, g.doc), true))
		v := g.new()
		if err := v.UnmarshalJSON(doc); err != nil {
			t.Errorf("%s: %v", g.name, err)
		} else if got := string(v.AppendJSON(nil)); got != g.doc {
			t.Errorf("%s: from %s\ngot  %s\nwant %s", g.name, doc, got, g.doc)
		}
	}
}

// places calls f for every place in a document whose type we know, with its path and
// functions to set and to remove the value.
func places(doc any, path string, f func(path, name string, old any, set func(any), remove func())) {
	switch v := doc.(type) {
	case map[string]any:
		for k, e := range v {
			at := k
			if path != "" {
				at = path + "." + k
			}
			f(at, k, e, func(x any) { v[k] = x }, func() { delete(v, k) })
			v[k] = e
			if !slices.Contains(freeForm, k) {
				places(e, at, f)
			}
		}
	case []any:
		for i, e := range v {
			at := fmt.Sprintf("%s[%d]", path, i)
			f(at, "", e, func(x any) { v[i] = x }, nil)
			v[i] = e
			places(e, at, f)
		}
	}
}

func wrongValues(name string, old any) []any {
	number, text, list, object := json.Number("5"), "some text", []any{"x"}, map[string]any{"x": "y"}
	switch old.(type) {
	case nil: // data, which accepts everything
		return nil
	case bool:
		return []any{number, "true", "false", list, object}
	case json.Number:
		return []any{json.Number("1.5"), json.Number("2147483648"), json.Number("-1e99"), "five", "", " 5", "0x10", true, list, object}
	case []any:
		if name == "data" {
			return nil
		}
		return []any{number, text, true, object}
	case map[string]any:
		if name == "google" || name == "my_key" { // scopes without their message are read
			return []any{number, text, true}
		}
		return []any{number, text, true, list}
	case string:
		wrong := []any{true, list, object}
		switch {
		case name == "raw":
			wrong = append(wrong, "$$$$", "a", "+/-_", number)
		case name == "timestamp" || name == "statusTimestampAfter":
			wrong = append(wrong, "yesterday", "2026-02-30T00:00:00Z", number)
		case name == "state" || name == "role" || name == "status":
			wrong = append(wrong, "TASK_STATE_LOST", "", json.Number("9"), json.Number("-1"))
		default:
			wrong = append(wrong, number)
		}
		return wrong
	}
	panic("unreachable")
}

func TestEveryFieldRefusesEveryWrongType(t *testing.T) {
	tried := 0
	for _, g := range golden {
		doc := parseAny(t, g.doc)
		for _, wrong := range []any{json.Number("5"), "x", true, []any{}, nil} {
			if err := g.new().UnmarshalJSON(mustMarshal(t, wrong)); err == nil {
				t.Errorf("%s is read from %v", g.name, wrong)
			}
		}
		places(doc, "", func(path, name string, old any, set func(any), _ func()) {
			for _, wrong := range wrongValues(name, old) {
				set(wrong)
				tried++
				in := mustMarshal(t, doc)
				err := g.new().UnmarshalJSON(in)
				e, ok := err.(*Error)
				switch {
				case !ok || e.Code != CodeInvalidParams || len(e.Fields) != 1:
					t.Errorf("%s with %s = %v: got %#v", g.name, path, wrong, err)
				case e.Fields[0].Field != path:
					t.Errorf("%s with %s = %v: the error names %q", g.name, path, wrong, e.Fields[0].Field)
				case e.Fields[0].Description == "" || !strings.HasPrefix(e.Message, path+": "):
					t.Errorf("%s with %s = %v: %q, %q", g.name, path, wrong, e.Message, e.Fields[0].Description)
				}
			}
			set(old)
		})
	}
	if tried < 2000 {
		t.Errorf("tried only %d mistakes", tried)
	}
}

func TestNullIsUnset(t *testing.T) {
	for _, g := range golden {
		doc := parseAny(t, g.doc)
		places(doc, "", func(path, name string, old any, set func(any), remove func()) {
			set(nil)
			v := g.new()
			err := v.UnmarshalJSON(mustMarshal(t, doc))
			if name == "data" || remove == nil && old == nil { // null is content
				set(old)
				return
			}
			if remove == nil || inMap(path) { // this cannot be unset
				if err == nil {
					t.Errorf("%s: null is taken for %s", g.name, path)
				}
				set(old)
				return
			}
			remove()
			w := g.new()
			err2 := w.UnmarshalJSON(mustMarshal(t, doc))
			if (err == nil) != (err2 == nil) { // both fail if a part loses its content
				t.Errorf("%s: %s = null: %v, without it: %v", g.name, path, err, err2)
			}
			if err == nil && !bytes.Equal(v.AppendJSON(nil), w.AppendJSON(nil)) {
				t.Errorf("%s: %s = null: %s, without it: %s", g.name, path, v.AppendJSON(nil), w.AppendJSON(nil))
			}
			set(old)
		})
	}
}

// inMap reports whether a path ends with the key of a map.
func inMap(path string) bool {
	segments := strings.Split(path, ".")
	return len(segments) > 1 && slices.Contains(ownKeys, segments[len(segments)-2])
}

//
func TestUnknownMembersAreIgnored(t *testing.T) {
	extra := `{"":0,"kind":"task","unknown":{"deep":[1,{"x":"}]"},"\""]},"unknownToo":"\\\"}",`
	for _, g := range golden {
		v := g.new()
		if err := v.UnmarshalJSON([]byte(extra + g.doc[1:])); err != nil {
			t.Errorf("%s: %v", g.name, err)
		} else if got := string(v.AppendJSON(nil)); got != g.doc {
			t.Errorf("%s: got %s", g.name, got)
		}
	}
}

func TestLastDuplicateWins(t *testing.T) {
	for _, g := range golden {
		v := g.new()
		if err := v.UnmarshalJSON([]byte(g.doc[:len(g.doc)-1] + "," + g.doc[1:])); err != nil {
			t.Errorf("%s: %v", g.name, err)
		} else if got := string(v.AppendJSON(nil)); got != g.doc {
			t.Errorf("%s: got %s", g.name, got)
		}
	}
	var m Message
	if err := m.UnmarshalJSON([]byte(`{"message_id":"a","messageId":"b","parts":[{"text":"x"},{"text":"y","text":"z"}]}`)); err != nil || m.MessageID != "b" || m.Parts[1].Text != "z" {
		t.Errorf("got %+v, %v", m, err)
	}
	if err := m.UnmarshalJSON([]byte(`{"parts":[{"text":"x","text":null,"url":"u"}]}`)); err != nil || m.Parts[0].Kind != PartURL || m.Parts[0].Text != "" {
		t.Errorf("got %+v, %v", m, err)
	}
}
