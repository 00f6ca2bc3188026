package config

import (
	"fmt"
	"math"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/flagvalue"
)

// maxBeside caps the file of a secret, in bytes.
const maxBeside = 64 << 10

// expected describes a valid value of the field.
func (f *field) expected() string {
	switch f.kind {
	case path, file:
		return "the name of a file"
	case link:
		return "an http or https URL such as https://agents.example.org"
	case address:
		return "text"
	case word:
		return flagvalue.AnyOf(f.words)
	case boolean:
		return "true or false"
	case integer, number:
		what := map[kind]string{integer: "a whole number", number: "a number"}[f.kind]
		switch {
		case f.atMost > 0 && f.atMost == f.least:
			return fmt.Sprint(f.least)
		case f.atMost > 0:
			return fmt.Sprintf("%s from %v to %v", what, f.least, f.atMost)
		}
		return fmt.Sprintf("%s from %v up", what, f.least)
	case duration:
		if f.least > 0 {
			return fmt.Sprintf("a duration of %v at least", time.Duration(f.least))
		}
		return "a duration with a unit, such as 500ms, 30s, 5m, 24h or 30d"
	case size:
		return "a number of bytes such as 65536, 64KiB, 8MiB or 1GiB"
	case secret:
		return "text such as ${env:NAME}"
	case list:
		return "a list: " + f.elem.listed()
	case dict:
		return "a mapping of names"
	case object:
		return "a mapping with " + strings.Join(f.names(), ", ")
	}
	return "text"
}

// listed shows the notation of a list.
func (f *field) listed() string {
	if f.kind == object {
		return "- " + f.fields[0].name + ": ..."
	}
	return "[..., ...]"
}

// scalar reads a value that is neither a list nor a mapping.
func (r *reader) scalar(v *value, n *yaml.Node) {
	tag := n.ShortTag()
	switch {
	case tag == "!!null":
		r.bad(v, "has no value: it must be %s", v.field.expected())
		return
	case n.Style&yaml.TaggedStyle != 0 && tag != "!!str":
		r.bad(v, "the tag %s means nothing here", cut(n.Tag))
		return
	}
	text, ok := r.expand(v, n)
	if !ok {
		return
	}
	if v.source != "" && tag == "!!str" {
		tag = "" // a variable's value has no YAML type
	}
	v.text = text
	r.meaning(v, tag)
}

// meaning converts a value's text to the field's type. tag is the type by YAML, "" if there is
// none.
func (r *reader) meaning(v *value, tag string) {
	f, s := v.field, v.text
	fail := func() { r.bad(v, "must be %s%s", f.expected(), v.butSays()) }
	switch f.kind {
	case boolean:
		v.parsed = s == "true"
		if s != "true" && s != "false" || tag == "!!str" {
			fail()
		}
	case integer:
		n, err := strconv.ParseInt(s, 10, 64)
		if v.parsed = n; err != nil || tag == "!!str" || n < int64(f.least) || f.atMost > 0 && n > int64(f.atMost) || n > math.MaxInt32 {
			fail()
		}
	case number:
		x, err := strconv.ParseFloat(s, 64)
		if v.parsed = x; err != nil || tag == "!!str" || math.IsNaN(x) || math.IsInf(x, 0) || x < f.least || f.atMost > 0 && x > f.atMost {
			fail()
		}
	case duration:
		d, err := flagvalue.ParseDuration(s)
		if v.parsed = d; err != nil || d < 0 || d < time.Duration(f.least) {
			fail()
		}
	case size:
		n, err := flagvalue.ParseSize(s)
		if v.parsed = n; err != nil || n < int64(f.least) {
			fail()
		}
	case word:
		if !slices.Contains(f.words, s) {
			near := ""
			if w := Similar(s, f.words); w != "" && v.source == "" {
				near = ": did you mean " + w + "?"
			}
			r.bad(v, "must be %s%s%s", f.expected(), v.butSays(), near)
		}
	default:
		switch tag {
		case "!!bool", "!!int", "!!float", "!!timestamp", "!!merge", "!!binary":
			if !f.loose && f.kind != secret {
				r.bad(v, "must be text: write it in quotes, %s", cut(s))
				return
			}
		}
		r.textual(v)
	}
}

// quoted returns the value for a message. A value from a variable or a file is shown as written
// in the file.
func (v *value) quoted(most int) string {
	switch {
	case v.source == "":
		return cutAt(v.text, most)
	case v.written != "":
		return cutAt(v.written, most)
	}
	return "of the file " + v.source
}

// butSays describes the actual value, unless it may be secret.
func (v *value) butSays() string {
	if v.source != "" {
		return ", and " + v.source + " is something else"
	}
	return ", not " + cut(v.text)
}

// textual checks the kinds that are text.
func (r *reader) textual(v *value) {
	switch s := v.text; {
	case s == "" && !v.field.loose:
		r.bad(v, "must not be empty")
	case strings.ContainsRune(s, 0):
		r.bad(v, "has a NUL character in it")
	default:
		r.special(v)
	}
}

