package place

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/store"
)

// desk is an Admission with tasks that tests name by a letter.
type desk struct {
	*Admission
	tasks map[byte]*Ticket
}

func newDesk(capacity, takeUp int, counts bool) *desk {
	return &desk{&Admission{Capacity: capacity, TakeUp: takeUp, Counts: counts, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}, map[byte]*Ticket{}}
}

func (d *desk) task(name byte) *Ticket {
	if d.tasks[name] == nil {
		d.tasks[name] = &Ticket{Hint: make(chan struct{}, 1)}
	}
	return d.tasks[name]
}

// scopeOf says whose a task is: a and b are one owner's in two tenants, the others
// have an owner each.
func scopeOf(name byte) store.Key {
	switch name {
	case 'a':
		return store.Key{Tenant: "one", Owner: "ann"}
	case 'b':
		return store.Key{Tenant: "two", Owner: "ann"}
	}
	return store.Key{Owner: string(name)}
}

// do is one step, of the words: an operation, a task, and the outcome.
func (d *desk) do(t *testing.T, step string) {
	t.Helper()
	words := strings.Fields(step)
	var name byte
	if len(words) > 1 {
		name = words[1][0]
	}
	needs := map[string]Need{"nothing": Nothing, "toRun": ToRun, "runs": Running, "leaves": Leaving}
	answers := map[string]Answer{"yes": Yes, "wait": Wait, "full": Full, "ownerFull": OwnerFull}
	switch op := words[0]; op {
	case "ask", "askAll", "must":
		want, known := answers[words[2]]
		if got := d.Ask(d.task(name), scopeOf(name), op == "askAll", op == "must"); got != want || !known {
			t.Fatalf("%q: got %d", step, got)
		}
	case "nothing", "toRun", "runs", "leaves":
		d.Follow(d.task(name), scopeOf(name), needs[op])
	case "may", "mayNot":
		if d.MayRun(d.task(name)) != (op == "may") {
			t.Fatalf("%q is not so", step)
		}
	case "told":
		select {
		case <-d.task(name).Hint:
		default:
			t.Fatalf("%q is not so", step)
		}
	case "behind", "ahead":
		d.Behind(op == "behind")
	case "left", "at", "reserve", "free":
		var n, got int
		fmt.Sscan(words[1], &n)
		switch op {
		case "left":
			got = d.Left()
		case "at":
			got, _ = d.At()
		case "free":
			d.Free(n)
			return
		case "reserve":
			ctx, cancel := context.WithCancel(t.Context())
			if n == 0 {
				cancel()
			}
			got = d.Reserve(ctx, 64)
			cancel()
		}
		if got != n {
			t.Fatalf("%q: got %d", step, got)
		}
	default:
		t.Fatalf("%q?", step)
	}
}

