package outbox

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/outbox/outboxtest"
	"github.com/parley-a2a/parley/internal/wake"
	"github.com/parley-a2a/parley/store"
)

// hangs fills the store with tasks of a caller, each with a webhook on a host of
// its own that hangs. They are of many agents, and of tenants that the caller made
// up: none of that makes it more than one caller.
func hangs(t *testing.T, st store.Store, owner string, hosts int) {
	t.Helper()
	for i := range hosts {
		k := store.Key{Tenant: fmt.Sprint("agent", i%100, "tenant", i%3), Owner: owner, ID: fmt.Sprint(owner, i)}
		outboxtest.Fill(t, st, k, fmt.Sprint("dead-", owner, i), "1.0", 1)
	}
}

// answers20ms is a receiver that takes a moment, if it does not hang.
func answers20ms(ctx context.Context, n *a2a.Notification) a2a.Outcome {
	if out := timesOut(ctx, n); out.Verdict != a2a.Delivered {
		return out
	}
	time.Sleep(20 * time.Millisecond)
	return a2a.Outcome{}
}

// wellBehaved has n tasks of a caller run, one every 100 ms, each with a webhook
// at host, and returns how long the last event of each took to arrive.
func wellBehaved(w *world, r *receivers, owner, host string, n int) (took []time.Duration) {
	begun := map[string]time.Time{}
	for range n {
		id := fmt.Sprint("good", nodes.Add(1))
		begun[id] = time.Now()
		w.begin(context.Background(), store.Key{Owner: owner, ID: id}, a2a.TaskStateCompleted, 2, &a2a.TaskPushNotificationConfig{ID: id, URL: host})
		time.Sleep(100 * time.Millisecond)
	}
	time.Sleep(2 * time.Minute)
	for _, g := range r.All() {
		if at, ok := begun[g.Config.ID]; ok && g.Event.State().Terminal() {
			took = append(took, g.At.Sub(at))
			delete(begun, g.Config.ID)
		}
	}
	if len(begun) > 0 {
		w.t.Errorf("%d of %d did not arrive", len(begun), n)
	}
	return append(took, 0)
}

// However many callers have receivers that hang, on however many hosts, the
// webhooks of another caller come at once. after is when it begins.
func TestPushBesideHostileSubscribers(t *testing.T) {
	for _, c := range []struct {
		hostile, hosts int
		after          time.Duration
	}{{1, 300, 0}, {1, 300, time.Minute}, {4, 75, 0}, {4, 75, 15 * time.Second}, {10, 50, 0}, {20, 20, 0}, {50, 20, 15 * time.Second}, {300, 5, time.Minute}} {
		t.Run(fmt.Sprintf("%dx%d after %v", c.hostile, c.hosts, c.after), func(t *testing.T) {
			pushTest(t, func(t *testing.T, st *store.Memory, r *receivers) {
				for i := range c.hostile {
					hangs(t, st, fmt.Sprint("h", i, "-"), c.hosts)
				}
				r.Serve = answers20ms
				w := newWorld(t, st, r)
				passes(10*time.Millisecond + c.after)
				took := wellBehaved(w, r, "ann", "live", 200)
				if worst := slices.Max(took); worst > time.Second {
					t.Errorf("a webhook took %v", worst)
				}
				w.stop()
			})
		})
	}
}

// Callers that come one after another, each when the ones before hold all they can get, do not
// leave another one without a slot either.
func TestPushBesideHostileSubscribersInTurn(t *testing.T) {
	pushTest(t, func(t *testing.T, st *store.Memory, r *receivers) {
		r.Serve = answers20ms
		w := newWorld(t, st, r)
		for i := range 16 {
			for k := range 70 {
				id := fmt.Sprint("hostile", i, "-", k)
				w.begin(t.Context(), store.Key{Owner: fmt.Sprint("hostile", i), ID: id}, a2a.TaskStateCompleted, 2,
					&a2a.TaskPushNotificationConfig{ID: "c", URL: fmt.Sprint("dead", i, "-", k)})
			}
			passes(100 * time.Millisecond)
		}
		if most := mostPosts; w.running <= most || w.running >= most+most/4 {
			t.Errorf("%d attempts are under way", w.running)
		}
		took := wellBehaved(w, r, "ann", "live", 200)
		if worst := slices.Max(took); worst > time.Second {
			t.Errorf("a webhook took %v", worst)
		}
		w.stop()
	})
}

