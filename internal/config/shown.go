package config

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Redacted stands for what must not be shown.
const Redacted = "[redacted]"

// Shown is a value as it may be shown, and where it is.
type Shown struct {
	Path         string
	Value        string
	Line, Column int
}

// Shown are the values that the file has about agents, in its order: what comes
// from elsewhere as it is written, what may be secret not at all.
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

// leastSecret is what a secret has at least, in bytes: hiding less would garble
// all that is written.
const leastSecret = 4

// Secrets are what must be in no log: credentials, and what variables of the
// environment and files add to values that may have one in them.
func (f *File) Secrets() (all []string) {
	add := func(secrets ...string) {
		for _, s := range secrets {
			if len(s) >= leastSecret {
				all = append(all, s)
			}
		}
	}
	f.tree.each(false, func(v *value, private bool) {
		switch {
		case v.field.kind == secret:
			add(v.text)
			if _, token, ok := strings.Cut(v.text, " "); ok { // Bearer token
				add(token)
			}
			fallthrough
		case private || v.field.kind == address:
			add(v.parts...)
			if v.source != "" && v.field.kind == address {
				add(passwords(v.text)...)
			}
		}
	})
	return all
}

// each calls f with v and all below it; private says that it is of env, or nobody here
// knows what it is.
func (v *value) each(private bool, f func(v *value, private bool)) {
	private = private || v.field.kind == dict && (v.field.name == "env" || v.field.elem.kind == anything)
	f(v, private)
	for _, m := range v.members {
		m.value.each(private, f)
	}
	for _, item := range v.items {
		item.each(private, f)
	}
}

// passwords are those in an address.
func passwords(address string) []string {
	u, err := url.Parse(address)
	if err != nil {
		return []string{address}
	}
	own, _ := u.User.Password()
	q := u.Query()
	return slices.DeleteFunc([]string{own, q.Get("password"), q.Get("sslpassword")}, func(s string) bool { return s == "" })
}

// variables are those of the environment in a value.
var variables = regexp.MustCompile(`\$\{env:[^}]*\}`)

// Variable is a value that a variable of the environment gives to a setting.
type Variable struct {
	Name  string // as it is written: ${env:NAME}
	Value string
}

// leastValue is what a value has at least that is not shown, in bytes, where nothing
// says that it is a secret: words such as http are in many messages.
const leastValue = 8

// Variables are the values that must be in no message: texts from the environment,
// which may be secrets wherever they stand.
func (f *File) Variables() (all []Variable) {
	f.tree.each(false, func(v *value, _ bool) {
		switch v.field.kind {
		case boolean, integer, number, duration, size, word:
		default:
			if v.written != "" {
				for _, s := range append(v.parts, v.text) {
					if len(s) >= leastValue {
						all = append(all, Variable{v.source, s})
					}
				}
			}
		}
	})
	return all
}

// shown is a value on one line, without what may be secret.
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
	case v.field.kind == address && len(passwords(variables.ReplaceAllString(v.written, ""))) > 0: // beside a variable
		return Redacted + " of " + v.source
	case v.source != "" && v.field.kind != secret && v.field.kind != anything && !private:
		return v.written
	case v.source != "":
		return Redacted + " of " + v.source
	case v.field.kind == secret || private:
		return Redacted
	case v.field.kind == anything:
		doc, err := json.Marshal(v.any)
		if err != nil {
			return Redacted // nothing that is read is so
		}
		return string(doc)
	}
	return v.text
}
