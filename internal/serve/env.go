package serve

import (
	"os"
	"slices"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/plain"
)

// UpstreamEnv is the variable with the token for the address of --http, --openai,
// --proxy or --mcp. It is no flag, because every user of the machine can read command
// lines.
const UpstreamEnv = "PARLEY_UPSTREAM_TOKEN"

// Env is the process around a host. It is used by one goroutine at a time.
type Env struct {
	Lookup    func(name string) (value string, ok bool) // reads a variable
	Stderr    *plain.Writer                             // gets notes and the log
	Terminal  bool                                      // Stderr is a terminal
	Migrating func(done, of int)                        // see database.Location; may be nil
	Program   string                                    // the command that starts this program, for first steps
	Version   string                                    // of this program, for the audit log
	Demo      agent.Agent                               // replaces the demo agent, if not nil
	Elsewhere bool                                      // the settings are for another machine: do not look for the variables and files that they name
}

// withhold removes variables with secrets from the environment, which commands of
// agents inherit: an agent that needs one names it under env.
func (e *Env) withhold(names, secrets []string) {
	for _, name := range names {
		if value, ok := os.LookupEnv(name); ok && slices.Contains(secrets, value) {
			e.keep(name)
			os.Unsetenv(name)
		}
	}
}

// keep remembers the values of variables that the host removes from the environment,
// because the command line and the file are read again later.
func (e *Env) keep(names ...string) {
	kept := map[string]string{}
	for _, name := range names {
		if value, ok := e.Lookup(name); ok {
			kept[name] = value
		}
	}
	behind := e.Lookup
	e.Lookup = func(name string) (string, bool) {
		if value, ok := kept[name]; ok {
			return value, true
		}
		return behind(name)
	}
}

// fileOptions returns the options for reading a file of this machine.
func (e *Env) fileOptions(line Line) *config.Options {
	return &config.Options{Lookup: e.Lookup, Check: CheckValue(), Command: runnable, Given: line.Sets, Elsewhere: e.Elsewhere}
}
