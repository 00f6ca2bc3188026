package admin

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"
	"time"
)

// openAPI returns the OpenAPI document. It is generated from the table of routes and from the
// types, so it cannot contradict them.
var openAPI = sync.OnceValue(func() []byte {
	d := document{schemas: map[string]any{}}
	paths := map[string]map[string]any{}
	for i := range routes {
		r := &routes[i]
		at := Path + r.path
		if paths[at] == nil {
			paths[at] = map[string]any{}
		}
		paths[at][strings.ToLower(r.method)] = d.operation(r)
	}
	d.schema(reflect.TypeFor[problem]())
	doc := map[string]any{
		"openapi":    "3.1.0",
		"info":       map[string]any{"title": "Parley admin API", "version": "v1", "description": "docs/admin-api.md is about how to use it."},
		"paths":      paths,
		"components": map[string]any{"schemas": d.schemas, "securitySchemes": map[string]any{"bearer": map[string]any{"type": "http", "scheme": "bearer"}, "key": map[string]any{"type": "apiKey", "in": "header", "name": "X-API-Key"}}},
		"security":   []any{map[string]any{"bearer": []any{}}, map[string]any{"key": []any{}}},
	}
	b, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		panic(err) // it consists of strings and maps
	}
	return b
})

type document struct{ schemas map[string]any }

func (d *document) operation(r *route) map[string]any {
	var all []any
	for segment := range strings.SplitSeq(r.path, "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			all = append(all, map[string]any{"name": strings.TrimSuffix(name, "}"), "in": "path", "required": true, "schema": map[string]any{"type": "string"}})
		}
	}
	for _, name := range r.params {
		p := params[name]
		schema := map[string]any{"type": p.kind}
		if p.kind == "date-time" {
			schema = map[string]any{"type": "string", "format": p.kind}
		}
		all = append(all, map[string]any{"name": name, "in": "query", "description": p.about, "schema": schema})
	}
	if r.stream != nil {
		all = append(all, map[string]any{"name": "Last-Event-ID", "in": "header", "description": "the id behind which a stream goes on", "schema": map[string]any{"type": "string"}})
	}
	op := map[string]any{"summary": r.about, "operationId": r.name(), "description": "Needs the scope " + r.scope + "."}
	if len(all) > 0 {
		op["parameters"] = all
	}
	if r.body != nil {
		media, schema := "application/json", d.schema(reflect.TypeOf(r.body))
		if _, ok := r.body.(yaml); ok {
			media = "application/yaml"
		}
		op["requestBody"] = map[string]any{"required": true, "content": map[string]any{media: map[string]any{"schema": schema}}}
	}
	ok := map[string]any{"description": "as it is now"}
	status := "200"
	switch {
	case r.answer == nil:
		status = "204"
		ok["description"] = "done"
	default:
		content := map[string]any{}
		schema := map[string]any{"schema": d.schema(reflect.TypeOf(r.answer))}
		if r.call != nil {
			content["application/json"] = schema
		}
		if r.stream != nil {
			content["text/event-stream"] = map[string]any{"schema": map[string]any{"type": "string"}}
		}
		ok["content"] = content
	}
	op["responses"] = map[string]any{status: ok, "default": map[string]any{
		"description": "what is wrong, as RFC 9457 has it; field names the parameter or member",
		"content":     map[string]any{"application/problem+json": map[string]any{"schema": d.schema(reflect.TypeFor[problem]())}},
	}}
	return op
}

// name returns the operation's name for tools, such as getTasksTaskLog.
func (r *route) name() string {
	name := strings.ToLower(r.method)
	for _, word := range strings.FieldsFunc(r.path, func(c rune) bool { return strings.ContainsRune("/{}-", c) }) {
		name += strings.ToUpper(word[:1]) + word[1:]
	}
	return name
}

// schema describes a type; structs are described once, by their names.
func (d *document) schema(t reflect.Type) map[string]any {
	switch t {
	case reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	case reflect.TypeFor[Duration]():
		return map[string]any{"type": "string", "description": "such as 720h"}
	case reflect.TypeFor[json.RawMessage]():
		return map[string]any{}
	case reflect.TypeFor[yaml]():
		return map[string]any{"type": "string"}
	case reflect.TypeFor[a2aTask]():
		return map[string]any{"type": "object", "description": "a Task of A2A 1.0"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return d.schema(t.Elem())
	case reflect.Slice:
		return map[string]any{"type": "array", "items": d.schema(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": d.schema(t.Elem())}
	case reflect.Struct:
		if _, ok := d.schemas[t.Name()]; !ok {
			properties := map[string]any{}
			is := map[string]any{"type": "object", "properties": properties}
			d.schemas[t.Name()] = is // before its fields, which may refer to it
			if required := d.fields(t, properties); len(required) > 0 {
				is["required"] = required
			}
		}
		return map[string]any{"$ref": "#/components/schemas/" + t.Name()}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int32, reflect.Int64:
		return map[string]any{"type": "integer"}
	}
	return map[string]any{"type": "string"}
}

// fields describes the members of a struct, and returns those that are always present: in
// answers because they are written even if empty, in requests because they are required.
func (d *document) fields(t reflect.Type, properties map[string]any) (required []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous:
			required = append(required, d.fields(f.Type, properties)...)
		case name != "-" && name != "":
			properties[name] = d.schema(f.Type)
			if !strings.Contains(options, "omit") {
				required = append(required, name)
			}
		}
	}
	return required
}
