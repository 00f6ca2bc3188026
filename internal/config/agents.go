package config

import (
	"reflect"
	"strings"
)

// agents builds the agents of a file without mistakes.
func agents(tree *value, dir string) (list []Agent) {
	said := false
	for _, m := range tree.member("agents").members {
		a := Agent{Name: m.name}
		fill(reflect.ValueOf(&a).Elem(), m.value)
		said = said || m.value.member("default") != nil
		list = append(list, a)
	}
	for i := range list {
		list[i].runIn(dir)
	}
	if len(list) == 1 && !said {
		list[0].Default = true
	}
	return list
}

// runIn sets the file's directory for commands without a directory of their own.
func (a *Agent) runIn(dir string) {
	if dir == "." {
		return // already the process's directory
	}
	var servers []*MCP
	switch {
	case a.Exec != nil && a.Exec.Dir == "":
		a.Exec.Dir = dir
	case a.MCP != nil:
		servers = append(servers, a.MCP)
	case a.OpenAI != nil:
		for i := range a.OpenAI.Tools {
			servers = append(servers, &a.OpenAI.Tools[i])
		}
	}
	for _, m := range servers {
		if len(m.Command) > 0 && m.Dir == "" {
			m.Dir = dir
		}
	}
}

// fieldOf returns the struct field for a name of the file: APIKey for api_key.
func fieldOf(s reflect.Value, name string) reflect.Value {
	return s.FieldByNameFunc(func(field string) bool { return strings.EqualFold(field, plain(name)) })
}

// fill stores a value in a struct field. Values and fields follow one table, which a test
// compares with the types.
func fill(to reflect.Value, v *value) {
	switch to.Kind() {
	case reflect.Pointer:
		to.Set(reflect.New(to.Type().Elem()))
		fill(to.Elem(), v)
	case reflect.Struct:
		for _, m := range v.members {
			fill(fieldOf(to, m.name), m.value)
		}
	case reflect.Slice:
		to.Set(reflect.MakeSlice(to.Type(), len(v.items), len(v.items)))
		for i, item := range v.items {
			fill(to.Index(i), item)
		}
	case reflect.Map:
		to.Set(reflect.MakeMap(to.Type()))
		for _, m := range v.members {
			elem := reflect.New(to.Type().Elem()).Elem()
			fill(elem, m.value)
			to.SetMapIndex(reflect.ValueOf(m.name), elem)
		}
	case reflect.Interface:
		if v.parsed != nil {
			to.Set(reflect.ValueOf(v.parsed))
		}
	default:
		is := reflect.ValueOf(v.text)
		if v.parsed != nil {
			is = reflect.ValueOf(v.parsed)
		}
		to.Set(is.Convert(to.Type())) // a test covers all types
	}
}
