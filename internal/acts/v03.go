package acts

import (
	"slices"
	"strings"
)

// Tests are written with the names of version 1.0. This file translates them to version 0.3:
// with kind over JSON-RPC (ts), as ProtoJSON of a2a.v1 over the other bindings. watch.go checks
// the untranslated answer; only the value for assertions is translated. encode03 and decode03
// copy a value, and the others change the copy.

type obj = map[string]any

// move copies members under other names.
func move(from, to obj, names ...string) {
	for i := 0; i < len(names); i += 2 {
		if v, ok := from[names[i]]; ok {
			to[names[i+1]] = v
		}
	}
}

func rename(o obj, from, to string) {
	if v, ok := o[from]; ok {
		delete(o, from)
		o[to] = v
	}
}

// each applies f to an object, or to each object of a list; other values stay unchanged.
func each(v any, f func(obj) obj) any {
	switch v := v.(type) {
	case obj:
		return f(v)
	case []any:
		for i, x := range v {
			v[i] = each(x, f)
		}
	}
	return v
}

// change applies f to a member, or to each of its elements.
func change(o obj, name string, f func(obj) obj) {
	if v, ok := o[name]; ok {
		o[name] = each(v, f)
	}
}

// encode03 translates the parameters of an operation.
func encode03(op string, params obj, ts bool) obj {
	p, out := clone(params).(obj), obj{}
	switch op {
	case "send_message", "send_streaming_message":
		change(p, "message", func(m obj) obj { return encodeMessage03(m, ts) })
		if _, ok := p["configuration"].(obj); !ok && !ts {
			p["configuration"] = obj{}
		}
		change(p, "configuration", func(c obj) obj { return encodeConfiguration03(c, ts) })
		return p
	case "create_push_config":
		move(p, out, "taskId", "taskId")
		delete(p, "taskId")
		if ts {
			out["pushNotificationConfig"] = encodePush03(p)
			break
		}
		parent := "tasks/" + plainText(out["taskId"])
		config := obj{"pushNotificationConfig": encodePush03(p)}
		out = obj{"parent": parent, "config": config}
		if id := p["id"]; id != nil {
			out["configId"], config["name"] = id, parent+"/pushNotificationConfigs/"+plainText(id)
		}
	case "get_push_config", "delete_push_config":
		if ts {
			move(p, out, "taskId", "id", "id", "pushNotificationConfigId")
			break
		}
		out["name"] = "tasks/" + plainText(p["taskId"]) + "/pushNotificationConfigs/" + plainText(p["id"])
	case "list_push_configs":
		if ts {
			move(p, out, "taskId", "id")
			break
		}
		out["parent"] = "tasks/" + plainText(p["taskId"])
	default:
		if id, ok := p["id"]; ok && !ts {
			delete(p, "id")
			p["name"] = "tasks/" + plainText(id)
		}
		return p
	}
	return out
}

func encodeConfiguration03(c obj, ts bool) obj {
	if v, ok := c["returnImmediately"]; ok {
		delete(c, "returnImmediately")
		c["blocking"] = v != true
	}
	push := "pushNotificationConfig"
	if !ts {
		push = "pushNotification"
		if c["blocking"] == nil {
			c["blocking"] = true // absent means false there
		}
	}
	rename(c, "taskPushNotificationConfig", push)
	change(c, push, encodePush03)
	return c
}

func encodeMessage03(m obj, ts bool) obj {
	if !ts {
		rename(m, "parts", "content")
		change(m, "content", encodePart03P)
		return m
	}
	m["kind"] = "message"
	if role, ok := m["role"]; ok {
		m["role"] = strings.ToLower(strings.TrimPrefix(plainText(role), "ROLE_"))
	}
	change(m, "parts", encodePart03)
	return m
}

func encodePart03(p obj) obj {
	out := obj{}
	move(p, out, "metadata", "metadata")
	switch {
	case p["raw"] != nil || p["url"] != nil:
		file := obj{}
		move(p, file, "raw", "bytes", "url", "uri", "mediaType", "mimeType", "filename", "name")
		out["kind"], out["file"] = "file", file
	case p["data"] != nil:
		out["kind"], out["data"] = "data", p["data"]
	case p["text"] != nil:
		out["kind"], out["text"] = "text", p["text"]
	default:
		return p
	}
	return out
}

