package main

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/internal/config"
)

// defaultFile is read where nothing else says what to serve.
const defaultFile = "parley.yaml"

// agentFlags are the flags that say what to serve, as a command behind -- does
// and agents of a file do.
var agentFlags = forms

// given are the flags of a command line, one after another: a file is laid below
// them each time it is read.
type given []givenFlag

type givenFlag struct{ name, value string }

// recorder is a flag's value that remembers what it was set to.
type recorder struct {
	pflag.Value
	name string
	line *given
}

func (r *recorder) Set(s string) error {
	if err := r.Value.Set(s); err != nil {
		return err
	}
	*r.line = append(*r.line, givenFlag{r.name, s})
	return nil
}

// record makes the flags of fs remember what the command line says.
func record(fs *pflag.FlagSet) *given {
	line := new(given)
	fs.VisitAll(func(f *pflag.Flag) { f.Value = &recorder{f.Value, f.Name, line} })
	return line
}

func (g given) has(names ...string) bool {
	return slices.ContainsFunc(g, func(f givenFlag) bool { return slices.Contains(names, f.name) && f.value != "false" })
}

// isGiven reports whether a flag is on the command line, whatever it says.
func (g given) isGiven(name string) bool {
	return slices.ContainsFunc(g, func(f givenFlag) bool { return f.name == name })
}

func (g given) value(name string) (value string) {
	for _, f := range g {
		if f.name == name {
			value = f.value
		}
	}
	return value
}

// serveSetup is what a server is to be: its flags, with those of its file, and
// where each comes from.
type serveSetup struct {
	*serveFlags
	set  *pflag.FlagSet
	file *config.File      // nil without one
	from map[string]origin // by flag; those that are not in it have their default

	fromEnv bool // the store is
}

// setUp makes of a command line what a server is to be. command says that there
// is one behind --. It may be called again, when the file has changed.
func (a *app) setUp(line given, command bool) (*serveSetup, error) {
	s := &serveSetup{serveFlags: new(serveFlags), from: map[string]origin{}}
	s.set = s.flagSet()
	for _, g := range line {
		if err := s.set.Set(g.name, g.value); err != nil {
			return nil, usagef("%v", err)
		}
		s.from[g.name] = origin{fromFlag, "flag --" + g.name}
	}
	if err := s.findFile(line, command); err != nil {
		return nil, err
	}
	if s.path != "" {
		if err := s.lay(a, line); err != nil {
			return nil, err
		}
	}
	if a.elsewhere {
		return s, nil // what is there, nobody knows
	}
	var err error
	if s.place, err = s.storeFlags.resolve(a, s.set, s.ephemeral); err != nil {
		return nil, s.inFile(err)
	}
	if err := s.check(s.set, command); err != nil {
		return nil, s.inFile(err)
	}
	return s, nil
}

// flagSet declares all flags of serve.
func (f *serveFlags) flagSet() *pflag.FlagSet {
	fs := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	for _, s := range f.sections() {
		fs.AddFlagSet(s.flags)
	}
	return fs
}

// findFile decides which file there is.
func (s *serveSetup) findFile(line given, command bool) error {
	says := "a command"
	for _, name := range agentFlags {
		if line.isGiven(name) {
			command, says = true, "--"+name
		}
	}
	switch {
	case s.path != "" && command:
		return usagef("--file says which agents there are, and %s says another: leave one out", says)
	case s.path != "" || command || line.isGiven("file"):
		return nil
	}
	if _, err := os.Stat(defaultFile); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if !trusted(defaultFile) {
		return usagef("%s belongs to another user", defaultFile).withHint("name it with --file if you trust it, or begin elsewhere; --file '' reads none")
	}
	s.path = defaultFile
	return nil
}