func (r *reader) special(v *value) {
	switch v.field.kind {
	case link:
		u := a2a.WebURL(v.text)
		switch {
		case u == nil || u.Fragment != "":
			r.bad(v, "must be %s%s", v.field.expected(), v.butSays())
		case u.User != nil:
			r.bad(v, "must not have a user or a password in it")
		}
	case address:
		u, err := url.Parse(v.text)
		if v.source == "" && strings.Contains(v.text, "://") {
			if err != nil {
				r.bad(v, "is not a URL")
				return
			}
			if _, has := u.User.Password(); has || u.Query().Has("password") || u.Query().Has("sslpassword") {
				r.bad(v, "a password must not be in this file: give ${env:NAME}, or %s%s with the name of a file", lastName(v.path), fileSuffix)
			}
			return
		}
		if v.field.flag == "store" && !strings.Contains(v.text, "://") && v.text != "memory" {
			v.text = r.resolve(v.text)
		}
	case secret:
		// A header may be harmless; a key is not.
		if v.source == "" && v.field.name != "" {
			r.bad(v, "a secret must not be in this file: give ${env:NAME}, or %s%s with the name of a file", lastName(v.path), fileSuffix)
		}
	case path:
		if v.text != "-" && v.text != "none" || v.field.flag != "audit-log" {
			v.text = r.resolve(v.text)
		}
	case file:
		v.text = r.resolve(v.text)
		r.readable(v)
	}
}

func lastName(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// readable reports a file that does not exist or cannot be read.
func (r *reader) readable(v *value) {
	if r.options.Elsewhere {
		return
	}
	st, err := os.Stat(v.text)
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("is not a regular file")
	}
	if err == nil {
		var f *os.File
		if f, err = os.Open(v.text); err == nil {
			_ = f.Close() // it was only read
		}
	}
	if err != nil {
		r.bad(v, "the file %s cannot be read: %v", v.quoted(200), cause(err))
	}
}

// cause returns an error of the system without the file's name, which the reader knows.
func cause(err error) error {
	if p, ok := err.(*os.PathError); ok {
		return p.Err
	}
	return err
}

// readBeside reads a value from the file that n names.
func (r *reader) readBeside(f *field, n *yaml.Node, path string, depth int) *value {
	name := r.read(&field{name: f.name + fileSuffix, kind: file}, n, path, depth)
	v := &value{field: f, path: path, line: name.line, column: name.column, bad: name.bad, source: name.text}
	if v.bad || r.options.Elsewhere {
		v.text = "elsewhere"
		return v
	}
	if st, err := os.Stat(name.text); err == nil && st.Size() > maxBeside {
		r.bad(v, "the file %s is larger than %d KiB", name.quoted(200), maxBeside>>10)
		return v
	}
	doc, err := os.ReadFile(name.text)
	if err != nil {
		r.bad(v, "the file %s cannot be read: %v", name.quoted(200), cause(err))
		return v
	}
	v.text = strings.TrimRight(string(doc), "\r\n")
	v.parts = []string{v.text}
	switch {
	case v.text == "":
		r.bad(v, "the file %s is empty", name.quoted(200))
	case strings.ContainsAny(v.text, "\r\n\x00") || !utf8.ValidString(v.text):
		r.bad(v, "the file %s must have one line of text", name.quoted(200))
	}
	return v
}

// expand replaces ${env:NAME} in a value by environment variables. $${ stands for a literal ${.
func (r *reader) expand(v *value, n *yaml.Node) (string, bool) {
	if v.field.asIs {
		return n.Value, true
	}
	rest, ok := n.Value, true
	var out strings.Builder
	for {
		before, after, found := strings.Cut(rest, "${")
		if !found {
			out.WriteString(rest)
			return out.String(), ok
		}
		if strings.HasSuffix(before, "$") {
			out.WriteString(before + "{")
			rest = after
			continue
		}
		out.WriteString(before)
		inside, behind, closed := strings.Cut(after, "}")
		name, isEnv := strings.CutPrefix(inside, "env:")
		switch {
		case !closed || !isEnv || !variable(name):
			r.bad(v, "%s is not a variable: write ${env:NAME}, or $${ for ${ itself", cut("${"+inside+"}"))
			return "", false
		case r.options.Elsewhere:
			v.source, v.written = "${env:"+name+"}", n.Value
			placeholder(v.field, &out)
		default:
			s, set := r.options.lookup(name)
			switch {
			case !set:
				r.bad(v, "the environment variable %s is not set", name)
				ok = false
			case !utf8.ValidString(s):
				r.bad(v, "the environment variable %s is not text", name)
				ok = false
			}
			out.WriteString(s)
			v.parts = append(v.parts, s)
			v.source, v.written = "${env:"+name+"}", n.Value
		}
		rest = behind
	}
}

// placeholder writes a valid value in place of a variable that is not looked up.
func placeholder(f *field, out *strings.Builder) {
	switch f.kind {
	case boolean:
		out.WriteString("true")
	case integer, number, size:
		fmt.Fprint(out, max(f.least, 1))
	case duration:
		out.WriteString(time.Duration(max(f.least, 1e9)).String())
	case word:
		out.WriteString(f.words[0])
	case link:
		if out.Len() == 0 {
			out.WriteString("https://elsewhere.example")
			return
		}
		out.WriteString("elsewhere")
	default:
		out.WriteString("elsewhere")
	}
}

// variable reports whether name is a valid name of an environment variable.
func variable(name string) bool {
	for i, c := range name {
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != "" && len(name) <= 256
}

// plainValue returns a scalar within a value whose meaning is unknown.
func (r *reader) plainValue(v *value, n *yaml.Node) any {
	var x any
	switch tag := n.ShortTag(); tag {
	case "!!null":
		return nil
	case "!!bool", "!!int", "!!float":
		if err := n.Decode(&x); err == nil {
			if f, ok := x.(float64); !ok || !math.IsNaN(f) && !math.IsInf(f, 0) {
				return x
			}
		}
		r.bad(v, "must be a JSON value, not %s", cut(n.Value))
		return nil
	}
	s, _ := r.expand(v, n)
	return s
}
