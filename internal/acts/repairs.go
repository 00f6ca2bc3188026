package acts

import (
	"maps"
	"slices"
	"strings"
)

// repair is one mistake of the official ACTS corpus and its correction.
type repair struct {
	name   string
	clause string // of the specification that the corpus contradicts
	tests  string // ids of those with the mistake; "": any test
	mend   func(*Step)
}

// repairs are all repairs, in the order in which they are applied.
var repairs = []repair{
	{"task-beside-message", "3.4.3", "", func(s *Step) {
		if s.Operation == "send_message" || s.Operation == "send_streaming_message" {
			intoMessage(s.Params)
		}
		intoMessage(sending(s))
	}},
	{"message-id", "4.1.4", "", func(s *Step) {
		if m, ok := sending(s)["message"].(obj); ok && m["messageId"] == nil {
			m["messageId"] = "{{$uuid}}"
		}
	}},
	{"flat-push-config", "4.3.1", "", func(s *Step) {
		if c, ok := s.Params["pushNotificationConfig"].(obj); ok && s.Operation == "create_push_config" {
			delete(s.Params, "pushNotificationConfig")
			maps.Copy(s.Params, c)
		}
	}},
	{"extended-card", "3.1.11", "", func(s *Step) {
		if s.Operation == "get_agent_card" && s.Params["extended"] == true {
			s.Operation = "get_extended_agent_card"
			delete(s.Params, "extended")
		}
	}},
	{"any-error", "3.4.3", "", func(s *Step) {
		if s.Expect["status"] == "error" {
			s.Expect, s.Error = nil, obj{}
		}
	}},
	{"binding-name", "4.4.6", "", func(s *Step) {
		walk(any(s.Expect), func(o obj) {
			if b, ok := o["protocolBinding"].(obj); ok {
				for i, v := range asElements(b["one_of"]) {
					if v == "REST" {
						b["one_of"].([]any)[i] = "HTTP+JSON"
					}
				}
			}
		})
	}},
	{"media-type", "4.1.6", "", func(s *Step) {
		walk(any(s.Params), func(o obj) {
			if m, ok := o["metadata"].(obj); ok && m["contentType"] != nil {
				o["mediaType"] = m["contentType"]
				delete(m, "contentType")
			}
		})
	}},
	{"push-not-supported", "3.3.4", "PUSH-CFG-004 CORE-CAP-001", func(s *Step) {
		if s.Operation == "create_push_config" && s.Error["error_type"] == "UnsupportedOperationError" {
			s.Error["error_type"] = "PushNotificationNotSupportedError"
		}
	}},
	{"error-details", "9.5", "CORE-ERR-007", func(s *Step) {
		if s.Error != nil {
			s.Error["details"] = obj{"type": "array", "count_gte": 1.0}
		}
	}},
	{"no-problem-details", "11.6", "REST-PD-001", func(s *Step) {
		s.Expect = obj{"status": 404.0, "body": obj{"error": obj{"code": 404.0, "status": "NOT_FOUND", "message": obj{"type": "string"}}}}
	}},
	{"file-parts", "4.1.6", "DM-ART-003 DM-ART-004", func(s *Step) {
		for _, a := range s.Assertions {
			if a.Any == nil {
				continue
			}
			if m, ok := a.Any.Match.(obj); ok {
				for from, member := range map[string]string{"file": "raw", "fileUrl": "url"} {
					if f, ok := m[from].(obj); ok {
						want := obj{member: obj{"type": "string"}, "filename": obj{"type": "string"}}
						if f["mediaType"] != nil {
							want["mediaType"] = f["mediaType"]
						}
						a.Any.Match = want
					}
				}
			}
		}
	}},
	{"message-context", "4.1.4", "DM-FMT-003", func(s *Step) {
		v, _ := lookup(any(s.Expect), "body.message")
		if m, ok := v.(obj); ok {
			m["contextId"] = obj{"matches": ".+"}
		}
	}},
	{"context-of-the-client", "3.4.1", "CORE-CTX-001", func(s *Step) {
		id := obj{"contextId": "client-generated-context-that-should-be-rejected"}
		s.Error, s.Expect = nil, obj{"body": obj{"any_of": []any{obj{"error": obj{"exists": true}}, obj{"task": id}, obj{"message": id}}}}
	}},
	{"history-of-both", "3.7", "CORE-HIST-005", func(s *Step) {
		for _, a := range s.Assertions {
			if a.Any != nil && strings.HasPrefix(a.Any.Path, "history[2]") {
				a.Any.Path = "history[*].parts[*]"
			}
		}
	}},
	{"no-version", "3.6.2", "VER-NEG-002", func(s *Step) {
		s.Expect = obj{"status": 200.0, "body": obj{"any_of": []any{obj{"result": obj{"exists": true}}, obj{"error": obj{"code": obj{"one_of": []any{-32009.0, -32601.0}}}}}}}
	}},
	{"public-card", "8.2", "SEC-AUTH-006", func(s *Step) {
		if s.Raw != nil {
			s.Raw.Path = "/tasks/00000000-0000-0000-0000-000000000000"
			s.Expect = obj{"status": obj{"one_of": []any{401.0, 403.0}}}
		}
	}},
}

// Repair corrects the mistakes of the official corpus. The webhook that its tests name is then
// one of this runner.
func (c *Corpus) Repair() {
	c.repaired = true
	for _, d := range c.Documents {
		for _, suite := range d.Suites {
			for _, t := range suite.Tests {
				for _, r := range repairs {
					if r.tests != "" && !slices.Contains(strings.Fields(r.tests), t.ID) {
						continue
					}
					for _, s := range t.Steps {
						r.mend(s)
					}
				}
			}
		}
	}
}

// sending returns the params of a raw request that sends a message.
func sending(s *Step) (params obj) {
	if s.Raw == nil {
		return nil
	}
	body, _ := s.Raw.Body.(obj)
	if body["method"] == "SendMessage" || body["method"] == "SendStreamingMessage" {
		params, _ = body["params"].(obj)
	}
	return params
}

// intoMessage moves the ids next to a message into it.
func intoMessage(params obj) {
	m, ok := params["message"].(obj)
	if !ok {
		return
	}
	for _, name := range []string{"taskId", "contextId"} {
		if v, ok := params[name]; ok {
			m[name] = v
			delete(params, name)
		}
	}
}

// walk calls f for each object in a value.
func walk(v any, f func(obj)) {
	switch v := v.(type) {
	case obj:
		f(v)
		for _, x := range v {
			walk(x, f)
		}
	case []any:
		for _, x := range v {
			walk(x, f)
		}
	}
}