// One caller's trouble with a host does not count against another: a shared
// host is neither closed nor full for those whom it serves.
func TestPushToAHostThatIsShared(t *testing.T) {
	for _, how := range []string{"hangs", "fails"} {
		t.Run(how, func(t *testing.T) {
			pushTest(t, func(t *testing.T, st *store.Memory, r *receivers) {
				for i := range 100 {
					outboxtest.Fill(t, st, store.Key{Owner: "bad", ID: fmt.Sprint(i)}, "functions", "1.0", 3)
				}
				r.Serve = func(ctx context.Context, n *a2a.Notification) a2a.Outcome {
					if n.Config.ID != "c" {
						return answers20ms(ctx, n)
					}
					if how == "hangs" {
						<-ctx.Done()
					}
					return outboxtest.Failing5xx
				}
				w := newWorld(t, st, r)
				passes(10 * time.Millisecond)
				for range 5 { // the circuit of the others opens, and closes now and then
					took := wellBehaved(w, r, "ann", "functions", 50)
					if worst := slices.Max(took); worst > time.Second {
						t.Errorf("a webhook took %v", worst)
					}
					r.Forget()
					passes(time.Hour)
				}
				w.stop()
			})
		})
	}
}

// under counts attempts under way by the first letter of their task.
type under struct {
	mu        sync.Mutex
	now, most map[byte]int
	all, peak int
}

func (u *under) serve(d time.Duration) func(context.Context, *a2a.Notification) a2a.Outcome {
	u.now, u.most = map[byte]int{}, map[byte]int{}
	return func(ctx context.Context, n *a2a.Notification) a2a.Outcome {
		u.add(n.Config.TaskID[0], 1)
		defer u.add(n.Config.TaskID[0], -1)
		wake.Pause(ctx, d)
		if ctx.Err() != nil {
			return a2a.Outcome{Verdict: a2a.DeliverAgain, Reason: "the receiver did not answer in time", Down: true}
		}
		return a2a.Outcome{}
	}
}

func (u *under) add(k byte, n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.now[k] += n
	u.all += n
	u.most[k] = max(u.most[k], u.now[k])
	u.peak = max(u.peak, u.all)
}

// One caller alone has all slots, two have about half of them each, and of four or more none
// has more than a quarter. Hanging receivers have at most a quarter, even if no other caller
// wants more.
func TestPushShares(t *testing.T) {
	for _, c := range []struct {
		owners string
		takes  time.Duration
		most   int
	}{
		{"a", time.Second, 64}, {"a", time.Hour, 64},
		{"ab", time.Second, 36}, {"ab", time.Hour, 32},
		{"abcd", time.Second, 16}, {"abcd", time.Hour, 16},
		{"abcdefgh", time.Second, 16}, {"abcdefgh", time.Hour, 8},
	} {
		t.Run(fmt.Sprint(c.owners, c.takes), func(t *testing.T) {
			pushTest(t, func(t *testing.T, st *store.Memory, r *receivers) {
				for i := range 400 / len(c.owners) { // all fit into one look at the store
					for _, o := range c.owners {
						id := fmt.Sprintf("%c%d", o, i)
						outboxtest.Fill(t, st, store.Key{Owner: string(o), ID: id}, id, "1.0", 1)
					}
				}
				var u under
				r.Serve = u.serve(c.takes)
				w := newWorld(t, st, r)
				passes(1500 * time.Millisecond) // two rounds, before any of them is through
				for _, o := range c.owners {
					if n := u.most[byte(o)]; n < 64/len(c.owners) || n > c.most {
						t.Errorf("%c had %d at a time", o, n)
					}
				}
				if u.peak < 64 || u.peak > 80 {
					t.Errorf("%d at a time", u.peak)
				}
				w.stop()
			})
		})
	}
	t.Run("others are silent", func(t *testing.T) {
		pushTest(t, func(t *testing.T, st *store.Memory, r *receivers) {
			hangs(t, st, "h", 300)
			var u under
			r.Serve = u.serve(time.Hour)
			w := newWorld(t, st, r)
			// It has nothing to deliver.
			w.begin(t.Context(), store.Key{Owner: "ann", ID: "quiet"}, a2a.TaskStateWorking, 0, &a2a.TaskPushNotificationConfig{ID: "c", URL: "live"})
			passes(11 * time.Second)
			if n := u.now['h']; n != 16 {
				t.Errorf("%d hang", n)
			}
			w.stop()
		})
	})
}