// lay puts below the flags of the command line what the file says.
func (s *serveSetup) lay(a *app, line given) error {
	o := a.readsFile(line.isGiven)
	var asked []string
	o.Lookup = func(name string) (string, bool) {
		asked = append(asked, name)
		return a.around.lookup(name)
	}
	file, err := config.Load(s.path, o)
	if err != nil {
		return fileFailure(s.path, err)
	}
	s.file = file
	stored := line.value("store")
	if env, _ := a.around.lookup(storeEnv); stored == "" && env != "" && !line.has("ephemeral") {
		stored, s.fromEnv = env, true
	}
	for _, set := range file.Settings {
		at := s.path + ":" + strconv.Itoa(set.Line) + ":" + strconv.Itoa(set.Column)
		switch {
		case line.isGiven(set.Flag):
			continue
		case set.Flag == "data" && strings.Contains(stored, "://"): // the audit log is there all the same
		case slices.Contains([]string{"store", "ephemeral", "data"}, set.Flag) && stored != "", line.has(set.Yields...):
			continue
		}
		s.from[set.Flag] = origin{fromLocal, at}
		if a.elsewhere && set.Source != "" {
			continue
		}
		for _, v := range set.Values {
			if err := s.set.Set(set.Flag, v); err != nil { // it was asked before
				return usagef("%s: %s: %v", at, set.Path, errors.Unwrap(err))
			}
		}
	}
	secrets := file.Secrets()
	a.stderr.hide(secrets...)
	a.withhold(asked, secrets)
	return nil
}

// withhold takes variables with secrets out of the environment, which commands of
// agents inherit: who is to have one says so under env.
func (a *app) withhold(names, secrets []string) {
	for _, name := range names {
		if value, ok := os.LookupEnv(name); ok && slices.Contains(secrets, value) {
			a.keep(name)
			os.Unsetenv(name)
		}
	}
}

// keep keeps what the environment says by some names, which serve takes out of it:
// the command line and a file are read again later.
func (a *app) keep(names ...string) {
	kept := map[string]string{}
	for _, name := range names {
		if value, ok := a.around.lookup(name); ok {
			kept[name] = value
		}
	}
	behind := a.around.lookup
	a.around.lookup = func(name string) (string, bool) {
		if value, ok := kept[name]; ok {
			return value, true
		}
		return behind(name)
	}
}

// readsFile is how a file of this machine is read.
func (a *app) readsFile(isGiven func(string) bool) *config.Options {
	return &config.Options{Lookup: a.around.lookup, Check: newCheck(), Command: runnable, Given: isGiven, Elsewhere: a.elsewhere}
}

// runnable says why a command cannot be run.
func runnable(name, dir string) error {
	var f *failure
	if errors.As(commandFailure(name, dir), &f) {
		return errors.New(f.Message)
	}
	return nil
}

// newCheck returns what flags say of values, without the values.
func newCheck() func(flag, value string) error {
	set := new(serveFlags).flagSet()
	return func(flag, value string) error {
		if flag == "listen" {
			if _, _, err := net.SplitHostPort(value); err != nil {
				return errors.New("must be an address and a port such as 127.0.0.1:7275")
			}
		}
		return set.Lookup(flag).Value.Set(value)
	}
}

// fileFailure is about a file that cannot be used: its mistakes, a line each.
func fileFailure(name string, err error) error {
	var wrong *config.Error
	if !errors.As(err, &wrong) {
		return usagef("%v", err).withHint("parley init writes a file to begin with")
	}
	f := usagef("%s has %s", quote(name), count(len(wrong.Problems)+wrong.More, "mistake"))
	f.Lines = wrong.Lines()
	return f.withHint("parley config validate %s tells the same without serving; docs/config.md has all settings", quote(name))
}

// count is a number of things.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

var flagName = regexp.MustCompile(`--[a-z]+(-[a-z]+)*`)

// inFile makes a failure that is about flags say where they are in the file.
func (s *serveSetup) inFile(err error) error {
	var f *failure
	if s.file == nil || !errors.As(err, &f) {
		return err
	}
	places := map[string]config.Setting{}
	for _, set := range s.file.Settings {
		if s.from[set.Flag].level == fromLocal {
			places["--"+set.Flag] = set
		}
	}
	f.Message = flagName.ReplaceAllStringFunc(f.Message, func(name string) string {
		if set, ok := places[name]; ok {
			return set.Path + " (" + s.from[set.Flag].where + ")"
		}
		return name
	})
	return f
}
