package console

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// maxTokenEntries is the maximum length of a log that is read for a row of a list. For a longer
// one, only its page shows the tokens.
const maxTokenEntries = 2000

// counted is the tokens of a task, in words; nil: not counted yet.
type counted struct{ words atomic.Pointer[string] }

// tokens returns how many tokens the models of a task used, as of its last change; "" if none
// or unknown. The log is read once for all viewers.
func (c *Console) tokens(r *request, a *Agent, id, owner string, changed time.Time) string {
	if !a.Model {
		return ""
	}
	x := c.counted.get(fmt.Sprintf("%s %s %s %d", a.Name, id, owner, changed.UnixNano()))
	if words := x.words.Load(); words != nil {
		return *words
	}
	var l *lineup
	n := 0
	for batch, err := range c.opts.Log(r.ctx, a.Name, id, 0, false) {
		if err != nil {
			return "" // to be retried
		}
		if n += len(batch); n > maxTokenEntries {
			break
		}
		for _, e := range batch {
			if l == nil {
				l = newLineup(e.Time)
			}
			if e.Kind == a2a.EntryStep {
				l.add(e)
			}
		}
	}
	words := ""
	if l != nil && n <= maxTokenEntries && l.in+l.out > 0 {
		words = fmt.Sprintf("%d in, %d out", l.in, l.out)
	}
	x.words.Store(&words)
	return words
}

// models reports whether an agent of the server is a model, so that lists of tasks have
// a column for tokens.
func (c *Console) models() bool {
	return slices.ContainsFunc(c.opts.Agents(), func(a Agent) bool { return a.Model })
}
