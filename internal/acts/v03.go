package acts

import (
	"maps"
	"slices"
	"strings"
)

// Tests are written with the names of version 1.0. This file translates them to version 0.3:
// with kind over JSON-RPC (ts), as ProtoJSON of a2a.v1 over the other bindings. watch.go checks
// the untranslated answer; only the value for assertions is translated.

type obj = map[string]any

// move copies members under other names.
func move(from, to obj, names ...string) {
	for i := 0; i < len(names); i += 2 {
		if v, ok := from[names[i]]; ok {
			to[names[i+1]] = v
		}
	}
}

// with copies an object, with some members changed.
func with(o obj, change map[string]func(any) (string, any)) obj {
	out := make(obj, len(o))
	for name, v := range o {
		if f := change[name]; f != nil {
			name, v = f(v)
		}
		if name != "" {
			out[name] = v
		}
	}
	return out
}

// of applies f to an object, or to each object of a list; other values stay unchanged.
func of(f func(obj) any) func(any) any {
	return func(v any) any {
		switch v := v.(type) {
		case obj:
			return f(v)
		case []any:
			out := make([]any, len(v))
			for i, x := range v {
				out[i] = of(f)(x)
			}
			return out
		}
		return v
	}
}

func named(name string, f func(any) any) func(any) (string, any) {
	return func(v any) (string, any) { return name, f(v) }
}

func drop(any) (string, any) { return "", nil }

// encode03 translates the parameters of an operation.
func encode03(op string, p obj, ts bool) obj {
	out := obj{}
	switch op {
	case "send_message", "send_streaming_message":
		maps.Copy(out, p)
		if m, ok := p["message"].(obj); ok {
			out["message"] = encodeMessage03(m, ts)
		}
		if c, ok := p["configuration"].(obj); ok {
			push := "pushNotificationConfig"
			if !ts {
				push = "pushNotification"
			}
			conf := with(c, map[string]func(any) (string, any){
				"returnImmediately":          func(v any) (string, any) { b, _ := v.(bool); return "blocking", !b },
				"taskPushNotificationConfig": named(push, of(encodePush03)),
			})
			if _, ok := conf["blocking"]; !ok && !ts {
				conf["blocking"] = true // absent means false there
			}
			out["configuration"] = conf
		} else if !ts {
			out["configuration"] = obj{"blocking": true}
		}
	case "create_push_config":
		if ts {
			move(p, out, "taskId", "taskId")
			config := with(p, map[string]func(any) (string, any){"taskId": drop})
			out["pushNotificationConfig"] = encodePush03(config)
			break
		}
		config := with(p, map[string]func(any) (string, any){"taskId": drop})
		parent := "tasks/" + plainText(p["taskId"])
		out = obj{"parent": parent, "configId": p["id"], "config": obj{"pushNotificationConfig": encodePush03(config)}}
		if p["id"] == nil {
			delete(out, "configId")
		} else {
			out["config"].(obj)["name"] = parent + "/pushNotificationConfigs/" + plainText(p["id"])
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
		out = with(p, nil)
		if id, ok := p["id"]; ok && !ts {
			delete(out, "id")
			out["name"] = "tasks/" + plainText(id)
		}
	}
	return out
}

func encodeMessage03(m obj, ts bool) obj {
	if !ts {
		return with(m, map[string]func(any) (string, any){"parts": named("content", of(encodePart03P))})
	}
	out := with(m, map[string]func(any) (string, any){
		"role":  named("role", lowRole),
		"parts": named("parts", of(encodePart03)),
	})
	out["kind"] = "message"
	return out
}

func lowRole(v any) any {
	return strings.ToLower(strings.TrimPrefix(plainText(v), "ROLE_"))
}

func encodePart03(p obj) any {
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

func encodePart03P(p obj) any {
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

func encodePush03(p obj) any {
	return with(p, map[string]func(any) (string, any){"authentication": named("authentication", of(func(a obj) any {
		return with(a, map[string]func(any) (string, any){"scheme": named("schemes", func(v any) any { return []any{v} })})
	}))})
}

// decode03 translates the result of an operation to the names of version 1.0.
func decode03(op string, v any, ts bool) any {
	switch op {
	case "send_message", "send_streaming_message", "subscribe_to_task":
		return of(func(o obj) any { return decodeEvent03(o, ts) })(v)
	case "get_task", "cancel_task":
		return of(decodeTask03)(v)
	case "create_push_config", "get_push_config":
		return of(decodePush03)(v)
	case "list_push_configs":
		if o, ok := v.(obj); ok {
			v = o["configs"]
		}
		list, _ := of(decodePush03)(v).([]any)
		return obj{"configs": list}
	}
	return v
}

func decodeEvent03(o obj, ts bool) any {
	if ts {
		switch o["kind"] {
		case "task":
			return obj{"task": decodeTask03(o)}
		case "message":
			return obj{"message": decodeMessage03(o)}
		case "status-update":
			return obj{"statusUpdate": decodeTask03(o)}
		case "artifact-update":
			return obj{"artifactUpdate": decodeTask03(o)}
		}
		return o
	}
	return with(o, map[string]func(any) (string, any){
		"task":           named("task", of(decodeTask03)),
		"message":        named("message", of(decodeMessage03)),
		"statusUpdate":   named("statusUpdate", of(decodeTask03)),
		"artifactUpdate": named("artifactUpdate", of(decodeTask03)),
	})
}

// decodeTask03 translates tasks and updates, whose members do not conflict.
func decodeTask03(o obj) any {
	artifact := of(func(a obj) any {
		return with(a, map[string]func(any) (string, any){"parts": named("parts", of(decodePart03))})
	})
	return with(o, map[string]func(any) (string, any){
		"kind": drop,
		"status": named("status", of(func(s obj) any {
			return with(s, map[string]func(any) (string, any){
				"state":   named("state", decodeState03),
				"message": named("message", of(decodeMessage03)),
			})
		})),
		"artifact":  named("artifact", artifact),
		"artifacts": named("artifacts", artifact),
		"history":   named("history", of(decodeMessage03)),
	})
}

func decodeState03(v any) any {
	s := plainText(v)
	if s == "TASK_STATE_CANCELLED" {
		return "TASK_STATE_CANCELED"
	}
	if strings.HasPrefix(s, "TASK_STATE_") {
		return s
	}
	return "TASK_STATE_" + strings.ToUpper(strings.ReplaceAll(s, "-", "_"))
}

func decodeMessage03(o obj) any {
	parts := of(decodePart03)
	return with(o, map[string]func(any) (string, any){
		"kind": drop,
		"role": named("role", func(v any) any {
			s := plainText(v)
			if strings.HasPrefix(s, "ROLE_") {
				return s
			}
			return "ROLE_" + strings.ToUpper(s)
		}),
		"parts":   named("parts", parts),
		"content": named("parts", parts),
	})
}

func decodePart03(o obj) any {
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

func decodePush03(o obj) any {
	out := obj{}
	if c, ok := o["pushNotificationConfig"].(obj); ok {
		out = with(c, nil)
		if a, ok := c["authentication"].(obj); ok {
			a = with(a, nil)
			if list, ok := a["schemes"].([]any); ok && len(list) > 0 {
				a["scheme"] = list[0]
			}
			out["authentication"] = a
		}
	}
	move(o, out, "taskId", "taskId")
	if name, ok := o["name"].(string); ok {
		parts := strings.Split(name, "/")
		if i := slices.Index(parts, "pushNotificationConfigs"); i == 2 && len(parts) == 4 {
			out["taskId"], out["id"] = parts[1], parts[3]
		}
	}
	return out
}
