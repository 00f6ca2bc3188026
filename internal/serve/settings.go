package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/database"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/plain"
)

// DefaultFile is read if no flag or command says what to serve.
const DefaultFile = "parley.yaml"

// Settings are the flags of a host, merged with those of its file.
type Settings struct {
	*flags
	File *config.File // nil without one

	set     *pflag.FlagSet
	ofFile  map[string]config.Setting // the file's settings in force, by flag
	fromEnv bool                      // the address of the database comes from its variable
}

// Load returns the settings of a command line merged with its file. command says that
// the command line has a command after --. Load may be called again when the file has
// changed.
func (e *Env) Load(line Line, command bool) (*Settings, error) {
	s := &Settings{flags: new(flags), ofFile: map[string]config.Setting{}}
	s.set = s.flagSet()
	for _, g := range line {
		if err := s.set.Set(g.Name, g.Value); err != nil {
			return nil, failure.Usagef("%v", err)
		}
	}
	if err := s.findFile(line, command); err != nil {
		return nil, err
	}
	if s.path != "" {
		if err := s.overlay(e, line); err != nil {
			return nil, err
		}
	}
	if e.Elsewhere {
		return s, nil // the database and the files there are not known
	}
	var err error
	if s.location, err = s.store.Resolve(s.set, e.Lookup, e.Stderr, s.ephemeral); err != nil {
		return nil, s.inFile(err)
	}
	if err := s.check(s.set, command); err != nil {
		return nil, s.inFile(err)
	}
	s.location.AllowAsyncCommit = s.async
	return s, nil
}

// NewFlags declares all flags of serve.
func NewFlags() *pflag.FlagSet { return new(flags).flagSet() }

func (f *flags) flagSet() *pflag.FlagSet {
	fs := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	for _, s := range f.sections() {
		fs.AddFlagSet(s.Flags)
	}
	return fs
}

// Path returns the name of the file; "" without one.
func (s *Settings) Path() string { return s.path }

// findFile sets the path of the file to read; "" for none.
func (s *Settings) findFile(line Line, command bool) error {
	says := "a command"
	for _, name := range Forms {
		if line.Sets(name) {
			command, says = true, "--"+name
		}
	}
	switch {
	case s.path != "" && command:
		return failure.Usagef("--file says which agents there are, and %s says another: leave one out", says)
	case s.path != "" || command || line.Sets("file"):
		return nil
	}
	if _, err := os.Stat(DefaultFile); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if !config.Trusted(DefaultFile) {
		return failure.Usagef("%s belongs to another user", DefaultFile).WithHint("name it with --file if you trust it, or begin elsewhere; --file '' reads none")
	}
	s.path = DefaultFile
	return nil
}

// overlay sets the flags that have a value in the file and none on the command line.
func (s *Settings) overlay(e *Env, line Line) error {
	o := e.fileOptions(line)
	var asked []string
	o.Lookup = func(name string) (string, bool) {
		asked = append(asked, name)
		return e.Lookup(name)
	}
	file, err := config.Load(s.path, o)
	if err != nil {
		return FileFailure(s.path, err)
	}
	s.File = file
	stored := line.Value("store")
	if env, _ := e.Lookup(database.Env); stored == "" && env != "" && !line.turnsOn("ephemeral") {
		stored, s.fromEnv = env, true
	}
	for _, set := range file.Settings {
		switch {
		case line.Sets(set.Flag):
			continue
		case set.Flag == "data" && strings.Contains(stored, "://"): // the audit log is still there
		case slices.Contains([]string{"store", "ephemeral", "data"}, set.Flag) && stored != "", line.turnsOn(set.Yields...):
			continue
		}
		s.ofFile[set.Flag] = set
		if e.Elsewhere && set.Source != "" {
			continue
		}
		for _, v := range set.Values {
			if err := s.set.Set(set.Flag, v); err != nil { // config has already checked the value
				return failure.Usagef("%s: %s: %v", s.place(set.Line, set.Column), set.Path, errors.Unwrap(err))
			}
		}
	}
	secrets := file.Secrets()
	e.Stderr.Hide(secrets...)
	for _, v := range file.Variables() {
		e.Stderr.HideAs(v.Name, v.Value)
	}
	e.withhold(asked, secrets)
	return nil
}

// runnable returns why a command cannot run; nil if it can.
func runnable(name, dir string, ownPath bool) error {
	if f, ok := errors.AsType[*failure.Error](commandFailure(name, dir, ownPath)); ok {
		return errors.New(f.Message)
	}
	return nil
}

// CheckValue returns a function that returns the error of a flag for a value. The error
// does not show the value.
func CheckValue() func(flag, value string) error {
	set := new(flags).flagSet()
	return func(flag, value string) error {
		return set.Lookup(flag).Value.Set(value)
	}
}

// FileFailure returns the failure of a file that cannot be used, with its mistakes, one
// per line.
func FileFailure(name string, err error) error {
	var wrong *config.Error
	if !errors.As(err, &wrong) {
		return failure.Usagef("%v", err).WithHint("parley init writes a file to begin with")
	}
	f := failure.Usagef("%s has %s", plain.Quote(name), plain.Count(len(wrong.Problems)+wrong.More, "mistake"))
	f.Lines, f.Problems = wrong.Lines(), wrong.Problems
	return f.WithHint("parley config validate %s tells the same without serving; docs/config.md has all settings", plain.Quote(name))
}

var flagName = regexp.MustCompile(`--[a-z]+(-[a-z]+)*`)

// inFile replaces the flags in a failure by their places in the file.
func (s *Settings) inFile(err error) error {
	var f *failure.Error
	if s.File == nil || !errors.As(err, &f) {
		return err
	}
	f.Message = flagName.ReplaceAllStringFunc(f.Message, func(name string) string {
		if set, ok := s.ofFile[strings.TrimPrefix(name, "--")]; ok {
			return set.Path + " (" + s.place(set.Line, set.Column) + ")"
		}
		return name
	})
	return f
}

// place returns a position in the file.
func (s *Settings) place(line, column int) string {
	return fmt.Sprintf("%s:%d:%d", s.path, line, column)
}
