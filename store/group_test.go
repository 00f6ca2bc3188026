package store_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/parley-a2a/parley/store"
)

// gate is a commit function that reports what it got and waits until the test releases it.
type gate struct {
	batches chan []*store.Append
	pass    chan error // what every append of the batch gets
}

func newGate() *gate {
	return &gate{batches: make(chan []*store.Append), pass: make(chan error)}
}

func (g *gate) commit(batch []*store.Append) []error {
	kept := append([]*store.Append(nil), batch...) // the group uses the slice again
	g.batches <- kept
	err := <-g.pass
	errs := make([]error, len(batch))
	for i := range errs {
		errs[i] = err
	}
	return errs
}

// sized is an append of about n bytes.
func sized(n int) *store.Append {
	return &store.Append{Entries: []store.Entry{{Seq: 1, Body: make([]byte, n)}}}
}

func TestGroupGathersWhileACommitRuns(t *testing.T) {
	g := newGate()
	group := store.NewGroup(g.commit)
	var outcomes []int // written by the group's goroutine only
	var all []*store.Append
	for i := range 10 {
		a := sized(i)
		all = append(all, a)
		group.Append(a, func(err error) {
			if err != nil {
				t.Errorf("append %d: %v", i, err)
			}
			outcomes = append(outcomes, i)
		})
		if i == 0 { // a lone append is committed at once
			if first := <-g.batches; len(first) != 1 {
				t.Errorf("the first commit has %d appends, want 1", len(first))
			}
		}
	}
	g.pass <- nil
	second := <-g.batches
	if len(second) != 9 {
		t.Errorf("the second commit has %d appends, want the 9 that waited", len(second))
	}
	for i, a := range second {
		if a != all[i+1] {
			t.Errorf("place %d of the commit has another's append", i)
		}
	}
	g.pass <- nil
	group.Close()
	for i, o := range outcomes {
		if i != o {
			t.Fatalf("outcomes came in the order %v", outcomes)
		}
	}
	if len(outcomes) != 10 {
		t.Errorf("%d outcomes, want 10", len(outcomes))
	}
}

func TestGroupReportsEachOutcome(t *testing.T) {
	odd := errors.New("odd")
	group := store.NewGroup(func(batch []*store.Append) []error {
		errs := make([]error, len(batch))
		for i, a := range batch {
			if a.After%2 == 1 {
				errs[i] = odd
			}
		}
		return errs
	})
	for i := range int64(100) {
		group.Append(&store.Append{After: i}, func(err error) {
			if got := err == odd; got != (i%2 == 1) {
				t.Errorf("append %d got %v", i, err)
			}
		})
	}
	group.Close()
}

func TestGroupCapsACommit(t *testing.T) {
	for what, c := range map[string]struct{ size, appends, want int }{
		"many small": {0, 3000, 1024},
		"many":       {60 << 10, 200, 16}, // with what an append weighs itself, so many fit in 1 MiB
		"some large": {100 << 10, 12, 2},  // and here in 256 KiB
		"one huge":   {32 << 20, 1, 1},    // alone, but it goes
	} {
		t.Run(what, func(t *testing.T) {
			g := newGate()
			group := store.NewGroup(g.commit)
			group.Append(sized(0), func(error) {})
			<-g.batches // a commit runs, the rest gathers
			a := sized(c.size)
			for range c.appends {
				group.Append(a, func(error) {})
			}
			g.pass <- nil
			for left := c.appends; left > 0; {
				n := len(<-g.batches)
				if want := min(c.want, left); n != want {
					t.Errorf("a commit of %d appends, want %d", n, want)
				}
				left -= n
				g.pass <- nil
			}
			group.Close()
		})
	}
}

// A small append does not wait for large ones, except those of its own task.
func TestGroupLetsSmallOnesPass(t *testing.T) {
	g := newGate()
	group := store.NewGroup(g.commit)
	names := map[*store.Append]string{}
	queue := func(name, task string, size int) {
		a := sized(size)
		a.Row.Key = store.Key{Tenant: "t", Owner: "o", ID: task}
		names[a] = name
		group.Append(a, func(error) {})
	}
	queue("first", "0", 0)
	<-g.batches // a commit runs, the rest gathers
	queue("small 1", "1", 100)
	queue("large 1", "1", 150<<10)
	queue("large 2", "2", 150<<10)
	queue("huge", "3", 3<<20)
	queue("small 2", "2", 100) // behind its task's
	queue("large 3", "4", 100<<10)
	queue("small 3", "3", 100)
	queue("small 4", "5", 100)
	for _, want := range []string{
		"small 1, large 1, large 3, small 4",
		"large 2, small 2",
		"huge",
		"small 3",
	} {
		g.pass <- nil
		var got []string
		for _, a := range <-g.batches {
			got = append(got, names[a])
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("a commit of %s, want %s", strings.Join(got, ", "), want)
		}
	}
	g.pass <- nil
	group.Close()
}

func TestGroupMakesAppendersWaitWhenFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		group := store.NewGroup(g.commit)
		big := sized(7 << 20) // three fit in the queue
		var mu sync.Mutex
		queued, outcomes := 0, 0
		count := func(n *int) { mu.Lock(); *n++; mu.Unlock() }
		for range 5 {
			go func() {
				group.Append(big, func(error) { count(&outcomes) })
				count(&queued)
			}()
			synctest.Wait()
		}
		<-g.batches // the first, which left room; three more are in the queue
		synctest.Wait()
		if queued != 4 {
			t.Errorf("%d appends were queued, want 4", queued)
		}
		group.Append(sized(1), func(error) {}) // for which there is room
		g.pass <- nil
		<-g.batches
		synctest.Wait()
		if queued != 5 {
			t.Errorf("%d appends were queued after a commit, want 5", queued)
		}
		for range 4 {
			g.pass <- nil
			<-g.batches
		}
		g.pass <- nil
		group.Close()
		if outcomes != 5 {
			t.Errorf("%d outcomes, want 5", outcomes)
		}
	})
}

func TestGroupCloseFreesWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		group := store.NewGroup(g.commit)
		outcomes := make(chan error, 10)
		for range 5 { // one in the commit, three queued, one waiting for room
			go group.Append(sized(7<<20), func(err error) { outcomes <- err })
			synctest.Wait()
		}
		<-g.batches
		synctest.Wait()
		go group.Close()
		synctest.Wait()
		for range 3 {
			g.pass <- nil
			<-g.batches
		}
		g.pass <- nil
		group.Close() // the second call waits too
		synctest.Wait()
		got := map[error]int{}
		for range len(outcomes) {
			got[<-outcomes]++
		}
		if got[nil] != 4 || got[store.ErrClosed] != 1 {
			t.Errorf("outcomes: %v, want 4 written and 1 closed", got)
		}
	})
}

// After Close, done is called from another goroutine, because the caller may hold a lock that
// done takes.
func TestGroupClosed(t *testing.T) {
	group := store.NewGroup(func(batch []*store.Append) []error { return make([]error, len(batch)) })
	group.Close()
	var mu sync.Mutex
	done := make(chan error)
	mu.Lock()
	group.Append(sized(1), func(err error) {
		mu.Lock()
		defer mu.Unlock()
		done <- err
	})
	mu.Unlock()
	if err := <-done; err != store.ErrClosed {
		t.Errorf("got %v, want ErrClosed", err)
	}
}

// An item of size 0 is always accepted at once: the writer itself adds such items, and only
// the writer could make space.
func TestQueueHasRoomForWhatIsOfNoSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q *store.Queue[int]
		third := make(chan error, 1)
		q = store.NewQueue(func(batch []int) []error {
			if batch[0] == 1 {
				synctest.Wait() // until 2 is queued, which is larger than the queue
				q.Add(3, nil, 0, func(err error) { third <- err })
			}
			return make([]error, len(batch))
		})
		q.Add(1, nil, 1, func(error) {})
		q.Add(2, nil, 64<<20, func(error) {})
		if err := <-third; err != nil {
			t.Error(err)
		}
		q.Close()
	})
}

// Appends of one kind enter the queue in the order in which they asked for space, however
// many come later: a huge one does not wait until nothing else is written.
func TestGroupHasRoomForHugeOnes(t *testing.T) {
	for name, others := range map[string]int{"small": 60 << 10, "large": 100 << 10} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGate()
				group := store.NewGroup(g.commit)
				group.Append(sized(0), func(error) {})
				<-g.batches // a commit runs, the rest gathers
				queue := func() {
					for range 20 { // more than one commit takes
						go group.Append(sized(others), func(error) {})
					}
					synctest.Wait()
				}
				queue()
				written := false
				go group.Append(sized(30<<20), func(error) { written = true })
				for range 30 {
					queue()
					g.pass <- nil
					<-g.batches
				}
				synctest.Wait()
				if !written {
					t.Error("a huge append waits for ever")
				}
				go func() {
					for range g.batches {
						g.pass <- nil
					}
				}()
				g.pass <- nil
				group.Close()
				close(g.batches)
			})
		})
	}
}
