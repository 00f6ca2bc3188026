package config

import "slices"

// kind is the type of a value.
type kind int

const (
	text    kind = iota // a string of one or more lines
	path                // of a file or a directory, relative to the file's directory
	file                // a path of a file that must exist and be readable
	link                // an http or https URL, without credentials
	address             // a URL or a path; a password in it must not be in the file
	word                // one of a few
	boolean
	integer
	number
	duration // such as 30s
	size     // of bytes, such as 64MiB
	secret   // comes from the environment or from a separate file
	list     // of elem
	dict     // names of the user's choice, each with an elem
	object   // of fields
	anything
)

// field is a row of the table from which everything here is made: the reader, the messages
// about mistakes, the JSON Schema and the reference in docs/config.md.
type field struct {
	name string
	kind kind
	doc  string // a short description in Markdown, without a full stop

	flag   string   // of parley serve; "" for agents' fields
	like   string   // for agents' fields: the flag that can check the value
	negate bool     // true in the file means false for the flag
	yields []string // flags that, given on the command line, override this one, too
	role   bool     // a dict that a flag takes as name=a,b
	empty  string   // the flag's value for an empty list

	def    string   // the default, as written or in words; "": none
	words  []string // the allowed words
	atMost float64  // of numbers; 0: no bound
	least  float64
	need   bool
	loose  bool   // numbers and words may be text as well: they are kept as written
	asIs   bool   // ${…} is not expanded
	keys   string // the meaning of a dict's names, for the reference

	elem   *field
	fields []*field
}

// child returns the field of an object with a name, nil if there is none.
func (f *field) child(name string) *field {
	if i := slices.IndexFunc(f.fields, func(c *field) bool { return c.name == name }); i >= 0 {
		return f.fields[i]
	}
	return nil
}

// names returns the names of an object's fields.
func (f *field) names() (names []string) {
	for _, c := range f.fields {
		names = append(names, c.name)
		if c.besideFile() {
			names = append(names, c.name+fileSuffix)
		}
	}
	return names
}

// fileSuffix turns a secret's name into the name for the file that contains it.
const fileSuffix = "_file"

// besideFile reports whether the value may be in a separate file.
func (f *field) besideFile() bool { return f.kind == secret || f.kind == address }

// The rows are written with these functions, so that they read like a table.

func row(name string, k kind, doc string) *field { return &field{name: name, kind: k, doc: doc} }

func group(name, doc string, fields ...*field) *field {
	return &field{name: name, kind: object, doc: doc, fields: fields}
}

func listOf(name string, elem kind, doc string) *field {
	return &field{name: name, kind: list, doc: doc, elem: &field{kind: elem}}
}

func dictOf(name string, elem kind, keys, doc string) *field {
	return &field{name: name, kind: dict, doc: doc, elem: &field{kind: elem}, keys: keys}
}

func (f *field) as(flag string, yields ...string) *field { f.flag, f.yields = flag, yields; return f }
func (f *field) checkedAs(flag string) *field            { f.like = flag; return f }
func (f *field) or(def string) *field                    { f.def = def; return f }
func (f *field) required() *field                        { f.need = true; return f }
func (f *field) from(least float64) *field               { f.least = least; return f }
func (f *field) to(most float64) *field                  { f.atMost = most; return f }
func (f *field) of(words ...string) *field               { f.words = words; return f }
func (f *field) asWritten() *field                       { f.elem.loose = true; return f }
func (f *field) verbatim() *field                        { f.asIs = true; return f }
func (f *field) not() *field                             { f.negate = true; return f }

// Row is the table's row for one flag of parley serve.
type Row struct {
	Path    string
	Flag    string
	Default string // as in the reference
	Negated bool   // true in the file means false for the flag
}

// Rows returns the settings that have flags.
func Rows() (rows []Row) {
	walk(serverFields, "", func(f *field, path string) {
		if f.flag != "" {
			rows = append(rows, Row{path, f.flag, f.def, f.negate})
		}
	})
	return rows
}
