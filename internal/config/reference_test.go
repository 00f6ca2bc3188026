package config

import (
	"fmt"
	"strings"
)

// reference returns all settings in Markdown, as they are to be in docs/config.md.
func reference() string {
	var b strings.Builder
	b.WriteString("### The server\n")
	var alone []*field
	for _, f := range root.fields {
		if f.kind != object && f.name != "agents" {
			alone = append(alone, f)
		}
	}
	table(&b, "", alone, true)
	for _, f := range root.fields {
		if f.kind == object {
			section(&b, f.name, f, true)
		}
	}
	agents := root.child("agents")
	fmt.Fprintf(&b, "\n### Agents: `agents.NAME`\n\n%s.\n", sentence(agents.doc))
	var plain []*field
	for _, f := range agents.elem.fields {
		if f.kind != object || f.fields == nil { // the others have tables of their own
			plain = append(plain, f)
		}
	}
	table(&b, "", plain, false)
	for _, f := range agentFields {
		if f.kind == object {
			section(&b, f.name, f, false)
		}
	}
	fmt.Fprintf(&b, "\n#### `openai.tools`, each\n\n")
	b.WriteString("What `mcp` has, and `name`, what the model knows it by (required).\n")
	fmt.Fprintf(&b, "\n#### `card.skills`, each\n")
	table(&b, "", skillFields, false)
	section(&b, "egress` of `http`, `openai`, `proxy` and `mcp", egress, false)
	return b.String()
}

// section is an object with its members. The server's groups are tables of their
// own with all that is below them; egress is the same everywhere and comes once.
func section(b *strings.Builder, path string, f *field, flags bool) {
	fmt.Fprintf(b, "\n#### `%s`\n\n%s.\n", path, sentence(f.doc))
	var rows []*field
	for _, c := range f.fields {
		switch {
		case c == egress: // once, at the end
		case c.kind == object:
			for _, d := range c.fields {
				row := *d
				row.name = c.name + "." + d.name
				rows = append(rows, &row)
			}
		default:
			rows = append(rows, c)
		}
	}
	table(b, "", rows, flags)
}

// table lists settings, an item each: the name, the option, what it is, the default.
func table(b *strings.Builder, prefix string, fields []*field, flags bool) {
	b.WriteByte('\n')
	for _, f := range fields {
		fmt.Fprintf(b, "* `%s%s`", prefix, f.name)
		if f.besideFile() {
			fmt.Fprintf(b, ", `%s%s%s`", prefix, f.name, fileSuffix)
		}
		switch {
		case !flags:
		case f.negate:
			fmt.Fprintf(b, ", not `--%s`", f.flag)
		case f.flag != "":
			fmt.Fprintf(b, ", `--%s`", f.flag)
		}
		if kind := f.typeWord(); kind != "" {
			b.WriteString(" (" + kind + ")")
		}
		b.WriteString(": " + f.brief())
		switch {
		case f.need:
			b.WriteString(" (required)")
		case f.zero(): // as for every kind of setting
		case !strings.Contains(f.def, " ") && f.def != "all" && !strings.HasPrefix(f.def, "`"):
			b.WriteString(" (`" + f.def + "`)")
		default:
			b.WriteString(" (" + f.def + ")")
		}
		b.WriteByte('\n')
	}
}

// brief says what a setting is. Help and schema also have the text behind a semicolon; the
// reference has it only if it says what a 0, or a -1, means that is not the default.
func (f *field) brief() string {
	doc, more, _ := strings.Cut(f.doc, "; ")
	if !f.zero() && (strings.HasPrefix(more, "0 ") || strings.HasPrefix(more, "-1 ")) {
		doc += "; " + more
	}
	return doc
}

// zero reports whether a setting is empty, false or 0 where it is left out.
func (f *field) zero() bool {
	return f.def == "" || f.def == "false" || f.def == "0" || f.def == "0s"
}

// typeWord says how a value is written where name, text and default do not: the words to
// choose from, and what has several values. The schema has every type.
func (f *field) typeWord() string {
	switch f.kind {
	case word:
		return "`" + strings.Join(f.words, "`, `") + "`"
	case list:
		if f.elem.kind == word {
			return "list of " + f.elem.typeWord()
		}
		return "list"
	case dict:
		return "by " + f.keys
	}
	return ""
}