// Of a caller's attempts, hosts that are down leave room for those that are up, whether other
// callers are few and take what they can, or many.
func TestPushProbesLeaveRoom(t *testing.T) {
	for _, callers := range []int{2, 6} {
		t.Run(fmt.Sprint(callers), func(t *testing.T) {
			pushTest(t, func(t *testing.T, st *store.Memory, r *receivers) {
				for c := range callers {
					for h := range 400 / callers {
						for i := range 8 {
							k := store.Key{Owner: fmt.Sprint("h", c), ID: fmt.Sprint(c, "-", h, "-", i)}
							outboxtest.Fill(t, st, k, fmt.Sprint("dead", c, "-", h), "1.0", 1)
						}
					}
				}
				r.Serve = answers20ms
				w := newWorld(t, st, r)
				passes(time.Hour)
				if n := w.probing; n < 16 || n > 40 {
					t.Errorf("%d probes are under way", n)
				}
				took := wellBehaved(w, r, "h0", "live", 100)
				if worst := slices.Max(took); worst > 3*time.Second {
					t.Errorf("a webhook took %v", worst)
				}
				w.stop()
			})
		})
	}
}

// Many well-behaved callers share the reserved slots.
func TestPushOfManyBesideHostileSubscribers(t *testing.T) {
	pushTest(t, func(t *testing.T, st *store.Memory, r *receivers) {
		for i := range 50 {
			hangs(t, st, fmt.Sprint("h", i, "-"), 100)
		}
		r.Serve = answers20ms
		w := newWorld(t, st, r)
		passes(5 * time.Minute)
		var wg sync.WaitGroup
		for i := range 12 {
			wg.Go(func() {
				took := wellBehaved(w, r, fmt.Sprint("good", i), fmt.Sprint("live", i), 50)
				if worst := slices.Max(took); worst > time.Second {
					t.Errorf("a webhook took %v", worst)
				}
			})
		}
		wg.Wait()
		w.stop()
	})
}

// One caller's hosts that are down do not take all that there is for such hosts:
// another's is tried when its time has come.
func TestPushProbesOfManySubscribers(t *testing.T) {
	pushTest(t, func(t *testing.T, st *store.Memory, r *receivers) {
		for i := range 8 {
			hangs(t, st, fmt.Sprint("h", i), 60)
			for k := range 60 * 5 { // enough of each host for its circuit to open
				id := fmt.Sprint("more", i, "-", k)
				outboxtest.Fill(t, st, store.Key{Owner: fmt.Sprint("h", i), ID: id}, fmt.Sprint("dead-h", i, k%60), "1.0", 1)
			}
		}
		for i := range 6 {
			outboxtest.Fill(t, st, store.Key{Owner: "ann", ID: fmt.Sprint("ann", i)}, "down", "1.0", 1)
		}
		var mu sync.Mutex
		var tried []time.Time
		r.Serve = func(ctx context.Context, n *a2a.Notification) a2a.Outcome {
			if n.Config.URL != "down" {
				return timesOut(ctx, n)
			}
			mu.Lock()
			defer mu.Unlock()
			tried = append(tried, time.Now())
			return outboxtest.Failing5xx
		}
		w := newWorld(t, st, r)
		passes(time.Hour)
		mu.Lock()
		defer mu.Unlock()
		if w.probing < 24 {
			t.Errorf("only %d probes are under way", w.probing)
		}
		for i := range tried[1:] {
			// The circuit lets one through every 5 s, as long as a backoff has ended.
			if gap := tried[i+1].Sub(tried[i]); tried[i].Sub(tried[0]) < time.Minute && gap > 20*time.Second {
				t.Errorf("no attempt for %v", gap)
			}
		}
		if len(tried) < 30 {
			t.Errorf("%d attempts in an hour", len(tried))
		}
		w.stop()
	})
}

// A receiver that is slow, and not dead, takes turns with the others at its host.
func TestPushSlowReceiversTakeTurns(t *testing.T) {
	pushTest(t, func(t *testing.T, st *store.Memory, r *receivers) {
		for i := range 9 { // one more than fit
			outboxtest.Fill(t, st, store.Key{ID: fmt.Sprint(i)}, "h", "1.0", 40)
		}
		r.Serve = func(context.Context, *a2a.Notification) a2a.Outcome {
			time.Sleep(3 * time.Second)
			return a2a.Outcome{}
		}
		w := newWorld(t, st, r)
		passes(10 * time.Second)
		seen := map[string]int64{}
		for _, n := range r.All() {
			seen[n.Config.TaskID] = n.Seq
		}
		if len(seen) != 9 {
			t.Errorf("%d of 9 had a turn", len(seen))
		}
		passes(10 * time.Minute)
		got := map[string][]int64{}
		for _, n := range r.All() {
			got[n.Config.TaskID] = append(got[n.Config.TaskID], n.Seq)
		}
		for id, seqs := range got {
			if len(seqs) != 40 || !slices.IsSorted(seqs) {
				t.Errorf("%s got %v", id, seqs)
			}
		}
		w.stop()
	})
}

