package output

import (
	"cmp"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/plain"
)

// Commands makes command lines to paste: how to continue after a task or a failure. They reach
// the agent in the same way as this invocation.
type Commands struct {
	Parley string   // the command that starts this program; "" is parley
	Same   []string // quoted flags for the same agent and options; never credentials
}

// Line returns parley, the verb, the flags for the same agent, and rest. Words of rest that
// come from elsewhere must already be quoted.
func (c Commands) Line(verb string, rest ...string) string {
	return strings.Join(append(append([]string{cmp.Or(c.Parley, "parley"), verb}, c.Same...), rest...), " ")
}

// Reply returns the command that answers a task that waits for its client.
func (c Commands) Reply(t *a2a.Task) string {
	return c.Line("send", "--task-id", plain.Quote(t.ID), `"<reply>"`)
}

// Follow returns the command that waits for a task.
func (c Commands) Follow(id string) string { return c.Line("task get", "--wait", Argument(id)) }

// Get returns the command that shows a task.
func (c Commands) Get(id string) string { return c.Line("task get", Argument(id)) }

// Argument is plain.Quote for a positional argument, which must not be read as a flag.
func Argument(s string) string {
	if strings.HasPrefix(s, "-") {
		return "-- " + plain.Quote(s)
	}
	return plain.Quote(s)
}
