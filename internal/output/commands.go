package output

import (
	"cmp"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/plain"
)

// Commands words command lines to paste: how to go on from a task, or from a
// failure. They reach the agent the same way as this invocation does.
type Commands struct {
	Parley string   // the command that starts this program; "" is parley
	Same   []string // flags that say which agent and how, quoted; never credentials
}

// Line returns parley, the verb, what leads to the same agent and the rest.
// The words of rest must be quoted already where they are not ours.
func (c Commands) Line(verb string, rest ...string) string {
	return strings.Join(append(append([]string{cmp.Or(c.Parley, "parley"), verb}, c.Same...), rest...), " ")
}

// Reply returns the command that answers a task which waits for its client.
func (c Commands) Reply(t *a2a.Task) string {
	return c.Line("send", "--task-id", plain.Quote(t.ID), `"<reply>"`)
}

// Follow returns the command that waits for a task.
func (c Commands) Follow(id string) string { return c.Line("task get", "--wait", Argument(id)) }

// Get returns the command that shows a task.
func (c Commands) Get(id string) string { return c.Line("task get", Argument(id)) }

// Argument is plain.Quote for a positional Argument, which must not pass for a flag.
func Argument(s string) string {
	if strings.HasPrefix(s, "-") {
		return "-- " + plain.Quote(s)
	}
	return plain.Quote(s)
}
