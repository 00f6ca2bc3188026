//go:build unix

package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parley-a2a/parley/internal/wake"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/storetest"
	"golang.org/x/sys/unix"
)

// aged makes a database of an older version, and the same in memory.
func aged(t *testing.T, tasks int) (path string, memory *store.Memory, keys []store.Key) {
	t.Helper()
	packsAfter(t, time.Hour)
	path, memory = filepath.Join(t.TempDir(), "parley.db"), store.NewMemory()
	t.Cleanup(func() { memory.Close() })
	st := mustOpen(t, path, nil)
	var all []*store.Append
	for i := range tasks {
		a := quickTask(i, true)
		a.Row.ID, a.Row.State = fmt.Sprintf("task %03d", i), int32(3+i%2)
		as := []*store.Append{a}
		switch i % 8 {
		case 1:
			as = streamOf(i, true)
			for _, b := range as {
				b.Row.ID = a.Row.ID
			}
		case 2:
			a.Seal.Body = []byte(strings.Repeat("words ", 300)) // in the table of seals
		case 3:
			a.Seal.Head = make([]byte, maxClear+1) // which is too large
		case 4:
			a.Seal, a.Row.Active = nil, true
		case 5:
			noise := make([]byte, maxPiece)
			rand.NewChaCha8([32]byte{}).Read(noise)
			a.Entries[1].Body = noise
		}
		all = append(all, as...)
		keys = append(keys, a.Row.Key)
	}
	for _, s := range []store.Store{st, memory} {
		if err := errors.Join(queued(s, all)...); err != nil {
			t.Fatal(err)
		}
	}
	if err := age(st); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	return path, memory, keys
}

// wantSame compares what a store has of tasks, in lists, too.
func wantSame(t testing.TB, want, got store.Store, keys []store.Key) {
	t.Helper()
	wantTasks(t, want, got, keys)
	for _, q := range []store.Query{{}, {Body: true}, {State: 3}, {MaxBytes: 4000, Body: true}} {
		q.Limit = 1000
		a, errA := want.List(t.Context(), q)
		b, errB := got.List(t.Context(), q)
		if d := diff(a, b); d != "" || errA != errB {
			t.Errorf("%+v: %v, %v (-want +got)\n%s", q, errA, errB, d)
		}
	}
}

// diff is cmp.Diff, which compares bytes one by one.
func diff(want, got any) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return cmp.Diff(want, got)
}

func wantTasks(t testing.TB, want, got store.Store, keys []store.Key) {
	t.Helper()
	for _, k := range keys {
		for _, most := range []int64{store.Whole, store.RowOnly, 1} {
			a, errA := want.Get(t.Context(), k, most)
			b, errB := got.Get(t.Context(), k, most)
			if d := diff(a, b); d != "" || errA != errB {
				t.Errorf("%s: %v, %v (-want +got)\n%s", k.ID, errA, errB, d)
			}
		}
		for after := range int64(5) {
			a, errA := want.Entries(t.Context(), k, after, 3)
			b, errB := got.Entries(t.Context(), k, after, 3)
			if d := diff(a, b); d != "" || errA != errB {
				t.Errorf("log of %s after %d: %v, %v (-want +got)\n%s", k.ID, after, errA, errB, d)
			}
		}
	}
}

// packsAfter lets stores that are opened wait so long before they pack.
func packsAfter(t *testing.T, d time.Duration) {
	was := packAfter
	packAfter = d
	t.Cleanup(func() { packAfter = was })
}

