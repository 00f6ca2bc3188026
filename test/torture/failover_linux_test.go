package torture

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"
)

// ending is how a primary ends, which is a failover.
type ending int

const (
	primaryKilled ending = iota // kill -9 of all its processes
	primaryDark                 // cut off, and ended there before another is promoted
	primaryBack                 // cut off, lives on, and comes back as the primary that it was
	primaryPaused               // stopped in its tracks, and wakes up as the primary that it was
	primaryLives                // nothing has happened to it, but another is promoted
	endings
)

var endingNames = [endings]string{"kill -9", "cut off, then ended", "cut off, comes back", "SIGSTOP, comes back", "lives, another is promoted"}

// lag is what one of the standbys does before the end.
type lag int

const (
	noLag      lag = iota
	lagsReplay     // it receives, and does not apply
	lagsAll        // it receives nothing
	lags
)

var lagNames = [lags]string{"", "a standby does not apply", "a standby does not receive"}

// failing lets primaries fail under replicas at work.
type failing struct {
	*fleet
	ha       *ha
	governed *governed // Patroni decides which is the primary, not ha; nil: ha
	rng      *rand.Rand
	wide     bool // there are networks that can be cut
	lazy     bool // no commit waits for a standby

	ending, lagging, striking, kind, restarting deck

	ends  [endings]int
	lags  [lags]int
	other int                // rounds in which something happened to a replica, too
	took  [2][]time.Duration // until every replica took messages again: since the end, since the promotion
	back  int                // old primaries that were rewound, rather than copied anew
	gone  []int64            // bytes of the log that no standby had, of each failover, if commits wait for none
}

// deck deals each of some kinds once before any comes again, so that few rounds have
// some of each.
type deck []int

func (d *deck) deal(rng *rand.Rand, kinds int) int {
	if len(*d) == 0 {
		*d = rng.Perm(kinds)
	}
	next := (*d)[0]
	*d = (*d)[1:]
	return next
}

// rounds are so many failovers.
func (f *failing) rounds(ctx context.Context) error {
	f.rng = rand.New(rand.NewPCG(f.o.Seed, 11))
	for n := range f.o.Rounds {
		if err := f.live(ctx, ms(200+f.rng.IntN(700))); err != nil {
			return err
		}
		how := ending(f.ending.deal(f.rng, int(endings)))
		if !f.wide && (how == primaryDark || how == primaryBack) {
			how = primaryKilled
		}
		if err := f.round(ctx, n, how); err != nil {
			return fmt.Errorf("failover %d, %s: %w", n+1, endingNames[how], err)
		}
		if err := f.await(ctx, len(f.replicas)); err != nil {
			return err
		}
	}
	return nil
}

// round is one failover.
func (f *failing) round(ctx context.Context, n int, how ending) error {
	f.ends[how]++
	old := f.ha.primary
	late := lag(max(0, f.lagging.deal(f.rng, 5)-2))
	slow := []*member{f.ha.standbys()[f.rng.IntN(2)]}
	if f.lazy {
		late, slow = lagsAll, f.ha.standbys() // so that there is something to lose
	}
	f.lags[late]++
	switch late {
	case lagsReplay:
		if err := slow[0].Exec("SELECT pg_wal_replay_pause()"); err != nil {
			return err
		}
	case lagsAll:
		for _, m := range slow {
			if err := m.Follow(nil); err != nil {
				return err
			}
		}
	}
	if err := f.live(ctx, ms(50+f.rng.IntN(500))); err != nil {
		return err
	}
	var beside *stroke
	if f.striking.deal(f.rng, 3) == 0 {
		f.other++
		beside = &stroke{kind: []strokeKind{killed, killed, asked, paused}[f.kind.deal(f.rng, 4)], who: f.rng.IntN(len(f.replicas))}
		if err := f.strike(beside); err != nil {
			return err
		}
	}
	when := f.restarting.deal(f.rng, 3*fronts) // a program between the servers and the primary restarts: before, after, or not at all
	if err := f.restarts(when/3, when%3 == 0); err != nil {
		return err
	}
	f.w.note("failover %d: primary %s %s %s", n+1, old.Name(), endingNames[how], lagNames[late])
	written, err := old.Written()
	if err != nil {
		return err
	}
	began := time.Now()
	if err := f.end(old, how); err != nil {
		return err
	}
	// Until somebody notices.
	if err := f.live(ctx, ms(100+f.rng.IntN(900))); err != nil {
		return err
	}
	if how == primaryDark {
		if err := old.Kill(); err != nil {
			return err
		}
	}
	had, err := f.ha.failover()
	if err != nil {
		return err
	}
	if f.lazy {
		f.gone = append(f.gone, max(0, written-had))
	}
	if how == primaryLives { // and takes what it cannot acknowledge, until somebody sees it
		if err := f.live(ctx, ms(200+f.rng.IntN(2000))); err != nil {
			return err
		}
		began = time.Now()
		if err := old.Kill(); err != nil {
			return err
		}
	}
	promoted := time.Now()
	f.w.note("promoted %s after %v", f.ha.primary.Name(), promoted.Sub(began))
	if err := f.restarts(when/3, when%3 == 1); err != nil {
		return err
	}
	if err := f.served(ctx, n, beside); err != nil {
		return err
	}
	f.took[0], f.took[1] = append(f.took[0], time.Since(began)), append(f.took[1], time.Since(promoted))
	f.w.note("every replica takes messages %v after the promotion", time.Since(promoted))
	if err := f.comesBack(old, how); err != nil {
		return err
	}
	// Now and then for longer than a call waits for the database.
	if err := f.live(ctx, ms(300+f.rng.IntN(1500))); err != nil {
		return err
	}
	rewound, err := f.ha.rejoin(old)
	if err != nil {
		return err
	}
	if rewound {
		f.back++
	}
	if beside != nil {
		return f.mend(beside, true)
	}
	return nil
}

