package dialect

import (
	"bytes"
	"encoding/base64"
	stdjson "encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/json"
)

// object reads a JSON object of an older version, whose senders spell members in more
// than one way. Every method takes the names that a member may have and reads the first
// one that is there, in camelCase or snake_case. null counts as absent. Mistakes are
// collected, each with its path.
type object struct {
	in    *object // nil for the document
	name  string  // of the member in it
	index int     // of the element, if the member is an array; or -1

	members members
	raw     []byte // the object itself; nil for the document
	faults  *faults
	few     [8]objectMember // where members begins
}

// faults collects what is wrong with a document.
type faults struct {
	parts int // of messages, so far
	max   int // of parts; 0 means any number
	form  oldForm
	list  []a2a.FieldViolation
}

// readRequest reads a client's document, within the limits for requests. where names
// the document in errors.
func readRequest(form oldForm, doc []byte, where string, read func(*object) any) (any, error) {
	if len(doc) == 0 {
		doc = noParams
	}
	o, err := readObject(doc, where, a2a.MaxDepth, &faults{max: a2a.MaxParts, form: form})
	if err != nil {
		return nil, err
	}
	req := read(o)
	if err := o.faults.err(); err != nil {
		return nil, err
	}
	return req, nil
}

// readAnswer reads a server's document. The error is InvalidAgentResponse.
func readAnswer[T any](form oldForm, op Op, doc []byte, read func(*object) T) (none T, _ error) {
	o, err := readObject(doc, "result", json.Deepest, &faults{form: form})
	if err != nil {
		return none, unreadable(op, err)
	}
	out := read(o)
	if err := o.faults.err(); err != nil {
		return none, unreadable(op, err)
	}
	return out, nil
}

// readObject opens a document that nests at most most levels deep.
func readObject(doc []byte, where string, most int, f *faults) (*object, error) {
	switch flaw, _ := json.Check(doc, most); {
	case flaw == json.Deep:
		return nil, a2a.Invalid(where, "is nested more than %d levels deep", most)
	case flaw != json.Sound && flaw != json.Encoding:
		return nil, a2a.Invalid(where, "cannot be read as JSON")
	case json.Read(doc).Peek() != '{':
		return nil, a2a.Invalid(where, "must be an object")
	}
	o := &object{index: -1, faults: f}
	o.members = scanMembers(o.few[:0], doc)
	return o, nil
}

func (f *faults) add(field, what string) {
	if len(f.list) < maxErrorItems {
		f.list = append(f.list, a2a.FieldViolation{Field: field, Description: what})
	}
}

// err returns InvalidParams with all that was wrong, or nil.
func (f *faults) err() error {
	if len(f.list) == 0 {
		return nil
	}
	var texts []string
	for _, v := range f.list {
		texts = append(texts, v.Field+": "+v.Description)
	}
	return &a2a.Error{Code: a2a.CodeInvalidParams, Message: clip(strings.Join(texts, "; "), maxErrorText), Fields: f.list}
}

// path returns the path of the object, for errors.
func (o *object) path() string {
	if o.in == nil {
		return ""
	}
	if o.index < 0 {
		return o.in.at(o.name)
	}
	return o.in.at(o.name) + "[" + strconv.Itoa(o.index) + "]"
}

// under joins a path and a field.
func under(path, field string) string {
	if path == "" {
		return field
	}
	return path + "." + field
}

// at returns the path of a member.
func (o *object) at(name string) string { return under(o.path(), name) }

// find returns a member by the first of its names that is there and not null, and also
// returns that name.
func (o *object) find(names []string) (raw stdjson.RawMessage, name string) {
	if o == nil {
		return nil, ""
	}
	for _, name := range names {
		raw := o.members.get(name)
		if absent(raw) && hasCapital(name) {
			raw = o.members.getSnake(name)
		}
		if !absent(raw) {
			return raw, name
		}
	}
	return nil, ""
}

func absent(raw []byte) bool { return len(raw) == 0 || string(raw) == "null" }

func hasCapital(name string) bool {
	for i := range len(name) {
		if name[i] >= 'A' && name[i] <= 'Z' {
			return true
		}
	}
	return false
}

func (o *object) bad(path, what string) { o.faults.add(path, what) }

// has reports whether a member is there and not null.
func (o *object) has(names ...string) bool {
	raw, _ := o.find(names)
	return raw != nil
}

// value reads a member, which parse has to understand; false if it is absent.
func value[T any](o *object, names []string, fault string, parse func(raw []byte) (T, bool)) (v T, there bool) {
	raw, name := o.find(names)
	if raw == nil {
		return v, false
	}
	v, ok := parse(raw)
	if !ok {
		o.bad(o.at(name), fault)
	}
	return v, true
}

// text reads a string; "" if it is absent.
func (o *object) text(names ...string) string {
	s, _ := value(o, names, "expected a string", json.Unquote)
	return s
}

// texts reads an array of strings.
func (o *object) texts(names ...string) []string {
	raw, name := o.find(names)
	if raw == nil {
		return nil
	}
	if raw[0] != '[' {
		o.bad(o.at(name), "expected an array of strings")
		return nil
	}
	list := []string{}
	for i, raw := range scanElements(raw) {
		s, ok := json.Unquote(raw)
		if !ok {
			o.bad(o.at(name)+"["+strconv.Itoa(i)+"]", "expected a string")
		}
		list = append(list, s)
	}
	return list
}