// Tasks of an older version are packed after the start, once, and read the same as before;
// large or active ones stay unpacked.
func TestOldTasksArePacked(t *testing.T) {
	path, memory, keys := aged(t, 80)
	packsAfter(t, 0)
	var log bytes.Buffer
	for i := range 2 {
		st := mustOpen(t, path, &Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		<-st.packer
		wantSame(t, memory, st, keys)
		storetest.Check(t, st, keys...)
		if n := count(t, st, "SELECT count(*) FROM task WHERE head_size IS NOT NULL"); n != 50 {
			t.Errorf("start %d: %d tasks are packed, want 50", i, n)
		}
		if n := count(t, st, "SELECT count(*) FROM seal"); n != 0 {
			t.Errorf("start %d: %d bodies are left", i, n)
		}
		if n := count(t, st, "SELECT count(DISTINCT task) FROM entry"); n != 30+i {
			t.Errorf("start %d: %d tasks have entries, want %d", i, n, 30+i)
		}
		if kept, err := st.Kept(t.Context()); len(kept) != 0 || err != nil {
			t.Errorf("start %d: it is kept for others to see: %v, %v", i, kept, err)
		}
		p, _, err := st.writer.packing()
		if err != nil || p.at != p.end || p.end != 80 {
			t.Errorf("start %d: %+v, %v", i, p, err)
		}
		// Packed tasks can continue and be deleted.
		a := goOn(quickTask(0, true))
		a.Row.Key, a.Seal, a.After, a.Row.Active, a.Row.Node, a.Entries[0].Seq = keys[i*8], nil, 4, true, "node", 5
		for _, s := range []store.Store{st, memory} {
			mustAppend(t, s, a)
			r, err := s.Get(t.Context(), keys[7+i*8], store.RowOnly)
			if err != nil {
				t.Fatal(err)
			}
			if n, err := s.Delete(t.Context(), []store.Row{r.Row}); n != 1 || err != nil {
				t.Errorf("deleted: %d, %v", n, err)
			}
		}
		if i == 0 { // which are two of the 50 less, and two others for the next start
			for j := range 2 {
				b := quickTask(100+j, true)
				keys = append(keys, b.Row.Key)
				mustAppend(t, st, b)
				mustAppend(t, memory, b)
			}
		}
		wantSame(t, memory, st, keys)
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if lines := strings.Count(log.String(), "\n"); lines != 2 || !strings.Contains(log.String(), "tasks=50") {
		t.Errorf("the log:\n%s", log.String())
	}
}

// Wherever a process is killed, the next one continues packing.
func TestPackingGoesOnAfterACrash(t *testing.T) {
	path, memory, keys := aged(t, 100)
	for transactions := 0; ; transactions++ {
		st := mustOpen(t, path, nil)
		p, begun, err := st.writer.packing()
		if err != nil || begun != (transactions > 0) {
			t.Fatalf("%d: %+v, %t, %v", transactions, p, begun, err)
		}
		if !begun {
			p.end = st.lastKey
		}
		if p.at == p.end {
			if transactions < 3 {
				t.Errorf("%d transactions only", transactions)
			}
			storetest.Check(t, st, keys...)
			break
		}
		if _, err := st.pack(&p); err != nil {
			t.Fatal(err)
		}
		if done, of, err := st.Packing(t.Context()); done != p.at || of != p.end || err != nil {
			t.Errorf("%+v, told as %d of %d, %v", p, done, of, err)
		}
		path = crashed(t, st)
		wantSame(t, memory, st, keys)
		if transactions == 2 {
			file := filepath.Join(t.TempDir(), "backup.db")
			if err := st.Backup(t.Context(), file, nil); err != nil {
				t.Fatal(err)
			}
			path = file
		}
	}
}

// ageing is a Store in which some appends turn tasks into those of an older version, and
// others pack some of these.
type ageing struct {
	*Store
	t    testing.TB
	n    int
	pack packing
}

func (s *ageing) Append(a *store.Append, done func(error)) {
	s.Store.Append(a, func(err error) {
		switch s.n++; {
		case s.n%7 == 0:
			if err := age(s.Store); err != nil {
				s.t.Error(err)
			}
			s.pack = packing{0, 1 << 40}
		case s.n%2 == 0:
			if _, err := s.Store.pack(&s.pack); err != nil {
				s.t.Error(err)
			}
		}
		done(err)
	})
}

// No operation sees whether a task is packed.
func TestPackingBesideAllOperations(t *testing.T) {
	packsAfter(t, time.Hour)
	for seed := range uint64(4) {
		path := filepath.Join(t.TempDir(), fmt.Sprint(seed, ".db"))
		storetest.Random(t, func(t testing.TB) store.Store {
			return &ageing{Store: mustOpen(t, path, nil), t: t}
		}, seed, 400)
	}
}

// While tasks are packed their logs and lists are read, some go on, some are deleted.
func TestPackingBesideReaders(t *testing.T) {
	path, memory, keys := aged(t, 120)
	st := mustOpen(t, path, nil)
	var stop atomic.Bool
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for !stop.Load() {
				for _, k := range keys[:60] {
					want, _ := memory.Entries(t.Context(), k, 0, 0)
					var got []store.Entry
					for e, err := range store.EachEntry(t.Context(), st, k, 0, int64(len(want))) {
						if err != nil {
							t.Error(err)
						}
						got = append(got, e)
					}
					if d := diff(want, got); d != "" {
						t.Errorf("the log of %s: %s", k.ID, d)
					}
				}
				wantTasks(t, memory, st, keys[:8])
			}
		})
	}
	all.Go(func() {
		for i, k := range keys[60:] {
			r, err := st.Get(t.Context(), k, store.RowOnly)
			if err != nil {
				t.Error(err)
				return
			}
			if i%2 == 0 {
				_, err = st.Delete(t.Context(), []store.Row{r.Row})
			} else {
				a := &store.Append{Row: r.Row, After: r.Last, Epoch: r.Epoch, Entries: []store.Entry{{Seq: r.Last + 1, Time: began, Kind: 2}}}
				a.Row.Active, a.Row.Node = true, "node"
				err = store.Do(t.Context(), st, a)
			}
			if err != nil {
				t.Errorf("%s: %v", k.ID, err)
			}
		}
	})
	for range 3 {
		p := packing{0, st.lastKey}
		for p.at < p.end {
			if _, err := st.pack(&p); err != nil {
				t.Error(err)
				break
			}
		}
	}
	stop.Store(true)
	all.Wait()
	storetest.Check(t, st, keys...)
}

