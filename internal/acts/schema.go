package acts

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// sheet10 describes the objects of version 1.0 (a2a.proto, §4). A line has: name, the check
// that it belongs to, the members of which exactly one must be present, and all members. A
// member with ! is required; + is a list that is not empty.
const sheet10 = `
Task task { id!: id, contextId: id, status!: TaskStatus, artifacts: [Artifact], history: [Message], metadata: obj }
TaskStatus status { state!: state, message: Message, timestamp: time }
Message message { messageId!: id, role!: role, parts!: [Part]+, contextId: str, taskId: str, metadata: obj, extensions: [str], referenceTaskIds: [str] }
Part part one(text,raw,url,data) { text: str, raw: b64, url: str, data: any, metadata: obj, filename: str, mediaType: str }
Artifact artifact { artifactId!: id, parts!: [Part]+, name: str, description: str, metadata: obj, extensions: [str] }
StatusUpdate status-event { taskId!: id, contextId!: id, status!: TaskStatus, metadata: obj }
ArtifactUpdate artifact-event { taskId!: id, contextId!: id, artifact!: Artifact, append: bool, lastChunk: bool, metadata: obj }
StreamResponse stream-event one(task,message,statusUpdate,artifactUpdate) { task: Task, message: Message, statusUpdate: StatusUpdate, artifactUpdate: ArtifactUpdate }
SendResult send-result one(task,message) { task: Task, message: Message }
TaskList list-result { tasks!: [Task], nextPageToken!: str, pageSize!: int, totalSize!: int }
PushConfig push-config { id!: id, taskId: str, url!: id, token: str, authentication: AuthenticationInfo, tenant: str }
PushConfigs push-configs { configs: [PushConfig], nextPageToken: str }
AuthenticationInfo push-config { scheme!: id, credentials: str }
Card card { name!: id, description!: str, supportedInterfaces!: [Interface]+, version!: id, capabilities!: Capabilities, defaultInputModes!: [str], defaultOutputModes!: [str], skills!: [Skill], provider: Provider, documentationUrl: str, iconUrl: str, securitySchemes: {SecurityScheme}, securityRequirements: [SecurityRequirement], signatures: [Signature] }
Interface card-interface { url!: id, protocolBinding!: id, protocolVersion!: id, tenant: str }
Capabilities card-capabilities { streaming: bool, pushNotifications: bool, extendedAgentCard: bool, extensions: [Extension] }
Extension card-extension { uri!: id, description: str, required: bool, params: obj }
Skill card-skill { id!: id, name!: id, description!: str, tags!: [str], examples: [str], inputModes: [str], outputModes: [str], securityRequirements: [SecurityRequirement] }
Provider card-provider { organization!: id, url!: id }
Signature card-signature { protected!: id, signature!: id, header: obj }
SecurityRequirement card-security { schemes: obj }
SecurityScheme card-security one(apiKeySecurityScheme,httpAuthSecurityScheme,oauth2SecurityScheme,openIdConnectSecurityScheme,mtlsSecurityScheme) { apiKeySecurityScheme: APIKey, httpAuthSecurityScheme: HTTPAuth, oauth2SecurityScheme: OAuth2, openIdConnectSecurityScheme: OpenID, mtlsSecurityScheme: obj }
APIKey card-security { location!: id, name!: id, description: str }
HTTPAuth card-security { scheme!: id, description: str, bearerFormat: str }
OAuth2 card-security { flows!: Flows, oauth2MetadataUrl: str, description: str }
OpenID card-security { openIdConnectUrl!: id, description: str }
Flows card-security one(authorizationCode,clientCredentials,implicit,password,deviceCode) { authorizationCode: obj, clientCredentials: obj, implicit: obj, password: obj, deviceCode: obj }
`

// sheet03 describes the objects of version 0.3 over JSON-RPC, except for cards
// (specification/json/a2a.json at v0.3.0).
const sheet03 = `
Task task { kind!: "task", id!: id, contextId!: id, status!: TaskStatus, artifacts: [Artifact], history: [Message], metadata: obj }
TaskStatus status { state!: state, message: Message, timestamp: time }
Message message { kind!: "message", messageId!: id, role!: role, parts!: [Part]+, contextId: str, taskId: str, metadata: obj, extensions: [str], referenceTaskIds: [str] }
Part part one(text,file,data) { kind!: kind, text: str, file: File, data: obj, metadata: obj }
File part one(bytes,uri) { bytes: b64, uri: str, mimeType: str, name: str }
Artifact artifact { artifactId!: id, parts!: [Part]+, name: str, description: str, metadata: obj, extensions: [str] }
StatusUpdate status-event { kind!: "status-update", taskId!: id, contextId!: id, status!: TaskStatus, final!: bool, metadata: obj }
ArtifactUpdate artifact-event { kind!: "artifact-update", taskId!: id, contextId!: id, artifact!: Artifact, append: bool, lastChunk: bool, metadata: obj }
PushConfig push-config { taskId!: id, pushNotificationConfig!: InnerConfig }
InnerConfig push-config { url!: id, id: str, token: str, authentication: AuthenticationInfo }
AuthenticationInfo push-config { schemes!: [str]+, credentials: str }
`