func encodePart03P(p obj) obj {
	out := obj{}
	move(p, out, "text", "text")
	if p["raw"] != nil || p["url"] != nil {
		file := obj{}
		move(p, file, "raw", "fileWithBytes", "url", "fileWithUri", "mediaType", "mimeType")
		out["file"] = file
	}
	if p["data"] != nil {
		out["data"] = obj{"data": p["data"]}
	}
	return out
}

func encodePush03(p obj) obj {
	change(p, "authentication", func(a obj) obj {
		if scheme, ok := a["scheme"]; ok {
			delete(a, "scheme")
			a["schemes"] = []any{scheme}
		}
		return a
	})
	return p
}

// decode03 translates the result of an operation to the names of version 1.0.
func decode03(op string, v any, ts bool) any {
	v = clone(v)
	switch op {
	case "send_message", "send_streaming_message", "subscribe_to_task":
		return each(v, func(o obj) obj { return decodeEvent03(o, ts) })
	case "get_task", "cancel_task":
		return each(v, decodeTask03)
	case "create_push_config", "get_push_config":
		return each(v, decodePush03)
	case "list_push_configs":
		if o, ok := v.(obj); ok {
			v = o["configs"]
		}
		list, _ := each(v, decodePush03).([]any)
		return obj{"configs": list}
	}
	return v
}

// payloads03 are the kinds of events and results, with their members in version 1.0.
var payloads03 = []struct {
	kind, member string
	decode       func(obj) obj
}{
	{"task", "task", decodeTask03},
	{"message", "message", decodeMessage03},
	{"status-update", "statusUpdate", decodeTask03},
	{"artifact-update", "artifactUpdate", decodeTask03},
}

func decodeEvent03(o obj, ts bool) obj {
	for _, p := range payloads03 {
		if !ts {
			change(o, p.member, p.decode)
		} else if o["kind"] == p.kind {
			return obj{p.member: p.decode(o)}
		}
	}
	return o
}

// decodeTask03 translates tasks and updates, whose members do not conflict.
func decodeTask03(o obj) obj {
	delete(o, "kind")
	change(o, "status", func(s obj) obj {
		if state, ok := s["state"]; ok {
			s["state"] = decodeState03(state)
		}
		change(s, "message", decodeMessage03)
		return s
	})
	for _, name := range []string{"artifact", "artifacts"} {
		change(o, name, func(a obj) obj {
			change(a, "parts", decodePart03)
			return a
		})
	}
	change(o, "history", decodeMessage03)
	return o
}

func decodeState03(v any) string {
	s := plainText(v)
	if s == "TASK_STATE_CANCELLED" {
		return "TASK_STATE_CANCELED"
	}
	if strings.HasPrefix(s, "TASK_STATE_") {
		return s
	}
	return "TASK_STATE_" + strings.ToUpper(strings.ReplaceAll(s, "-", "_"))
}

func decodeMessage03(o obj) obj {
	delete(o, "kind")
	if role, ok := o["role"]; ok {
		if s := plainText(role); !strings.HasPrefix(s, "ROLE_") {
			o["role"] = "ROLE_" + strings.ToUpper(s)
		}
	}
	rename(o, "content", "parts")
	change(o, "parts", decodePart03)
	return o
}

func decodePart03(o obj) obj {
	out := obj{}
	move(o, out, "text", "text", "metadata", "metadata", "data", "data")
	if d, ok := o["data"].(obj); ok && o["kind"] == nil && len(d) == 1 && d["data"] != nil {
		out["data"] = d["data"]
	}
	if f, ok := o["file"].(obj); ok {
		move(f, out, "bytes", "raw", "fileWithBytes", "raw", "uri", "url", "fileWithUri", "url", "mimeType", "mediaType", "name", "filename")
	}
	return out
}

func decodePush03(o obj) obj {
	out, _ := o["pushNotificationConfig"].(obj)
	if out == nil {
		out = obj{}
	}
	change(out, "authentication", func(a obj) obj {
		if list, ok := a["schemes"].([]any); ok && len(list) > 0 {
			a["scheme"] = list[0]
		}
		return a
	})
	move(o, out, "taskId", "taskId")
	if name, ok := o["name"].(string); ok {
		parts := strings.Split(name, "/")
		if i := slices.Index(parts, "pushNotificationConfigs"); i == 2 && len(parts) == 4 {
			out["taskId"], out["id"] = parts[1], parts[3]
		}
	}
	return out
}
