package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/contexts"
	"github.com/parley-a2a/parley/internal/dotenv"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/plain"
)

// notSettings are flags that must be on the command line: they determine the command and are no
// configuration (a2a-cli §7.2, §11.3).
var notSettings = map[string]bool{"stream": true, "help": true, "version": true}

// secrets are flags whose values are never shown.
var secrets = map[string]bool{"bearer": true, "api-key": true, "basic": true, "svc-param": true, "egress-proxy": true, "client-secret": true}

// lists are flags that may be repeated; in a variable, commas separate the values.
var lists = map[string]bool{"svc-param": true, "extension": true, "transport": true, "card-trust": true}

// The sources of a setting; lower values are stronger.
const (
	fromFlag = iota
	fromEnv
	fromLocal
	fromGlobal
	fromContext
	fromDefault
)

// origin says where the value of a setting comes from.
type origin struct {
	level int
	where string // "flag --output", "environment variable A2ACLI_OUTPUT", a file's name, "default"
}

var byDefault = origin{fromDefault, "default"}

// surroundings are the sources of configuration; tests make their own.
type surroundings struct {
	lookup   func(string) (string, bool) // environment variables
	dir      string                      // where the search for a local .env begins
	global   string                      // the global .env; "" if there is no home
	contexts contexts.Dir
	itself   string // the command that starts this program
}

func systemSurroundings() surroundings {
	s := surroundings{lookup: os.LookupEnv, itself: itself()}
	s.dir, _ = os.Getwd() // "" finds no file, which is right for a deleted directory
	if home, err := os.UserHomeDir(); err == nil {
		s.global = filepath.Join(home, ".config", "a2a-cli", ".env")
		s.contexts = contexts.Dir(filepath.Join(home, ".config", "parley", "contexts"))
	}
	return s
}

// settings are the sources of configuration below the flags, and the source that decided each
// setting.
type settings struct {
	around        surroundings
	local, global *dotenv.File // nil if there is none
	from          map[string]origin
	loaded        map[string]string // config and context, which say where other settings are

	context   contexts.Context // nil if there is none
	fromFlags bool             // the command line names it: it is stronger than variables and files
	foreign   bool             // the agent is not the context's, so the context's credentials are not for it
	broken    error            // why there is no context, though one is in use; commands without an agent ignore it
}

// loadSettings finds and reads the files. named is the value of --config, and context that of
// --context. Warnings are about files that others could read or write.
func loadSettings(around surroundings, named, context string) (*settings, []string, error) {
	s := &settings{
		around: around,
		loaded: map[string]string{"config": "", "context": ""}, from: map[string]origin{"config": byDefault, "context": byDefault},
	}
	var warnings []string
	read := func(path string) (*dotenv.File, error) {
		f, err := dotenv.Read(path)
		if err != nil {
			return nil, failure.New(failure.CodeUsage, "configuration file: "+err.Error(), err)
		}
		warnings = append(warnings, exposed(f)...)
		return f, nil
	}

	if named == "" {
		if named, _ = around.lookup(envName("config")); named != "" {
			s.loaded["config"], s.from["config"] = named, origin{fromEnv, "environment variable " + envName("config")}
		}
	}
	if named == "" && around.dir != "" {
		if named = dotenv.FindUp(around.dir, ".env"); named == around.global {
			named = ""
		}
		if named != "" && !config.Trusted(named) {
			warnings = append(warnings, fmt.Sprintf("%s belongs to another user and was not read; name it with --config if you trust it", named))
			named = ""
		}
	}
	var err error
	if named != "" {
		if s.local, err = read(named); err != nil {
			return nil, nil, err
		}
	}
	if around.global != "" {
		if s.global, err = read(around.global); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, err
		}
	}
	return s, warnings, s.loadContext(context)
}

