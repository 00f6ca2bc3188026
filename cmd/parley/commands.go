package main

import (
	"cmp"
	"strings"

	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/plain"
)

// commands words command lines to paste: how to go on from a task, or from a
// failure. They reach the agent the same way as this invocation does.
type commands struct {
	parley string   // the command that starts this program
	same   []string // flags that say which agent and how; never credentials
}

// sameAgent are the flags a further command needs, too, where they were given.
var sameAgent = []string{"agent-card", "context", "config", "transport", "a2a-version", "ca-file", "insecure"}

func newCommands(parley string, fs *pflag.FlagSet) commands {
	c := commands{parley: parley}
	for _, name := range sameAgent {
		f := fs.Lookup(name)
		if f == nil || !f.Changed {
			continue
		}
		switch {
		case f.Value.Type() == "bool":
			c.same = append(c.same, "--"+name)
		case f.Shorthand != "":
			c.same = append(c.same, "-"+f.Shorthand, plain.Quote(shown(f)))
		default:
			c.same = append(c.same, "--"+name, plain.Quote(shown(f)))
		}
	}
	return c
}

// line returns parley, the verb, what leads to the same agent and the rest.
// The words of rest must be quoted already where they are not ours.
func (c commands) line(verb string, rest ...string) string {
	return strings.Join(append(append([]string{cmp.Or(c.parley, "parley"), verb}, c.same...), rest...), " ")
}

// reply returns the command that answers a task which waits for its client.
func (c commands) reply(t *a2a.Task) string {
	return c.line("send", "--task-id", plain.Quote(t.ID), `"<reply>"`)
}

// follow returns the command that waits for a task.
func (c commands) follow(id string) string { return c.line("task get", "--wait", argument(id)) }

// get returns the command that shows a task.
func (c commands) get(id string) string { return c.line("task get", argument(id)) }

// argument is plain.Quote for a positional argument, which must not pass for a flag.
func argument(s string) string {
	if strings.HasPrefix(s, "-") {
		return "-- " + plain.Quote(s)
	}
	return plain.Quote(s)
}
