package torture

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Report is what came of a run.
type Report struct {
	Seed    uint64
	Rounds  int
	Clients int
	Took    time.Duration

	Kills, Stops, Deaths int64         // ends of the server: kill -9, SIGTERM, by itself
	SlowestStart         time.Duration // until it was ready
	Tasks                int           // in the store at the end
	Events               int64         // that clients saw
	Resumes              int64         // streams that went on at a position
	Cuts                 int64         // calls and streams that broke
	Stalls               int64         // that clients gave up because nothing came
	Unknown              int64         // messages whose senders never learned whether they arrived
	Canceled             int64         // tasks
	WornOut              int64         // tasks that failed since their process was lost too often, as they should
	Steps, Effects       int64         // recorded results of steps, and runs of steps

	// Violations are the promises that were broken; the text says by which
	// task. There are no more than some, and then a last line that counts the
	// others.
	Violations []string
}

func (w *world) report(tasks int) *Report {
	c := &w.count
	r := &Report{
		Seed: w.o.Seed, Rounds: w.o.Rounds, Clients: w.o.Clients, Took: time.Since(w.start),
		Kills: c.kills.Load(), Stops: c.stops.Load(), Deaths: c.deaths.Load(), SlowestStart: w.server.slowest,
		Tasks: tasks, Events: c.events.Load(),
		Resumes: c.resumes.Load() + max(0, c.subscribed.Load()-c.fresh.Load()),
		Cuts:    c.cuts.Load(), Stalls: c.stalls.Load(), Unknown: c.unknown.Load(),
		Canceled: c.canceled.Load(), WornOut: c.wornOut.Load(), Steps: c.steps.Load(), Effects: c.effects.Load(),
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	r.Violations = slices.Clone(w.violations)
	if w.more > 0 {
		r.Violations = append(r.Violations, fmt.Sprintf("and %d more", w.more))
	}
	return r
}

// Table shows reports by their names.
func Table(names []string, reports []*Report) string {
	head := []string{
		"", "rounds", "kill -9", "SIGTERM", "own ends", "slowest start", "clients", "tasks", "canceled", "given up", "events",
		"resumes", "cuts", "stalls", "unknown sends", "steps", "step runs", "violations", "time", "seed",
	}
	columns := [][]string{head}
	for i, r := range reports {
		columns = append(columns, []string{
			names[i], fmt.Sprint(r.Rounds), fmt.Sprint(r.Kills), fmt.Sprint(r.Stops), fmt.Sprint(r.Deaths),
			fmt.Sprintf("%d ms", r.SlowestStart.Milliseconds()), fmt.Sprint(r.Clients), fmt.Sprint(r.Tasks), fmt.Sprint(r.Canceled),
			fmt.Sprint(r.WornOut), fmt.Sprint(r.Events), fmt.Sprint(r.Resumes), fmt.Sprint(r.Cuts), fmt.Sprint(r.Stalls), fmt.Sprint(r.Unknown),
			fmt.Sprint(r.Steps), fmt.Sprint(r.Effects), fmt.Sprint(len(r.Violations)), r.Took.Round(time.Second).String(), fmt.Sprint(r.Seed),
		})
	}
	var b strings.Builder
	for row := range head {
		for i, c := range columns {
			if i == 0 {
				fmt.Fprintf(&b, "%-14s", c[row])
			} else {
				fmt.Fprintf(&b, "%16s", c[row])
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}