type shape struct {
	name, check string
	one         []string
	fields      map[string]field
}

type field struct {
	kind     string
	required bool
	list     bool
	filled   bool // a list with at least one element
	mapped   bool // a map of strings to this
}

var shapes10, shapes03 = readSheet(sheet10), readSheet(sheet03)

var sheetLine = regexp.MustCompile(`^(\w+) ([\w-]+)(?: one\(([\w,]+)\))? \{ (.*) \}$`)

func readSheet(text string) map[string]*shape {
	all := map[string]*shape{}
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		m := sheetLine.FindStringSubmatch(line)
		if m == nil {
			panic("acts: the sheet has a malformed line: " + line)
		}
		s := &shape{name: m[1], check: m[2], fields: map[string]field{}}
		if m[3] != "" {
			s.one = strings.Split(m[3], ",")
		}
		for part := range strings.SplitSeq(m[4], ", ") {
			name, kind, _ := strings.Cut(part, ": ")
			f := field{kind: kind}
			name, f.required = strings.CutSuffix(name, "!")
			f.kind, f.filled = strings.CutSuffix(f.kind, "+")
			if strings.HasPrefix(f.kind, "[") {
				f.kind, f.list = strings.Trim(f.kind, "[]"), true
			}
			if strings.HasPrefix(f.kind, "{") {
				f.kind, f.mapped = strings.Trim(f.kind, "{}"), true
			}
			s.fields[name] = f
		}
		all[s.name] = s
	}
	return all
}

var states10 = map[string]bool{
	"TASK_STATE_SUBMITTED": true, "TASK_STATE_WORKING": true, "TASK_STATE_COMPLETED": true, "TASK_STATE_FAILED": true,
	"TASK_STATE_CANCELED": true, "TASK_STATE_INPUT_REQUIRED": true, "TASK_STATE_REJECTED": true, "TASK_STATE_AUTH_REQUIRED": true,
}

var states03 = map[string]bool{
	"submitted": true, "working": true, "input-required": true, "completed": true, "canceled": true,
	"failed": true, "rejected": true, "auth-required": true, "unknown": true,
}

// finding is one fault of an object.
type finding struct {
	check string
	miss  *Mismatch
}

// inspector inspects objects and collects their faults, and which checks had something to
// inspect.
type inspector struct {
	shapes map[string]*shape
	old    bool // version 0.3
	seen   map[string]bool
	found  []finding
}

func newInspector(old bool) *inspector {
	x := &inspector{shapes: shapes10, old: old, seen: map[string]bool{}}
	if old {
		x.shapes = shapes03
	}
	return x
}

func (x *inspector) bad(check, at, expected string, got any, there bool) {
	x.found = append(x.found, finding{check, differ(at, expected, got, there)})
}

func (x *inspector) object(kind string, v any, at string) {
	s := x.shapes[kind]
	if s == nil {
		return
	}
	x.seen[s.check] = true
	o, ok := v.(obj)
	if !ok {
		x.bad(s.check, at, "an object", v, true)
		return
	}
	if len(s.one) > 0 {
		var there []string
		for _, name := range s.one {
			if _, ok := o[name]; ok {
				there = append(there, name)
			}
		}
		if len(there) != 1 {
			x.bad(s.check, at, "exactly one of "+strings.Join(s.one, ", "), v, true)
		}
	}
	for name, f := range s.fields {
		m, ok := o[name]
		if !ok || m == nil && f.kind != "any" {
			if f.required {
				x.bad(s.check, join(at, name), "a value, which is required", m, ok)
			}
			continue
		}
		switch {
		case f.mapped:
			entries, ok := m.(obj)
			if !ok {
				x.bad(s.check, join(at, name), "an object", m, true)
				continue
			}
			for key, e := range entries {
				x.value(s.check, f.kind, e, join(at, name)+"."+key)
			}
		case f.list:
			list, ok := m.([]any)
			if !ok || f.filled && len(list) == 0 {
				x.bad(s.check, join(at, name), "an array"+map[bool]string{true: " that is not empty"}[f.filled], m, true)
				continue
			}
			for i, e := range list {
				if m, ok := e.(obj); ok && name == "history" && m["role"] != "ROLE_AGENT" && m["role"] != "agent" {
					continue // from the client; tests make it wrong on purpose
				}
				x.value(s.check, f.kind, e, fmt.Sprintf("%s[%d]", join(at, name), i))
			}
		default:
			x.value(s.check, f.kind, m, join(at, name))
		}
	}
	x.names(s, o, at)
	x.beyond(s, o, at)
}

// names checks the names of members: camelCase (§5.5), and no names of 0.x in 1.0.
func (x *inspector) names(s *shape, o obj, at string) {
	x.seen["camel-case"] = true
	if !x.old {
		x.seen["no-kind"] = true
	}
	for name := range o {
		if _, known := s.fields[name]; known {
			continue
		}
		if strings.Contains(name, "_") {
			x.bad("camel-case", join(at, name), "a name in camelCase", o[name], true)
		}
		// A card may be for several versions at once, so it may have names of others.
		if !x.old && (name == "kind" || name == "final") && !strings.HasPrefix(s.check, "card") {
			x.bad("no-kind", join(at, name), "no such member in version 1.0", o[name], true)
		}
	}
}

