package conformance

import (
	"strings"
	"testing"
)

// keys are the members that each type of version 1.0 has on the wire, as
// a2a.proto has them; behind a colon the type of a member that is an object or
// a list of objects. "any" is free-form.
var keys = map[string]string{
	"SendMessageResponse":     "task:Task message:Message",
	"StreamResponse":          "task:Task message:Message statusUpdate:TaskStatusUpdateEvent artifactUpdate:TaskArtifactUpdateEvent",
	"ListTasksResponse":       "tasks:Task nextPageToken pageSize totalSize",
	"Task":                    "id contextId status:TaskStatus artifacts:Artifact history:Message metadata:any",
	"TaskStatus":              "state message:Message timestamp",
	"Message":                 "messageId contextId taskId role parts:Part metadata:any extensions referenceTaskIds",
	"Part":                    "text raw url data:any metadata:any filename mediaType",
	"Artifact":                "artifactId name description parts:Part metadata:any extensions",
	"TaskStatusUpdateEvent":   "taskId contextId status:TaskStatus metadata:any",
	"TaskArtifactUpdateEvent": "taskId contextId artifact:Artifact append lastChunk metadata:any",
	"AgentCard": "name description supportedInterfaces:AgentInterface provider:AgentProvider version documentationUrl " +
		"capabilities:AgentCapabilities securitySchemes:any securityRequirements:any defaultInputModes defaultOutputModes " +
		"skills:AgentSkill signatures:AgentCardSignature iconUrl",
	"AgentInterface":     "url protocolBinding tenant protocolVersion",
	"AgentProvider":      "url organization",
	"AgentCapabilities":  "streaming pushNotifications extensions:AgentExtension extendedAgentCard",
	"AgentExtension":     "uri description required params:any",
	"AgentSkill":         "id name description tags examples inputModes outputModes securityRequirements:any",
	"AgentCardSignature": "protected signature header:any",
}

// known fails the test for members that a type of version 1.0 does not have,
// for null, and for a value that is no object where one should be.
func (w *wire) known(t *testing.T, typ string, v any) {
	t.Helper()
	unknown(v, typ, typ, func(at, wrong string) { t.Errorf("%s: %s in %s", at, wrong, compact(v)) })
}

func unknown(v any, typ, at string, report func(at, wrong string)) {
	if typ == "any" {
		return
	}
	members := map[string]string{}
	for _, m := range strings.Fields(keys[typ]) {
		name, inner, _ := strings.Cut(m, ":")
		members[name] = inner
	}
	o, ok := v.(obj)
	if !ok {
		report(at, "no "+typ)
	}
	for name, member := range o {
		inner, has := members[name]
		here := at + "." + name
		switch elements, isList := member.([]any); {
		case !has:
			report(here, "unknown")
		case member == nil && inner != "any":
			report(here, "null")
		case inner == "":
			for _, e := range elements {
				if _, isObject := e.(obj); isObject || e == nil {
					report(here, "not a list of plain values")
				}
			}
		case isList:
			for _, e := range elements {
				unknown(e, inner, here, report)
			}
		default:
			unknown(member, inner, here, report)
		}
	}
}

func TestConformanceKeysAreChecked(t *testing.T) {
	for doc, want := range map[string]string{
		`{"id":"1","status":{"state":"x"},"metadata":{"kind":null}}`:            "",
		`{"id":"1","kind":"task"}`:                                              "Task.kind",
		`{"id":"1","artifacts":null}`:                                           "Task.artifacts",
		`{"id":"1","history":[{"messageId":"2","parts":[{"type":"text"}]}]}`:    "Task.history.parts.type",
		`{"id":"1","history":[null]}`:                                           "Task.history",
		`{"id":"1","status":"working"}`:                                         "Task.status",
		`{"artifacts":[{"artifactId":"1","parts":[{"data":{"anything":[]}}]}]}`: "",
	} {
		var got []string
		unknown(decode(t, []byte(doc)), "Task", "Task", func(at, _ string) { got = append(got, at) })
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %q", doc, got, want)
		}
	}
}
