package config

import "slices"

// kind is what a value can be.
type kind int

const (
	text    kind = iota // a string, of one line or many
	path                // of a file or a directory, from the file's directory on
	file                // a path of what must be there to be read
	link                // an http or https URL, without credentials
	address             // a URL or a path, of which the password must not be in the file
	word                // one of a few
	boolean
	integer
	number
	duration // such as 30s
	size     // of bytes, such as 64MiB
	secret   // comes from the environment or from a file beside
	list     // of elem
	dict     // names of one's own, to elem
	object   // of fields
	anything
)

// field is a row of the table that everything here comes from: what is read, what
// is said of mistakes, the JSON Schema and the reference in docs/config.md.
type field struct {
	name string
	kind kind
	doc  string // what it is, in a few words without a full stop; in Markdown

	flag   string   // of parley serve; "" of what is an agent's
	like   string   // of an agent's: the flag that knows what its values can be
	negate bool     // true in the file is false of the flag
	yields []string // flags that, given on the command line, take this one's place, too
	role   bool     // a dict that a flag takes as name=a,b
	empty  string   // what the flag is told of an empty list

	def    string   // the default, as it is written or in words; "": none
	words  []string // that a word can be
	atMost float64  // of numbers; 0: no bound
	least  float64
	need   bool
	loose  bool   // numbers and words are text as well: they are kept as they are written
	asIs   bool   // ${…} is no variable in it
	keys   string // what the names of a dict are, in the reference

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

// names are those of an object's fields.
func (f *field) names() (names []string) {
	for _, c := range f.fields {
		names = append(names, c.name)
		if c.besideFile() {
			names = append(names, c.name+fileSuffix)
		}
	}
	return names
}

// fileSuffix makes of a secret's name the name of the file it is in.
const fileSuffix = "_file"

// besideFile reports whether the value may be in a file of its own.
func (f *field) besideFile() bool { return f.kind == secret || f.kind == address }

// The rows are written with these, so that a table reads as one.

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

// Row is what the table says of one flag of parley serve.
type Row struct {
	Path    string
	Flag    string
	Default string // as the reference has it
	Negated bool   // true in the file is false of the flag
}

// Rows are the settings that have flags.
func Rows() (rows []Row) {
	walk(serverFields, "", func(f *field, path string) {
		if f.flag != "" {
			rows = append(rows, Row{path, f.flag, f.def, f.negate})
		}
	})
	return rows
}
