package serve

import (
	"slices"

	"github.com/spf13/pflag"
)

// Line is the flags of a command line in their order. They are set again each time the
// settings are loaded.
type Line []Flag

// Flag is one flag of a command line.
type Flag struct{ Name, Value string }

// recorder is a flag's value that remembers the words it was set to. For switches and
// numbers, which have several spellings, it remembers the one that a file accepts.
type recorder struct {
	pflag.Value
	name string
	line *Line
}

// Unwrap returns the value as it was before Record.
func (r *recorder) Unwrap() pflag.Value { return r.Value }

func (r *recorder) Set(s string) error {
	if err := r.Value.Set(s); err != nil {
		return err
	}
	if slices.Contains([]string{"bool", "int", "float64"}, r.Value.Type()) {
		s = r.Value.String()
	}
	*r.line = append(*r.line, Flag{r.name, s})
	return nil
}

// Record returns a line that will hold the flags of fs once fs has parsed a command
// line.
func Record(fs *pflag.FlagSet) *Line {
	line := new(Line)
	fs.VisitAll(func(f *pflag.Flag) { f.Value = &recorder{f.Value, f.Name, line} })
	return line
}

// Sets reports whether a flag is on the line, with any value.
func (l Line) Sets(name string) bool {
	return slices.ContainsFunc(l, func(f Flag) bool { return f.Name == name })
}

// Value returns the last value of a flag; "" if it is not on the line.
func (l Line) Value(name string) (value string) {
	for _, f := range l {
		if f.Name == name {
			value = f.Value
		}
	}
	return value
}

// turnsOn reports whether one of these flags is on the line, with a last value other
// than false.
func (l Line) turnsOn(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return l.Sets(name) && l.Value(name) != "false" })
}
