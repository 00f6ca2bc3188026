package torture

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Report is the outcome of a run.
type Report struct {
	Seed    uint64
	Rounds  int
	Clients int
	Took    time.Duration

	Kills, Stops, Deaths int64            // ends of the server: kill -9, SIGTERM, by itself
	Pauses               int64            // SIGSTOP for a moment
	Strokes              [strokeKinds]int // what happened to replicas, by kind
	SlowestStart         time.Duration    // until it was ready
	Tasks                int              // in the store at the end
	Events               int64            // that clients saw
	Resumes              int64            // streams that went on at a position; of those that the library resumes by itself, not over gRPC
	Elsewhere            int64            // resumes at another replica than before, so far as it is known: not over gRPC
	Refused              int64            // requests, with 503; counted where replicas are replaced
	Cuts                 int64            // calls and streams that broke
	Stalls               int64            // that clients gave up because nothing came
	Unknown              int64            // messages whose senders never learned whether they arrived
	Repeats              int64            // messages that were sent again though they may have arrived, or had
	Attached             int64            // streams that were joined by sending their message again
	Conflicts            int64            // refusals of other words by the name of a message
	Canceled             int64            // tasks
	WornOut              int64            // tasks that failed since their process was lost too often, as they should
	Counted              int              // tasks that /metrics counted, as started or ended, in all lives
	Steps, Effects       int64            // recorded results of steps, and runs of steps

	// Hooks is the outcome of FleetOptions.Hooks.
	Hooks *WebhookReport

	// Broken counts the violations, by the claim.
	Broken [claims]int
	// Violations tell of the first ones; the text says by which task.
	Violations []string
}

// Total is how many violations there were.
func (r *Report) Total() int {
	n := 0
	for _, b := range r.Broken {
		n += b
	}
	return n
}

func (w *world) report(tasks int) *Report {
	c := &w.count
	r := &Report{
		Seed: w.o.Seed, Rounds: w.o.Rounds, Clients: w.o.Clients, Took: time.Since(w.start),
		Kills: c.kills.Load(), Stops: c.stops.Load(), Deaths: c.deaths.Load(),
		Tasks: tasks, Events: c.events.Load(),
		Resumes:   c.resumes.Load() + max(0, c.subscribed.Load()-c.opened.Load()),
		Elsewhere: c.elsewhere.Load(), Refused: c.refused.Load(),
		Cuts: c.cuts.Load(), Stalls: c.stalls.Load(), Unknown: c.unknown.Load(),
		Repeats: c.repeats.Load(), Attached: c.attached.Load(), Conflicts: c.conflicts.Load(), Pauses: c.pauses.Load(),
		Canceled: c.canceled.Load(), WornOut: c.wornOut.Load(), Steps: c.steps.Load(), Effects: c.effects.Load(),
	}
	for _, c := range w.counters {
		for _, n := range c.said {
			r.Counted += n
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	r.Violations, r.Broken = slices.Clone(w.violations), w.broken
	return r
}

// Table shows reports by their names.
func Table(names []string, reports []*Report) string {
	head := []string{
		"", "rounds", "kill -9", "SIGTERM", "SIGSTOP", "own ends", "slowest start", "clients", "tasks", "canceled", "given up", "events",
		"resumes", "attached", "cuts", "stalls", "unknown sends", "repeats", "conflicts", "steps", "step runs", "counted", "violations",
	}
	for _, name := range claimNames {
		head = append(head, "  "+name)
	}
	head = append(head, "time", "seed")
	several := slices.ContainsFunc(reports, func(r *Report) bool { return r.Elsewhere > 0 })
	if several {
		head = append(append(head, "resumes at another"), strokeNames[:]...)
	}
	columns := [][]string{head}
	for i, r := range reports {
		column := []string{
			names[i], fmt.Sprint(r.Rounds), fmt.Sprint(r.Kills), fmt.Sprint(r.Stops), fmt.Sprint(r.Pauses), fmt.Sprint(r.Deaths),
			fmt.Sprintf("%d ms", r.SlowestStart.Milliseconds()), fmt.Sprint(r.Clients), fmt.Sprint(r.Tasks), fmt.Sprint(r.Canceled),
			fmt.Sprint(r.WornOut), fmt.Sprint(r.Events), fmt.Sprint(r.Resumes), fmt.Sprint(r.Attached), fmt.Sprint(r.Cuts), fmt.Sprint(r.Stalls),
			fmt.Sprint(r.Unknown), fmt.Sprint(r.Repeats), fmt.Sprint(r.Conflicts), fmt.Sprint(r.Steps), fmt.Sprint(r.Effects), fmt.Sprint(r.Counted), fmt.Sprint(r.Total()),
		}
		for _, n := range r.Broken {
			column = append(column, fmt.Sprint(n))
		}
		column = append(column, r.Took.Round(time.Second).String(), fmt.Sprint(r.Seed))
		if several {
			column = append(column, fmt.Sprint(r.Elsewhere))
			for _, n := range r.Strokes {
				column = append(column, fmt.Sprint(n))
			}
		}
		columns = append(columns, column)
	}
	var b strings.Builder
	for row := range head {
		for i, c := range columns {
			if i == 0 {
				fmt.Fprintf(&b, "%-24s", c[row])
			} else {
				fmt.Fprintf(&b, "%16s", c[row])
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}