// bool reads true or false; nil if it is absent.
func (o *object) bool(names ...string) *bool {
	v, there := value(o, names, "expected true or false", func(raw []byte) (v, ok bool) {
		v = string(raw) == "true"
		return v, v || string(raw) == "false"
	})
	if !there {
		return nil
	}
	return &v
}

// truth is bool for a member that is false if it is absent.
func (o *object) truth(names ...string) bool {
	v := o.bool(names...)
	return v != nil && *v
}

// int32 reads a whole number, or one written as a string; nil if it is absent.
func (o *object) int32(names ...string) *int32 {
	n, there := value(o, names, "expected a whole number", func(raw []byte) (int32, bool) {
		n, fault := json.Read(raw).Int32()
		return n, fault == nil
	})
	if !there {
		return nil
	}
	return &n
}

// number is int32 for a member that is 0 if it is absent.
func (o *object) number(names ...string) int32 {
	if n := o.int32(names...); n != nil {
		return *n
	}
	return 0
}

// time reads a timestamp: ISO 8601, in UTC if it has no offset.
func (o *object) time(names ...string) time.Time {
	t, _ := value(o, names, "expected a timestamp such as 2026-01-02T03:04:05Z", func(raw []byte) (time.Time, bool) {
		s, _ := json.Unquote(raw)
		return json.ParseTime([]byte(s))
	})
	return t
}

// wrap makes an object of one member, for a decoder of package a2a.
func wrap(name string, raw []byte) []byte {
	return append(append([]byte(`{"`+name+`":`), raw...), '}')
}

// json reads an object unchanged; nil if it is absent.
func (o *object) json(names ...string) a2a.JSON {
	raw, name := o.find(names)
	if raw == nil {
		return nil
	}
	if raw[0] != '{' {
		o.bad(o.at(name), "expected an object")
		return nil
	}
	return a2a.JSON(bytes.Clone(raw))
}

// bytes reads base64, standard or URL-safe, padded or not.
func (o *object) bytes(names ...string) []byte {
	b, _ := value(o, names, "expected a string in base64", func(raw []byte) ([]byte, bool) {
		s, ok := json.Unquote(raw)
		s = strings.TrimRight(s, "=")
		if strings.ContainsAny(s, "-_") {
			s = strings.NewReplacer("-", "+", "_", "/").Replace(s)
		}
		b, err := base64.RawStdEncoding.DecodeString(s)
		return b, ok && err == nil
	})
	return b
}

// object opens a member; nil if it is absent.
func (o *object) object(names ...string) *object {
	raw, name := o.find(names)
	if raw == nil {
		return nil
	}
	return o.open(raw, name, -1)
}

// open opens a member, or, if index is not negative, an element of one.
func (o *object) open(raw stdjson.RawMessage, name string, index int) *object {
	if raw[0] != '{' {
		o.bad((&object{in: o, name: name, index: index}).path(), "expected an object")
		return nil
	}
	in := &object{in: o, name: name, index: index, raw: raw, faults: o.faults}
	in.members = scanMembers(in.few[:0], raw)
	return in
}

// each opens the elements of an array of objects, in order.
func (o *object) each(do func(*object), names ...string) {
	raw, name := o.find(names)
	if raw == nil {
		return
	}
	if raw[0] != '[' {
		o.bad(o.at(name), "expected an array")
		return
	}
	for i, raw := range scanElements(raw) {
		if in := o.open(raw, name, i); in != nil {
			do(in)
		}
	}
}

// part counts a part against the limit for requests, and reports false beyond the
// limit.
func (o *object) part() bool {
	if o.faults.parts++; o.faults.max == 0 || o.faults.parts <= o.faults.max {
		return true
	}
	if o.faults.parts == o.faults.max+1 {
		o.bad(o.path(), "is one part too many: at most "+strconv.Itoa(o.faults.max)+" are taken")
	}
	return false
}

// state reads a task state in any spelling, or its number; unspecified if it is
// absent or "unknown".
func (o *object) state(names ...string) a2a.TaskState {
	state, _ := value(o, names, "is not a task state", func(raw []byte) (a2a.TaskState, bool) {
		if string(raw) == `"unknown"` {
			return a2a.TaskStateUnspecified, true
		}
		var st a2a.TaskStatus
		err := st.UnmarshalJSON(wrap("state", raw))
		return st.State, err == nil
	})
	return state
}

// role reads a role in any spelling, or its number; unspecified if it is absent.
func (o *object) role(names ...string) a2a.Role {
	role, _ := value(o, names, "is not a role: use user or agent", func(raw []byte) (a2a.Role, bool) {
		switch string(raw) { // without the codec, as nearly all are written
		case `"user"`:
			return a2a.RoleUser, true
		case `"agent"`:
			return a2a.RoleAgent, true
		}
		var m a2a.Message
		err := m.UnmarshalJSON(wrap("role", raw))
		return m.Role, err == nil
	})
	return role
}

// unquoteText returns what a JSON string says; "" for another value.
func unquoteText(raw []byte) string {
	s, _ := json.Unquote(raw)
	return s
}
