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
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/plain"
)

// notSettings are flags that must be on the command line: what they do is the
// command, not configuration (a2a-cli §7.2, §11.3).
var notSettings = map[string]bool{"stream": true, "help": true, "version": true}

// secrets are flags whose values are never shown.
var secrets = map[string]bool{"bearer": true, "api-key": true, "basic": true, "svc-param": true, "egress-proxy": true}

// lists are flags that may be repeated; a variable separates by commas.
var lists = map[string]bool{"svc-param": true, "extension": true, "transport": true, "card-trust": true}

// Where a setting comes from; the lower the stronger.
const (
	fromFlag = iota
	fromEnv
	fromLocal
	fromGlobal
	fromDefault
)

// origin says where the value of a setting comes from.
type origin struct {
	level int
	where string // "flag --output", "environment variable A2ACLI_OUTPUT", a file's name, "default"
}

// surroundings are what configuration is read from; tests make their own.
type surroundings struct {
	lookup func(string) (string, bool) // environment variables
	dir    string                      // where the search for a local .env begins
	global string                      // the global .env; "" if there is no home
}

func systemSurroundings() surroundings {
	s := surroundings{lookup: os.LookupEnv}
	s.dir, _ = os.Getwd() // "" finds no file, which is true of a directory that is gone
	if home, err := os.UserHomeDir(); err == nil {
		s.global = filepath.Join(home, ".config", "a2a-cli", ".env")
	}
	return s
}

// settings are the sources of configuration below the flags, and which of them
// decided.
type settings struct {
	around        surroundings
	local, global *envFile // nil if there is none
	from          map[string]origin
}

// loadSettings finds and reads the files. named is the value of --config.
// Warnings are about files that should not be as they are.
func loadSettings(around surroundings, named string) (*settings, []string, error) {
	s := &settings{around: around, from: map[string]origin{}}
	var warnings []string
	read := func(path string) (*envFile, error) {
		f, err := readEnvFile(path)
		if err == nil {
			warnings = append(warnings, exposed(f)...)
		}
		return f, err
	}

	var err error
	if named == "" {
		named, _ = around.lookup(envName("config"))
	}
	switch {
	case named != "":
		s.local, err = read(named)
		if err != nil {
			return nil, nil, failure.Usagef("configuration file: %v", err)
		}
	case around.dir != "":
		path := findUp(around.dir, ".env")
		if path == "" || path == around.global {
			break
		}
		if !config.Trusted(path) {
			warnings = append(warnings, fmt.Sprintf("%s belongs to another user and was not read; name it with --config if you trust it", path))
			break
		}
		if s.local, err = read(path); err != nil {
			return nil, nil, failure.Usagef("configuration file: %v", err)
		}
	}
	if around.global != "" {
		s.global, err = read(around.global)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, failure.Usagef("configuration file: %v", err)
		}
	}
	return s, warnings, nil
}

// exposed warns of a file that holds secrets and that others may read.
func exposed(f *envFile) []string {
	for name := range secrets {
		if f.values[envName(name)] == "" {
			continue
		}
		if st, err := os.Stat(f.path); err == nil && st.Mode().Perm()&0o077 != 0 && config.PermissionsMatter {
			return []string{fmt.Sprintf("%s holds credentials and other users can read it: chmod 600 %s", f.path, plain.Quote(f.path))}
		}
	}
	return nil
}

// envName returns the variable of a flag: --agent-card is A2ACLI_AGENT_CARD.
func envName(flag string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// apply gives every flag that is not on the command line the value of the
// strongest source that has one. A variable that is there but empty means the
// default, whatever weaker sources say.
func (s *settings) apply(fs *pflag.FlagSet) error {
	var err error
	fs.VisitAll(func(f *pflag.Flag) {
		if err == nil && isSetting(f) {
			err = s.applyTo(f)
		}
	})
	return err
}

// isSetting reports whether f is one of the shared flags, which the
// environment knows, and not one of a single command.
func isSetting(f *pflag.Flag) bool { return f.Annotations[settingMark] != nil }

const settingMark = "setting"

func (s *settings) applyTo(f *pflag.Flag) error {
	if f.Changed {
		s.from[f.Name] = origin{fromFlag, "flag --" + f.Name}
		return nil
	}
	if f.Name == "config" { // naming the file is the one thing no file can do
		s.from[f.Name] = origin{fromDefault, "default"}
		if path, ok := s.around.lookup(envName(f.Name)); ok && path != "" {
			s.from[f.Name] = origin{fromEnv, "environment variable " + envName(f.Name)}
			return f.Value.Set(path)
		}
		return nil
	}
	value, from := s.find(envName(f.Name))
	s.from[f.Name] = from
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
			return failure.Usagef("%s, from %s: %q: %v", envName(f.Name), from.where, v, err)
		}
	}
	return nil
}

func (s *settings) find(name string) (string, origin) {
	if v, ok := s.around.lookup(name); ok {
		return v, origin{fromEnv, "environment variable " + name}
	}
	if s.local != nil {
		if v, ok := s.local.values[name]; ok {
			return v, origin{fromLocal, s.local.path}
		}
	}
	if s.global != nil {
		if v, ok := s.global.values[name]; ok {
			return v, origin{fromGlobal, s.global.path}
		}
	}
	return "", origin{fromDefault, "default"}
}