// restarts restarts one of the programs between the servers and the primary, if there
// are some and it is time.
func (f *failing) restarts(i int, now bool) error {
	if f.ha.front == nil || !now {
		return nil
	}
	f.w.note("%s is restarted", f.ha.front.programs[i].name)
	return f.ha.front.restart(i)
}

// end ends the primary.
func (f *failing) end(old *member, how ending) (err error) {
	switch how {
	case primaryKilled:
		return old.Kill()
	case primaryDark, primaryBack:
		return old.cut(true)
	case primaryPaused:
		_, err = old.Pause()
	}
	return err
}

// comesBack undoes it.
func (f *failing) comesBack(old *member, how ending) error {
	switch how {
	case primaryDark, primaryBack:
		f.w.note("%s is back", old.Name())
		return old.cut(false)
	case primaryPaused:
		f.w.note("%s is back", old.Name())
		return old.Resume()
	}
	return nil
}

// servedWithin is the time within which every replica must take messages again.
const servedWithin = 60 * time.Second

// served waits until each replica to which nothing has happened has taken a message.
func (f *failing) served(ctx context.Context, n int, beside *stroke) error {
	ctx, cancel := context.WithTimeoutCause(ctx, servedWithin, errTooLong)
	defer cancel()
	var asking sync.WaitGroup
	done := make(chan struct{})
	for i, r := range f.replicas {
		if beside != nil && beside.who == i {
			continue
		}
		asking.Go(func() {
			c := newClient(f.w, 1000+100*n+i, "http://"+r.o.Addr)
			c.patience = 500 * time.Millisecond
			if !c.dial(ctx) {
				f.w.violate(Service, "replica %d has no card after a failover: %v", i, context.Cause(ctx))
				return
			}
			rec := &record{w: f.w, plan: planEcho(c.rng, c), who: fmt.Sprintf("after failover %d, %s", n+1, c.how), words: map[string]string{}, alias: map[string]string{}}
			m := c.message(rec, rec.plan.text)
			rec.said, rec.opening = m.MessageID, m
			f.w.mu.Lock()
			f.w.records = append(f.w.records, rec)
			f.w.mu.Unlock()
			c.say(ctx, rec, m)
			if rec.id == "" && rec.direct == nil && context.Cause(ctx) == errTooLong {
				f.w.violate(Service, "replica %d takes no message within %v of a failover; %s", i, servedWithin, r.tail())
			}
		})
	}
	go func() {
		asking.Wait()
		close(done)
	}()
	return f.until(ctx, 2*servedWithin, func() bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	})
}

// String tells of the failovers.
func (f *failing) String() string {
	var b strings.Builder
	for how, n := range f.ends {
		if n > 0 {
			fmt.Fprintf(&b, "%-32s%8d\n", endingNames[how], n)
		}
	}
	for l, n := range f.lags {
		if n > 0 && l > 0 {
			fmt.Fprintf(&b, "%-32s%8d\n", lagNames[l], n)
		}
	}
	fmt.Fprintf(&b, "%-32s%8d\n%-32s%8d\n", "and something to a replica", f.other, "old primaries rewound", f.back)
	if front := f.ha.front; front != nil {
		for i, p := range front.programs {
			fmt.Fprintf(&b, "%-32s%8d\n", p.name+" kill -9", front.restarts[i])
		}
	}
	if f.lazy {
		fmt.Fprintf(&b, "bytes of the log that no standby had when its primary failed: %d\n", f.gone)
	}
	for i, since := range []string{"the end", "the promotion"} {
		if all := f.took[i]; len(all) > 0 {
			slices.Sort(all)
			fmt.Fprintf(&b, "every replica takes messages, since %s: %v at the median, %v at p90, %v at most\n", since, at(all, 0.5), at(all, 0.9), all[len(all)-1].Round(time.Millisecond))
		}
	}
	return b.String()
}
