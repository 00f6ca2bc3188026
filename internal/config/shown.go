package config

import (
	"encoding/json"
	"iter"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Redacted stands for a value that must not be shown.
const Redacted = "[redacted]"

// Shown is a value in a form that may be shown, and its place in the file.
type Shown struct {
	Path         string
	Value        string
	Line, Column int
}

// Shown returns the file's values for agents, in its order. Values from variables and files are
// shown as written; values that may be secret are not shown.
func (f *File) Shown() (all []Shown) {
	var visit func(v *value, private bool)
	visit = func(v *value, private bool) {
		private = private || v.field.kind == dict && v.field.name == "env"
		switch v.field.kind {
		case object, dict:
			for _, m := range v.members {
				visit(m.value, private)
			}
			return
		case list:
			if v.field.elem.kind == object {
				for _, item := range v.items {
					visit(item, private)
				}
				return
			}
		}
		all = append(all, Shown{v.path, v.shown(private), v.line, v.column})
	}
	visit(f.tree.member("agents"), false)
	return all
}

// leastSecret is the minimum length of a secret, in bytes: hiding shorter ones would garble the
// whole output.
const leastSecret = 4

// Secrets returns the values that no log may contain: credentials, and the text that
// environment variables and files add to values that may contain one.
func (f *File) Secrets() (all []string) {
	add := func(secrets ...string) {
		for _, s := range secrets {
			if len(s) >= leastSecret {
				all = append(all, s)
			}
		}
	}
	for v, private := range f.tree.all() {
		if v.field.kind == secret {
			add(v.text)
			if _, token, ok := strings.Cut(v.text, " "); ok { // Bearer token
				add(token)
			}
		}
		if v.field.kind == secret || v.field.kind == address || private {
			add(v.parts...)
		}
		if v.field.kind == address && v.source != "" {
			add(passwords(v.text)...)
		}
	}
	return all
}

// all yields v and all values below it, in the order of the file; private says that a value is
// in env, or that its meaning is unknown.
func (v *value) all() iter.Seq2[*value, bool] {
	return func(yield func(*value, bool) bool) { v.visit(false, yield) }
}

func (v *value) visit(private bool, yield func(*value, bool) bool) bool {
	private = private || v.field.kind == dict && (v.field.name == "env" || v.field.elem.kind == anything)
	if !yield(v, private) {
		return false
	}
	for _, m := range v.members {
		if !m.value.visit(private, yield) {
			return false
		}
	}
	for _, item := range v.items {
		if !item.visit(private, yield) {
			return false
		}
	}
	return true
}

// passwords returns the passwords in an address.
func passwords(address string) []string {
	u, err := url.Parse(address)
	if err != nil {
		return []string{address}
	}
	own, _ := u.User.Password()
	q := u.Query()
	return slices.DeleteFunc([]string{own, q.Get("password"), q.Get("sslpassword")}, func(s string) bool { return s == "" })
}

// variables matches references to environment variables in a value.
var variables = regexp.MustCompile(`\$\{env:[^}]*\}`)

// Variable is the value of an environment variable that a setting uses.
type Variable struct {
	Name  string // as written: ${env:NAME}
	Value string
}

// leastValue is the minimum length of a hidden value, in bytes, if nothing says that it is a
// secret: words such as http occur in many messages.
const leastValue = 8

// Variables returns the values that no message may contain: texts from the environment, which
// may be secrets in any setting.
func (f *File) Variables() (all []Variable) {
	for v := range f.tree.all() {
		switch v.field.kind {
		case boolean, integer, number, duration, size, word:
			continue
		}
		if v.written == "" {
			continue
		}
		for _, s := range append(v.parts, v.text) {
			if len(s) >= leastValue {
				all = append(all, Variable{v.source, s})
			}
		}
	}
	return all
}

// shown formats a value on one line, without parts that may be secret.
func (v *value) shown(private bool) string {
	switch {
	case v.field.kind == list:
		items := make([]string, len(v.items))
		for i, item := range v.items {
			items[i] = item.shown(private)
		}
		return strings.Join(items, ", ")
	case v.source != "" && v.written == "":
		return Redacted + " of the file " + v.source
	case v.field.kind == address && len(passwords(variables.ReplaceAllString(v.written, ""))) > 0: // a password in addition to a variable
		return Redacted + " of " + v.source
	case v.source != "" && v.field.kind != secret && v.field.kind != anything && !private:
		return v.written
	case v.source != "":
		return Redacted + " of " + v.source
	case v.field.kind == secret || private:
		return Redacted
	case v.field.kind == anything:
		doc, err := json.Marshal(v.parsed)
		if err != nil {
			return Redacted // no value that was read
		}
		return string(doc)
	}
	return v.text
}
