package main

import (
	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/internal/output"
	"github.com/parley-a2a/parley/internal/plain"
)

// sameAgent are the flags that a suggested command must repeat if they were given.
var sameAgent = []string{"agent-card", "context", "config", "transport", "a2a-version", "ca-file", "insecure"}

// newCommands returns suggested commands that reach the agent as these flags do.
func newCommands(parley string, fs *pflag.FlagSet) output.Commands {
	c := output.Commands{Parley: parley}
	for _, name := range sameAgent {
		f := fs.Lookup(name)
		if f == nil || !f.Changed {
			continue
		}
		switch {
		case f.Value.Type() == "bool":
			c.Same = append(c.Same, "--"+name)
		case f.Shorthand != "":
			c.Same = append(c.Same, "-"+f.Shorthand, plain.Quote(shown(f)))
		default:
			c.Same = append(c.Same, "--"+name, plain.Quote(shown(f)))
		}
	}
	return c
}