func TestAdmission(t *testing.T) {
	for name, c := range map[string]struct {
		capacity, takeUp int
		most, mostOf     int
		steps            string
	}{
		"no bounds":            {0, 4, 0, 0, "ask a yes; runs a; ask c yes; runs c; may d; nothing a; at 0"},
		"all":                  {0, 4, 2, 0, "ask a yes; ask c yes; ask d full; runs a; runs c; ask d full; nothing c; ask d yes; at 2"},
		"one owner":            {0, 4, 0, 1, "ask a yes; runs a; ask a yes; ask b yes; askAll b yes; askAll a yes; at 2"},
		"one in all tenants":   {0, 4, 0, 1, "ask a yes; runs a; askAll b ownerFull; ask b yes"},
		"waits for its client": {0, 4, 1, 0, "ask a yes; runs a; nothing a; ask c yes; runs c; ask a full; nothing c; ask a yes"},
		"nothing came of it":   {2, 4, 1, 0, "ask a yes; nothing a; at 0; left 2; ask c yes"},
		"its agent is slow":    {1, 4, 1, 0, "ask a yes; runs a; leaves a; at 0; left 0; ask c wait; nothing a; ask d wait; ahead; ask c yes"},
		"taken up in any case": {0, 4, 1, 1, "toRun a; toRun b; runs a; runs b; at 2; ask c full; nothing a; ask c full; nothing b; ask c yes"},

		"capacity":            {2, 4, 0, 0, "ask a yes; ask c yes; ask d wait; runs a; runs c; ask a yes; nothing a; ask d wait; ahead; ask d yes"},
		"refused, not queued": {1, 4, 1, 0, "ask a yes; runs a; ask c full; nothing a; ask c yes"},
		"waits uncounted":     {1, 4, 3, 0, "ask a yes; runs a; ask c wait; nothing c; at 1"},
		"only here":           {1, 4, 0, 0, "ask a yes; runs a; must c yes; runs c; left 0; nothing a; left 0; nothing c; left 1"},
		"a queue":             {1, 4, 0, 0, "toRun a; may a; toRun c; mayNot c; toRun d; runs a; nothing a; told c; may c; mayNot d; nothing c; told d; may d"},
		"out of the queue":    {1, 4, 0, 0, "toRun a; toRun c; toRun d; nothing c; nothing a; told d; may d; mayNot c; left 0"},
		"queued, and forced":  {1, 4, 0, 0, "toRun a; toRun c; ask c wait; must c yes; may c; nothing a; left 0; nothing c; left 1"},
		"behind what waits":   {2, 4, 0, 0, "behind; ask a wait; toRun c; may c; ahead; ask a yes"},
		"new behind queued":   {1, 4, 0, 0, "toRun a; toRun c; ask d wait; ahead; ask d wait"},

		"slots":                    {0, 3, 0, 0, "reserve 3; reserve 0; free 2; reserve 2; reserve 0"},
		"no slot for none":         {1, 3, 0, 0, "ask a yes; reserve 0; ask a yes; runs a; nothing a; ask c wait; reserve 3"},
		"take-up and no run slots": {1, 3, 0, 0, "runs a; reserve 0; nothing a; reserve 3"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(c.capacity, c.takeUp, false)
			d.SetLimits(c.most, c.mostOf)
			for step := range strings.SplitSeq(c.steps, ";") {
				d.do(t, step)
			}
		})
	}
}

// Limits may come while tasks are at work: those count, and none is refused what it
// has.
func TestLimitsComeLater(t *testing.T) {
	d := newDesk(0, 1, true)
	for _, step := range []string{"ask a yes", "runs a", "ask b yes", "runs b"} {
		d.do(t, step)
	}
	d.SetLimits(1, 1)
	for _, step := range []string{"at 2", "ask a yes", "ask c full", "nothing a", "ask c full", "nothing b", "ask c yes"} {
		d.do(t, step)
	}
	d = newDesk(0, 1, false) // of tasks that were not counted before
	d.do(t, "runs a")
	d.SetLimits(1, 1)
	for _, step := range []string{"at 0", "nothing a", "at 0", "ask c yes", "ask d full"} {
		d.do(t, step)
	}
}

// With tasks that behave at random, no more have a run slot than there are, except for those
// that must have one, and nothing is left when all are over.
func TestAdmissionAtRandom(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		d := newDesk(1+rng.IntN(3), 1, rng.IntN(2) == 0)
		d.SetLimits(rng.IntN(5), rng.IntN(3))
		for range 300 {
			name := byte('a' + rng.IntN(7))
			ticket := d.task(name)
			switch rng.IntN(4) {
			case 0:
				had := ticket.seated
				if d.Ask(ticket, scopeOf(name), rng.IntN(2) == 0, false) == Yes && !had && d.runSlots > d.Capacity {
					t.Fatalf("seed %d: run slot %d of %d was given away", seed, d.runSlots, d.Capacity)
				}
			case 1:
				d.Behind(rng.IntN(2) == 0)
			default:
				d.Follow(ticket, scopeOf(name), []Need{Nothing, ToRun, Nothing, Leaving}[rng.IntN(4)])
			}
			if len(d.queue) > 0 && d.runSlots < d.Capacity {
				t.Fatalf("seed %d: %d wait beside a free seat", seed, len(d.queue))
			}
		}
		for name, ticket := range d.tasks {
			d.Follow(ticket, scopeOf(name), Nothing)
		}
		if n, of := d.At(); n != 0 || of != 0 || len(d.by) != 0 || d.runSlots != 0 || len(d.queue) != 0 {
			t.Fatalf("seed %d: %d tasks of %d owners, %d run slots, %d in the queue", seed, n, of, d.runSlots, len(d.queue))
		}
	}
}