// If the disk fails, packed tasks stay packed, and packing continues after them.
func TestPackingOnAFaultyDisk(t *testing.T) {
	path, memory, keys := aged(t, 60)
	d := onFaultyDisk(t)
	st := mustOpen(t, path, nil)
	p := packing{0, st.lastKey}
	errno := unix.ENOSPC
	for p.at < p.end {
		for _, fails := range []*atomic.Pointer[unix.Errno]{&d.write, &d.sync} {
			fails.Store(&errno)
			was := p
			if _, err := st.pack(&p); err == nil || p != was {
				t.Errorf("on a full disk: %v, %+v became %+v", err, was, p)
			}
			fails.Store(nil)
			wantSame(t, memory, st, keys)
		}
		if _, err := st.pack(&p); err != nil {
			t.Fatal(err)
		}
	}
	wantSame(t, memory, st, keys)
	storetest.Check(t, st, keys...)
}

// Packing gives way to commits, but not for ever.
func TestPackingYields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Store{over: make(chan struct{})}
		took := func(want bool) time.Duration {
			begun := time.Now()
			if s.leave(packPause) != want {
				t.Errorf("it is told %t", !want)
			}
			return time.Since(begun)
		}
		quiet := took(true)
		ctx, cancel := context.WithCancel(t.Context())
		var others sync.WaitGroup
		others.Go(func() {
			for wake.Pause(ctx, packPause/4) == nil {
				s.commits.Add(1)
			}
		})
		busy := took(true)
		cancel()
		others.Wait()
		if quiet != packPause || busy != packAtLast {
			t.Errorf("%v without commits, %v beside them", quiet, busy)
		}
		close(s.over)
		if d := took(false); d != 0 {
			t.Errorf("%v after Close", d)
		}
	})
}