func TestSubscriberDebt(t *testing.T) {
	at := time.Unix(1e9, 0)
	s := &subscriber{}
	for range 1000 {
		s.charge(slowAttempt-1, at)
	}
	if s.burdens(at) || !s.debt.IsZero() {
		t.Error("attempts that are quick are charged")
	}
	for range 100 { // one dead receiver
		at = at.Add(11 * time.Second)
		if s.charge(10*time.Second, at); s.burdens(at) {
			t.Fatal("one attempt at a time is a burden")
		}
	}
	for range 7 {
		s.charge(10*time.Second, at)
	}
	if !s.burdens(at) || s.burdens(at.Add(time.Minute)) {
		t.Error("seven at a time are no burden, or one for ever")
	}
	for range 100 {
		s.charge(10*time.Second, at)
	}
	if s.burdens(at.Add(remembered)) {
		t.Error("there is no end to a debt")
	}
}

// Callers whose credentials name their tenant are apart from those of their name
// in others; those whose credentials name none are one in all.
func TestSubscribersAreCallers(t *testing.T) {
	pushTest(t, func(t *testing.T, st *store.Memory, r *receivers) {
		w := newWorld(t, st, r)
		for i, c := range []struct{ owner, named, tenant string }{
			{"ann", "", "x"}, {"ann", "", "y"}, {"ann", "", ""}, {"ann", "x", "x"}, {"ann", "y", "y"}, {"", "", "z"}, {"", "", ""},
		} {
			ctx := a2a.WithCaller(t.Context(), a2a.Caller{Subject: c.owner, Tenant: c.named})
			w.begin(ctx, store.Key{Tenant: c.tenant, Owner: c.owner, ID: fmt.Sprint(i)}, a2a.TaskStateWorking, 1, &a2a.TaskPushNotificationConfig{ID: "c", URL: "h"})
		}
		passes(time.Second)
		var is []store.Key
		for k := range w.subscribers {
			is = append(is, k)
		}
		slices.SortFunc(is, store.Key.Compare)
		want := []store.Key{{}, {Owner: "ann"}, {Tenant: "x", Owner: "ann"}, {Tenant: "y", Owner: "ann"}}
		if !slices.Equal(is, want) {
			t.Errorf("got %v", is)
		}
		w.stop()
	})
}

// With receivers that behave at random, every event of every caller arrives, in order, and
// nothing is left counted, in a ring, or in memory.
func TestPushOfManySubscribersAtRandom(t *testing.T) {
	for seed := range uint64(5) {
		pushTest(t, func(t *testing.T, st *store.Memory, r *receivers) {
			rng := rand.New(rand.NewPCG(seed, 1))
			want := map[string]int{}
			for i := range 600 {
				id := fmt.Sprint("t", i)
				want[id] = 1 + rng.IntN(5)
				outboxtest.Fill(t, st, store.Key{Owner: fmt.Sprint(rng.IntN(20)), ID: id}, fmt.Sprint(rng.IntN(30)), "1.0", want[id])
			}
			var mu sync.Mutex
			cursor := map[string]int64{}
			r.Serve = func(ctx context.Context, n *a2a.Notification) a2a.Outcome {
				mu.Lock()
				how := rng.IntN(10)
				mu.Unlock()
				switch how {
				case 0:
					<-ctx.Done()
					return outboxtest.Failing5xx
				case 1:
					return outboxtest.Failing5xx
				case 2:
					return outboxtest.Failing429
				case 3:
					time.Sleep(3 * time.Second)
				}
				mu.Lock()
				defer mu.Unlock()
				if was := cursor[n.Config.TaskID]; n.Seq != max(was, 2)+1 {
					t.Errorf("%s: %d follows %d", n.Config.TaskID, n.Seq, was)
				}
				cursor[n.Config.TaskID] = n.Seq
				return a2a.Outcome{}
			}
			w := newWorld(t, st, r)
			passes(23 * time.Hour)
			for id, n := range want {
				if cursor[id] != int64(2+n) {
					t.Errorf("%s is at %d of %d", id, cursor[id], 2+n)
				}
			}
			w.LookSoon()
			passes(time.Minute)
			o := w.Outbox
			if n := o.running + o.probing + o.rings[0].Len() + o.rings[1].Len() + len(o.subscribers) + len(o.tasks); n != 0 {
				t.Errorf("%d running, %d probing, %d and %d in rings, %d subscribers, %d tasks",
					o.running, o.probing, o.rings[0].Len(), o.rings[1].Len(), len(o.subscribers), len(o.tasks))
			}
			w.stop()
		})
	}
}
