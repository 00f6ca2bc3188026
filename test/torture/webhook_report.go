package torture

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// WebhookReport is the outcome of RunWebhooks.
type WebhookReport struct {
	Seed              uint64
	Took              time.Duration
	Tasks             int
	Hooks             int   // configurations
	Deleted           int   // of them, and
	Gone              int   // those whose receiver answered 410
	Unknown           int64 // messages and configurations whose senders never learned whether they arrived
	Events            int64 // of the tasks
	Posts             int64 // attempts that came
	Accepted, Repeats int64 // of them, and those of what had been accepted
	Late              int64 // of them, those for what had been deleted long before
	Forgotten         int   // tasks that were over age
	Failures          map[string]int64
	Kills, Stops      int64

	// Broken counts the violations, by the promise.
	Broken map[string]int
	// Violations tell of the first ones.
	Violations []string
}

func (w *hookWorld) report(tasks int, events int64) *WebhookReport {
	c := &w.count
	r := &WebhookReport{
		Seed: w.o.Seed, Took: time.Since(w.start), Tasks: tasks, Events: events, Unknown: c.unknown.Load(),
		Posts: c.posts.Load(), Accepted: c.accepted.Load(), Repeats: c.repeats.Load(), Kills: c.kills.Load(), Stops: c.stops.Load(),
		Failures: map[string]int64{}, Broken: map[string]int{},
	}
	for f := failSlow; f < faults2; f++ {
		r.Failures[failureNames[f]] = c.failures[f].Load()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	r.Hooks, r.Late, r.Forgotten = len(w.hooks), c.late.Load(), len(w.brief)
	for _, h := range w.hooks {
		switch {
		case h.refused != "":
			r.Gone++
		case !h.deleted.IsZero():
			r.Deleted++
		}
	}
	for claim, n := range w.broken {
		r.Broken[hookClaimNames[claim]] = n
	}
	r.Violations = slices.Clone(w.violations)
	return r
}

// String is the report as a table.
func (r *WebhookReport) String() string {
	var b strings.Builder
	line := func(name string, value any) { fmt.Fprintf(&b, "%-30s%14v\n", name, value) }
	line("tasks", r.Tasks)
	line("tasks over age", r.Forgotten)
	line("configurations", r.Hooks)
	line("  deleted", r.Deleted)
	line("  answered with 410", r.Gone)
	line("unknown sends", r.Unknown)
	line("kill -9", r.Kills)
	line("SIGTERM", r.Stops)
	line("events", r.Events)
	line("posts", r.Posts)
	line("  accepted", r.Accepted)
	line("  repeats of accepted ones", r.Repeats)
	line("  long after a deletion", r.Late)
	for f := failSlow; f < faults2; f++ {
		line("  "+failureNames[f], r.Failures[failureNames[f]])
	}
	total := 0
	for _, n := range r.Broken {
		total += n
	}
	line("violations", total)
	for _, name := range hookClaimNames {
		line("  "+name, r.Broken[name])
	}
	line("time", r.Took.Round(time.Second))
	line("seed", r.Seed)
	return b.String()
}
