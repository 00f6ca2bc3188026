package torture

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"syscall"
	"time"
)

// strokeKind is what happens to a replica, to its line to the database or to the
// database itself.
type strokeKind int

const (
	killed       strokeKind = iota // kill -9; started again when it is over
	asked                          // SIGTERM; started again when it is over
	paused                         // SIGSTOP, and SIGCONT when it is over
	pausedKilled                   // SIGSTOP, and then kill -9
	lineTorn
	lineDark
	lineSlow
	databaseFast      // stopped in good order, started when it is over
	databaseImmediate // stopped at once
	databaseKilled    // kill -9 of each process
	strokeKinds
)

var strokeNames = [strokeKinds]string{
	"replica kill -9", "replica SIGTERM", "replica SIGSTOP", "  and then kill -9", "line torn", "line dark", "line slow",
	"database fast", "database immediate", "database kill -9",
}

// stroke is one thing that happens in a round.
type stroke struct {
	kind      strokeKind
	who       int // the replica, if it is one's
	at, lasts time.Duration
	torn      bool // a line that was dark is torn before it is mended
}

func (s *stroke) ofDatabase() bool { return s.kind >= databaseFast }

// strokesOf makes up a round. Mostly one replica is left alone.
func strokesOf(rng *rand.Rand, replicas int, dead time.Duration) []stroke {
	n := 1
	switch dice := rng.IntN(20); {
	case dice < 9:
	case dice < 18:
		n = 2
	default:
		n = replicas
	}
	var all []stroke
	together := rng.IntN(3) == 0 // two at once
	of := rng.Perm(replicas)
	database := rng.IntN(5) == 0
	if database && rng.IntN(2) == 0 {
		n = 0
	}
	for i := range min(n, replicas) {
		s := stroke{
			who: of[i], at: ms(rng.IntN(500)), lasts: span(rng, dead), torn: rng.IntN(3) == 0,
			kind: []strokeKind{killed, killed, killed, asked, paused, paused, pausedKilled, lineTorn, lineDark, lineDark, lineSlow}[rng.IntN(11)],
		}
		if together && i > 0 {
			s.kind, s.at = all[0].kind, all[0].at
		}
		all = append(all, s)
	}
	if database {
		all = append(all, stroke{kind: databaseFast + strokeKind(rng.IntN(3)), at: ms(rng.IntN(800)), lasts: ms(rng.IntN(int(dead.Milliseconds())))})
	}
	return all
}

// span is how long something lasts: clearly shorter than others are patient, or
// longer.
func span(rng *rand.Rand, dead time.Duration) time.Duration {
	if rng.IntN(2) == 0 {
		return ms(20) + time.Duration(rng.Int64N(int64(dead)*8/10))
	}
	return dead*12/10 + time.Duration(rng.Int64N(int64(dead)*13/10))
}

// rounds strikes, and mends.
func (f *fleet) rounds(ctx context.Context) error {
	rng := rand.New(rand.NewPCG(f.o.Seed, 0))
	// On a busy machine clients may have done too little in these rounds to judge by.
	few := func(n int) bool {
		return f.o.Hooks == nil && n < 3*f.o.Rounds && f.w.count.elsewhere.Load() == 0
	}
	for n := 0; n < f.o.Rounds || few(n); n++ {
		if err := f.live(ctx, ms(50+rng.IntN(400))); err != nil {
			return err
		}
		if err := f.round(ctx, strokesOf(rng, len(f.replicas), f.o.DeadAfter)); err != nil {
			return err
		}
		// All of them get to work again in half of the rounds.
		all := 1
		if rng.IntN(2) == 0 {
			all = len(f.replicas)
		}
		if err := f.await(ctx, all); err != nil {
			return err
		}
	}
	return f.await(ctx, len(f.replicas))
}

// round lets strokes happen, and waits until each is over.
func (f *fleet) round(ctx context.Context, all []stroke) error {
	type moment struct {
		at time.Duration
		do func() error
	}
	var moments []moment
	hard := slices.ContainsFunc(all, func(s stroke) bool { return s.ofDatabase() })
	for _, s := range all {
		moments = append(moments,
			moment{s.at, func() error { return f.strike(&s) }},
			moment{s.at + s.lasts, func() error { return f.mend(&s, hard) }})
	}
	slices.SortStableFunc(moments, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
	began := time.Now()
	for _, m := range moments {
		if err := f.live(ctx, m.at-time.Since(began)); err != nil {
			return err
		}
		if err := m.do(); err != nil {
			return err
		}
	}
	return nil
}

// strike lets a stroke begin.
func (f *fleet) strike(s *stroke) error {
	f.strokes[s.kind]++
	if s.ofDatabase() {
		f.w.note("%s, for %v", strokeNames[s.kind], s.lasts)
		if s.kind == databaseKilled {
			return f.o.Database.Kill()
		}
		return f.o.Database.Stop(s.kind == databaseImmediate)
	}
	r := f.replicas[s.who]
	f.w.note("%s %d, for %v", strokeNames[s.kind], s.who, s.lasts)
	switch s.kind {
	case killed:
		f.w.count.kills.Add(1)
		r.end()
	case asked:
		f.w.count.stops.Add(1)
		r.away = true
		_ = r.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	case paused, pausedKilled:
		f.w.count.pauses.Add(1)
		_ = r.pause()
	case lineTorn:
		r.line.becomes(torn)
	case lineDark:
		r.line.becomes(dark)
	case lineSlow:
		r.line.becomes(slow)
	}
	return nil
}

// mend ends a stroke. hard says that the database was away in its round.
func (f *fleet) mend(s *stroke, hard bool) error {
	if s.ofDatabase() {
		return f.o.Database.Start()
	}
	r := f.replicas[s.who]
	f.w.note("replica %d is itself again", s.who)
	switch s.kind {
	case killed:
		return r.start()
	case asked:
		f.drained(r, hard)
		return r.start()
	case paused:
		_ = r.resume() // it may have ended
	case pausedKilled:
		f.w.count.kills.Add(1)
		r.end()
		return r.start()
	default:
		if s.torn {
			r.line.tear()
		}
		r.line.becomes(sound)
	}
	return nil
}

// drained waits for a replica that was asked to end.
func (f *fleet) drained(r *replica, hard bool) {
	t := time.NewTimer(readyWithin)
	defer t.Stop()
	select {
	case <-r.gone:
		if r.err != nil && !hard && r.wasUp() {
			f.w.violate(Service, "SIGTERM: replica %d ended with %v; %s", r.n, r.err, r.tail())
		}
	case <-t.C:
		if !hard {
			f.w.violate(Service, "SIGTERM: replica %d did not end within %v", r.n, readyWithin)
		}
	}
	r.end()
}