// loadContext reads the context that the command line, a variable or a file names, or the one
// in use.
func (s *settings) loadContext(name string) (err error) {
	var from origin
	s.fromFlags = name != ""
	if name == "" {
		name, from = s.find("context")
	}
	if name == "" {
		name, err = s.around.contexts.Current()
		from = origin{fromContext, "parley context use"}
	}
	if err == nil && name != "" {
		if s.context, err = s.around.contexts.Load(name); err == nil {
			s.loaded["context"], s.from["context"] = name, from
		}
	}
	if err != nil && !s.fromFlags {
		s.broken, err = err, nil
	}
	return err
}

// exposed warns if a file holds secrets and other users may read it.
func exposed(f *dotenv.File) []string {
	for name := range secrets {
		if f.Values[envName(name)] == "" {
			continue
		}
		if st, err := os.Stat(f.Path); err == nil && st.Mode().Perm()&0o077 != 0 && config.PermissionsMatter {
			return []string{fmt.Sprintf("%s holds credentials and other users can read it: chmod 600 %s", f.Path, plain.Quote(f.Path))}
		}
	}
	return nil
}

// envName returns the variable of a flag: --agent-card is A2ACLI_AGENT_CARD.
func envName(flag string) string {
	return dotenv.Prefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// apply gives every flag that is not on the command line the value of the strongest source that
// has one. A variable that is set but empty means the default, and overrides weaker sources.
func (s *settings) apply(fs *pflag.FlagSet) error {
	var err error
	if agent := fs.Lookup("agent-card"); agent != nil {
		value, from := s.find(agent.Name)
		if s.broken != nil && !agent.Changed && value == "" {
			return s.broken
		}
		s.foreign = agent.Changed || s.context[agent.Name] == "" || from.where != s.contextOrigin()
	}
	fs.VisitAll(func(f *pflag.Flag) {
		if err == nil && isSetting(f) {
			err = s.applyTo(f)
		}
	})
	return err
}

// isSetting reports whether f is a shared flag, which the environment can set, and not a flag
// of a single command.
func isSetting(f *pflag.Flag) bool { return f.Annotations[settingMark] != nil }

const settingMark = "setting"

func (s *settings) applyTo(f *pflag.Flag) error {
	if f.Changed {
		s.from[f.Name] = origin{fromFlag, "flag --" + f.Name}
		return nil
	}
	value, loaded := s.loaded[f.Name]
	if !loaded {
		value, s.from[f.Name] = s.find(f.Name)
	}
	if value == "" {
		return nil
	}
	values := []string{value}
	if lists[f.Name] {
		values = strings.Split(value, ",")
	}
	for _, v := range values {
		if err := f.Value.Set(v); err != nil {
			if secrets[f.Name] {
				v = plain.Redacted
			}
			return failure.Usagef("%s, from %s: %q: %v", envName(f.Name), s.from[f.Name].where, v, err)
		}
	}
	return nil
}

// contextOrigin is the source name of the context's settings.
func (s *settings) contextOrigin() string { return "context " + s.loaded["context"] }

// find returns the value of a flag below the command line.
func (s *settings) find(flag string) (string, origin) {
	ofContext, known := s.context[flag]
	known = known && (!s.foreign || flag == "agent-card")
	if known && s.fromFlags {
		return ofContext, origin{fromFlag, s.contextOrigin()}
	}
	name := envName(flag)
	if v, ok := s.around.lookup(name); ok {
		return v, origin{fromEnv, "environment variable " + name}
	}
	for i, f := range []*dotenv.File{s.local, s.global} {
		if f != nil {
			if v, ok := f.Values[name]; ok {
				return v, origin{fromLocal + i, f.Path}
			}
		}
	}
	if known {
		return ofContext, origin{fromContext, s.contextOrigin()}
	}
	return "", byDefault
}

// prefer decides between two settings that exclude each other: the stronger source wins; sources
// of equal strength are an error.
func (s *settings) prefer(one, other string) (first bool, err error) {
	a, b := s.from[one], s.from[other]
	if a.level == b.level {
		return false, failure.Usagef("--%s (%s) and --%s (%s) exclude each other", one, a.where, other, b.where)
	}
	return a.level < b.level, nil
}