// beyond checks rules that involve several members.
func (x *inspector) beyond(s *shape, o obj, at string) {
	switch s.name {
	case "Task":
		x.seen["artifact-ids"] = true
		ids := map[string]bool{}
		for i, v := range asElements(o["artifacts"]) {
			a, _ := v.(obj)
			if id, ok := a["artifactId"].(string); ok {
				if ids[id] {
					x.bad("artifact-ids", fmt.Sprintf("%s[%d].artifactId", join(at, "artifacts"), i), "an id that is unique in its task", id, true)
				}
				ids[id] = true
			}
		}
		x.message(o, at)
	case "StatusUpdate":
		x.message(o, at)
	case "SendResult", "StreamResponse":
		if m, ok := o["message"].(obj); ok {
			x.seen["agent-role"], x.seen["message-context"] = true, true
			if m["role"] != "ROLE_AGENT" {
				x.bad("agent-role", join(at, "message.role"), "ROLE_AGENT", m["role"], m["role"] != nil)
			}
			if c, _ := m["contextId"].(string); c == "" {
				x.bad("message-context", join(at, "message.contextId"), "the id of the context", m["contextId"], m["contextId"] != nil)
			}
		}
	}
}

// message checks the message of a status, which must be the agent's.
func (x *inspector) message(o obj, at string) {
	v, ok := lookup(o, "status.message")
	m, isObject := v.(obj)
	if !ok || !isObject {
		return
	}
	x.seen["agent-role"] = true
	if r := m["role"]; r != "ROLE_AGENT" && r != "agent" {
		x.bad("agent-role", join(at, "status.message.role"), "the agent's role", r, r != nil)
	}
}

var utc = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$`)

func (x *inspector) value(check, kind string, v any, at string) {
	text, isText := v.(string)
	expect := func(ok bool, what string) {
		if !ok {
			x.bad(check, at, what, v, true)
		}
	}
	switch kind {
	case "any":
	case "str":
		expect(isText, "text")
	case "id":
		expect(isText && text != "", "text that is not empty")
	case "int":
		f, ok := v.(float64)
		expect(ok && f == float64(int64(f)), "a whole number")
	case "bool":
		_, ok := v.(bool)
		expect(ok, "true or false")
	case "obj":
		_, ok := v.(obj)
		expect(ok, "an object")
	case "b64":
		_, err := base64.StdEncoding.DecodeString(text)
		expect(isText && err == nil, "base64")
	case "time":
		x.seen["timestamp"], x.seen["timestamp-ms"] = true, true
		_, err := time.Parse(time.RFC3339Nano, text)
		check = "timestamp"
		if x.old {
			expect(isText && err == nil, "an ISO 8601 time")
			return
		}
		expect(isText && err == nil && utc.MatchString(text), "a time in UTC such as 2026-01-02T03:04:05.678Z")
		if err == nil && !strings.Contains(text, ".") {
			x.bad("timestamp-ms", at, "milliseconds", v, true)
		}
	case "state":
		x.seen["state"] = true
		check = "state"
		if x.old {
			expect(states03[text], "a state of a task, such as completed")
		} else {
			expect(states10[text], "a state of a task, such as TASK_STATE_COMPLETED")
		}
	case "role":
		x.seen["role"] = true
		check = "role"
		if x.old {
			expect(text == "user" || text == "agent", "user or agent")
		} else {
			expect(text == "ROLE_USER" || text == "ROLE_AGENT", "ROLE_USER or ROLE_AGENT")
		}
	case "kind":
		expect(text == "text" || text == "file" || text == "data", "text, file or data")
	default:
		if strings.HasPrefix(kind, `"`) {
			expect(isText && text == strings.Trim(kind, `"`), kind)
			return
		}
		x.object(kind, v, at)
	}
}

// inspect checks the result of an operation, or an event, before translation.
func (x *inspector) inspect(kind string, v any) {
	if x.old {
		switch kind {
		case "SendResult", "StreamResponse":
			o, ok := v.(obj)
			check := map[string]string{"SendResult": "send-result", "StreamResponse": "stream-event"}[kind]
			x.seen[check] = true
			word, _ := o["kind"].(string)
			is := map[string]string{"task": "Task", "message": "Message", "status-update": "StatusUpdate", "artifact-update": "ArtifactUpdate"}[word]
			if !ok || is == "" || kind == "SendResult" && strings.HasSuffix(is, "Update") {
				x.bad(check, "kind", "the kind of what this is", o["kind"], o["kind"] != nil)
				return
			}
			kind = is
		case "PushConfigs":
			x.seen["push-configs"] = true
			list, ok := v.([]any)
			if !ok {
				x.bad("push-configs", "", "an array", v, true)
			}
			for i, c := range list {
				x.object("PushConfig", c, fmt.Sprintf("[%d]", i))
			}
			return
		}
	}
	x.object(kind, v, "")
}
