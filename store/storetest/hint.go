package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-a2a/parley/store"
)

// hintBehaviours test stores that several processes may change at once. They open the same
// store twice.
var hintBehaviours = []behaviour{
	{"an append is hinted to others", testHintAppend},
	{"of many appends each is hinted", testHintMany},
	{"mail is hinted to others", testHintMail},
	{"work is hinted to others", testHintWork},
	{"a slow listener holds nobody up", testHintSlow},
	{"two processes draw, take and mail at once", testBeside},
}

// aloneBehaviours test stores that only one process uses.
var aloneBehaviours = []behaviour{
	{"there is nothing to hint", testNoHints},
}

var watchBehaviours = []behaviour{
	{"watching ends with its context, and with the store", testWatchEnds},
}

// hintWait is how long a test waits for something that should take milliseconds.
const hintWait = 20 * time.Second

// watch watches a store until the test ends, and returns a function that waits for a hint.
// That function repeats an act until the hint comes, because hints before the watch has begun
// are missed, and others may be lost.
func watch(t testing.TB, st store.Store, wanted func(store.Hint) bool) (wait func(what string, act func())) {
	t.Helper()
	heard := make(chan struct{}, 1)
	var busy atomic.Bool
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- st.Watch(ctx, func(h store.Hint) {
			if !busy.CompareAndSwap(false, true) {
				t.Error("hints come twice at a time")
			}
			if wanted(h) {
				select {
				case heard <- struct{}{}:
				default:
				}
			}
			busy.Store(false)
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("watch: %v", err)
		}
	})
	return func(what string, act func()) {
		t.Helper()
		select {
		case <-heard: // of an earlier act
		default:
		}
		for end := time.Now().Add(hintWait); ; {
			act()
			select {
			case <-heard:
				return
			case <-time.After(200 * time.Millisecond):
			}
			if time.Now().After(end) {
				t.Fatalf("%s: nobody was told", what)
			}
		}
	}
}

func testHintAppend(t testing.TB, open Opener) {
	st, other := start(t, open), start(t, open)
	for _, k := range []store.Key{name("a"), {Tenant: "\xff", Owner: "\x00", ID: "日本"}} {
		var a *store.Append
		wait := watch(t, other, func(h store.Hint) bool { return h.Task == k.Hash() })
		wait(fmt.Sprintf("an append to %q", k), func() {
			if a == nil {
				a = create(k, 1)
			} else { // the first append came before the watch
				a = then(a, 1)
			}
			must(t, st, a)
		})
	}
}

// testHintMany: each of many appends at once is hinted, or a hint says that hints were lost.
func testHintMany(t testing.TB, open Opener) {
	st, other := start(t, open), start(t, open)
	missing := map[uint64]bool{}
	all := make([]*store.Append, 300)
	for i := range all {
		all[i] = create(name(fmt.Sprint("many ", i)), 1)
		missing[all[i].Row.Hash()] = true
	}
	wait := watch(t, other, func(h store.Hint) bool {
		if delete(missing, h.Task); h.Lost {
			clear(missing)
		}
		return len(missing) == 0
	})
	wait("300 at once", func() {
		mustAll(t, st, all)
		for i := range all {
			all[i] = then(all[i], 1)
		}
	})
}

func testHintMail(t testing.TB, open Opener) {
	st, other := start(t, open), start(t, open)
	for _, node := range []string{"node", "\xff\x00", "日本", strings.Repeat("a long name ", 5000)} {
		wait := watch(t, other, func(h store.Hint) bool { return h.Node == node || h.Lost })
		wait("mail for "+node[:2], func() { send(t, st, store.Mail{Node: node, Body: []byte("body")}) })
		if got := receive(t, other, node, 1); len(got) != 1 || got[0] != "body" {
			t.Errorf("mail: %q", got)
		}
	}
}

func testHintWork(t testing.TB, open Opener) {
	st, other := start(t, open), start(t, open)
	n := 0
	wait := watch(t, other, func(h store.Hint) bool { return h.Work })
	wait("a task that waits", func() {
		n++
		must(t, st, waiting(name(fmt.Sprint(n))))
	})
	if got := draw(t, other, "other", "", 100); len(got) != n {
		t.Errorf("%d of %d tasks were drawn", len(got), n)
	}
	waitLeave := watch(t, other, func(h store.Hint) bool { return h.Work })
	waitLeave("a node that leaves", func() { leave(t, st, "node") })
}

// testHintSlow: a slow watcher still gets a hint of the last append, or that hints were lost,
// and no writer waits for it.
func testHintSlow(t testing.TB, open Opener) {
	st, other := start(t, open), start(t, open)
	gate := make(chan struct{})
	last := create(name("last"), 1)
	wait := watch(t, other, func(h store.Hint) bool {
		<-gate
		return h.Lost || h.Task == last.Row.Hash()
	})
	began := false
	wait("the last one", func() {
		if began { // the append before came too early
			last = then(last, 1)
			must(t, st, last)
			return
		}
		for batch := range 10 {
			all := make([]*store.Append, 600)
			for i := range all {
				all[i] = create(name(fmt.Sprint(batch, " ", i)), 1)
			}
			mustAll(t, st, all)
		}
		must(t, st, last)
		close(gate)
		began = true
	})
}

func testBeside(t testing.TB, open Opener) {
	st, other := start(t, open), start(t, open)
	drawAtOnce(t, st, other)
	mailAtOnce(t, st, other)
	a, err := st.Now(t.Context())
	b, otherErr := other.Now(t.Context())
	c, lastErr := st.Now(t.Context())
	if err != nil || otherErr != nil || lastErr != nil {
		t.Fatal(err, otherErr, lastErr)
	}
	if b.Before(a.Add(-time.Millisecond)) || c.Before(b.Add(-time.Millisecond)) {
		t.Errorf("one clock says %v, the other then %v, and the first then %v", a, b, c)
	}
}

func testNoHints(t testing.TB, open Opener) {
	st := start(t, open)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- st.Watch(ctx, func(h store.Hint) { t.Errorf("a hint: %+v", h) })
	}()
	must(t, st, create(name("a"), 1), waiting(name("b")))
	send(t, st, store.Mail{Node: "node"})
	leave(t, st, "node")
	cancel()
	wantError(t, "watch", <-done, context.Canceled)
}

func testWatchEnds(t testing.TB, open Opener) {
	st := start(t, open)
	why := errors.New("why")
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error, 3)
	go func() { done <- st.Watch(ctx, func(store.Hint) {}) }()
	cancel(why)
	wantError(t, "watch, after its context ended", <-done, why)
	wantError(t, "watch, with a context that has ended", st.Watch(ended(t), func(store.Hint) {}), context.Canceled)

	for range 2 {
		go func() { done <- st.Watch(t.Context(), func(store.Hint) {}) }()
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		wantError(t, "watch, after the store was closed", <-done, store.ErrClosed)
	}
	wantError(t, "watch of a closed store", st.Watch(t.Context(), func(store.Hint) {}), store.ErrClosed)
}
