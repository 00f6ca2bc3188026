package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/parley-a2a/parley/store"
)

// world is a store in an empty database, and a separate connection to it.
type world struct {
	*Store
	t       testing.TB
	address string
	sql     *pgx.Conn
}

func newWorld(t testing.TB) *world {
	t.Helper()
	address := copied(t)
	w := &world{Store: opened(t, address), t: t, address: address}
	var err error
	if w.sql, err = pgx.Connect(context.Background(), address); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.sql.Close(context.Background()) })
	return w
}

// opened opens a store that is closed with the test.
func opened(t testing.TB, address string) *Store {
	t.Helper()
	s, err := Open(context.Background(), address, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func (w *world) exec(sql string, args ...any) {
	w.t.Helper()
	if _, err := w.sql.Exec(context.Background(), sql, args...); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) count(sql string, args ...any) (n int64) {
	w.t.Helper()
	if err := w.sql.QueryRow(context.Background(), sql, args...).Scan(&n); err != nil {
		w.t.Fatal(err)
	}
	return n
}

// until waits until a statement returns a number.
func (w *world) until(want int64, sql string, args ...any) {
	w.t.Helper()
	for end := time.Now().Add(20 * time.Second); w.count(sql, args...) != want; {
		if time.Now().After(end) {
			w.t.Fatalf("%s: %d, want %d", sql, w.count(sql, args...), want)
		}
		w.exec("SELECT pg_sleep(0.01)")
	}
}

// appendAll queues appends and waits for the outcome of each.
func appendAll(s store.Store, appends []*store.Append) []error {
	errs := make([]error, len(appends))
	var wg sync.WaitGroup
	for i, a := range appends {
		wg.Add(1)
		s.Append(a, func(err error) { errs[i] = err; wg.Done() })
	}
	wg.Wait()
	return errs
}

// goesOn returns an append that continues after a with n entries.
func goesOn(a *store.Append, n int) *store.Append {
	after := a.After + int64(len(a.Entries))
	next := &store.Append{Row: a.Row, After: after, Epoch: a.Row.Epoch}
	for i := range n {
		next.Entries = append(next.Entries, store.Entry{Seq: after + int64(i) + 1, Time: time.Now(), Kind: 2, Body: []byte("more")})
	}
	return next
}

// whole checks that a task's log ends at last, without gaps or duplicates.
func (w *world) whole(k store.Key, last int64) {
	w.t.Helper()
	es, err := w.Entries(context.Background(), k, 0, 0)
	if err != nil || int64(len(es)) != last {
		w.t.Errorf("%s: %d entries, want %d: %v", k.ID, len(es), last, err)
	}
	for i, e := range es {
		if e.Seq != int64(i)+1 {
			w.t.Errorf("%s: entry %d is in place %d", k.ID, e.Seq, i+1)
		}
	}
	r, err := w.Get(context.Background(), k, store.Whole)
	if last == 0 && errors.Is(err, store.ErrNotFound) {
		return
	}
	if err != nil || r.Last != last {
		w.t.Errorf("%s: the row says %+v, want last %d: %v", k.ID, r, last, err)
	}
}

// mixed returns a batch of tasks that begin and tasks that continue.
func (w *world) mixed(n int) []*store.Append {
	w.t.Helper()
	var batch []*store.Append
	for i := range n {
		a := newTask(fmt.Sprint("task ", i), 2)
		if i%2 == 0 {
			if err := store.Do(context.Background(), w, a); err != nil {
				w.t.Fatal(err)
			}
			a = goesOn(a, 3)
		}
		a.Receipts = []store.Receipt{{Name: fmt.Sprint("receipt ", i), Time: time.Now(), Until: time.Now().Add(time.Hour), Seq: a.After + 1}}
		a.Blobs = []store.Blob{{Hash: "the same", Data: []byte("blob")}}
		a.Pushes = []store.PushConfig{{ID: "hook", Host: "h", Created: time.Now(), Live: true, Node: "node"}}
		batch = append(batch, a)
	}
	return batch
}

// TestTransactionIsRepeated: a transaction that certainly had no effect is repeated as a
// whole.
func TestTransactionIsRepeated(t *testing.T) {
	for name, fault := range map[string]func(w *world){
		"serialization failure": func(w *world) { w.fail("40001", "nextval('faults') <= 3") },
		"deadlock":              func(w *world) { w.fail("40P01", "nextval('faults') <= 2") },
		"the server ends connections before the statement": func(w *world) {
			w.exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
		},
		"the server ends the connection in the statement": func(w *world) {
			w.exec("CREATE SEQUENCE faults")
			w.exec(`CREATE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
				IF nextval('faults') = 2 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF; RETURN NEW; END $$`)
			w.exec("CREATE TRIGGER fault BEFORE INSERT ON parley.entry FOR EACH ROW EXECUTE FUNCTION fault()")
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			batch := w.mixed(40)
			fault(w)
			for i, err := range appendAll(w, batch) {
				if err != nil {
					t.Errorf("append %d: %v", i, err)
				}
			}
			for _, a := range batch {
				w.whole(a.Row.Key, a.After+int64(len(a.Entries)))
			}
			if n := w.count("SELECT count(*) FROM parley.receipt"); n != 40 {
				t.Errorf("%d receipts", n)
			}
			if n := w.count("SELECT count(*) FROM parley.push"); n != 40 {
				t.Errorf("%d push configs", n)
			}
		})
	}
}

// fail makes inserts of entries fail with a code if a condition holds.
func (w *world) fail(code, condition string) {
	w.exec("CREATE SEQUENCE faults")
	w.exec("CREATE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF " + condition +
		" THEN RAISE EXCEPTION 'a fault' USING ERRCODE = '" + code + "'; END IF; RETURN NEW; END $$")
	w.exec("CREATE TRIGGER fault BEFORE INSERT ON parley.entry FOR EACH ROW EXECUTE FUNCTION fault()")
}

// TestCommitsAreTimed: the watcher of transactions gets the duration of the first COMMIT, and
// of others now and then.
func TestCommitsAreTimed(t *testing.T) {
	w := newWorld(t)
	var heard []store.Commit
	w.OnCommit(func(c store.Commit) { heard = append(heard, c) })
	if err := store.Do(t.Context(), w, newTask("task", 1)); err != nil {
		t.Fatal(err)
	}
	if len(heard) != 1 || heard[0].Sync <= 0 || heard[0].Sync >= heard[0].Took {
		t.Errorf("the watcher was told %+v", heard)
	}
	// Each append counts, even if several are written as one change of their task.
	first, other := goesOn(newTask("task", 1), 1), newTask("other", 1)
	for _, err := range w.writer.commit([]*store.Append{first, goesOn(first, 2), other}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if c := heard[len(heard)-1]; c.Appends != 3 || c.Entries != 4 {
		t.Errorf("the watcher was told %+v of three appends with four entries", c)
	}
}

// TestLostCommit: if a connection is lost during a COMMIT, its outcome is unknown. The error
// says so, and nothing is written twice or in part.
func TestLostCommit(t *testing.T) {
	w := newWorld(t)
	batch := w.mixed(40)
	w.exec("CREATE SEQUENCE faults")
	w.exec(`CREATE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF nextval('faults') = 2 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF; RETURN NULL; END $$`)
	w.exec("CREATE CONSTRAINT TRIGGER fault AFTER INSERT ON parley.entry DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION fault()")
	errs := appendAll(w, batch)
	lost := 0
	for i, a := range batch {
		if errs[i] != nil {
			lost++
		}
		last := a.After
		if errs[i] == nil {
			last += int64(len(a.Entries))
		}
		w.whole(a.Row.Key, last)
	}
	if lost == 0 {
		t.Error("no append was lost")
	}
	for i, err := range appendAll(w, batch) { // what failed can be done again, the rest not
		if refused := errors.Is(err, store.ErrConflict); (errs[i] == nil) != refused || !refused && err != nil {
			t.Errorf("append %d: %v, after %v", i, err, errs[i])
		}
	}
	for _, a := range batch {
		w.whole(a.Row.Key, a.After+int64(len(a.Entries)))
	}
}

// TestNothingComesWithAnError: tasks claimed, drawn or taken by a transaction that finally
// fails are not returned.
func TestNothingComesWithAnError(t *testing.T) {
	w := newWorld(t)
	lost, waits := newTask("lost", 1), newTask("waits", 1)
	for a, node := range map[*store.Append]string{lost: "dead", waits: ""} {
		a.Row.Active, a.Row.Node = true, node
		if err := store.Do(t.Context(), w, a); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Post(t.Context(), []store.Mail{{Node: "me", Body: []byte("mail")}}); err != nil {
		t.Fatal(err)
	}
	w.exec("CREATE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'a fault'; END $$")
	w.exec("CREATE CONSTRAINT TRIGGER fault AFTER UPDATE ON parley.task DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION fault()")
	w.exec("CREATE CONSTRAINT TRIGGER fault AFTER DELETE ON parley.mail DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION fault()")
	if rows, err := w.Claim(t.Context(), "me", time.Now(), 9); len(rows) > 0 || err == nil {
		t.Errorf("claimed %+v, %v", rows, err)
	}
	if rows, err := w.Draw(t.Context(), "me", "", 9); len(rows) > 0 || err == nil {
		t.Errorf("drew %+v, %v", rows, err)
	}
	if mail, err := w.Mail(t.Context(), "me", 9); len(mail) > 0 || err == nil {
		t.Errorf("took %+v, %v", mail, err)
	}
}

// TestOneOfABatchFails: an append that the server refuses for its content, or that does not
// match the database, does not affect the others.
func TestOneOfABatchFails(t *testing.T) {
	w := newWorld(t)
	w.fail("23514", "NEW.body = '\\x'::bytea || NEW.body AND position('poison'::bytea in NEW.body) > 0")
	batch := w.mixed(60)
	batch[7].Entries[0].Body = []byte("poison")
	batch[11].After += 5 // 11 begins
	for i := range batch[11].Entries {
		batch[11].Entries[i].Seq += 5
	}
	batch[12].Epoch = 9
	batch[13].Receipts = batch[14].Receipts // of the same name, and 14 is behind it
	batch[16].After--
	batch[16].Entries[0].Seq, batch[16].Entries[1].Seq, batch[16].Entries[2].Seq = 2, 3, 4
	batch[20].Entries = nil
	batch[22] = newTask("task 22", 1)                     // which is there
	batch = append(batch, goesOn(batch[7], 1))            // there is no such task then
	batch = append(batch, goesOn(batch[9], 1))            // merged with it
	batch = append(batch, goesOn(batch[len(batch)-1], 1)) // and with that
	want := map[int]error{11: store.ErrNotFound, 12: store.ErrLeaseLost, 16: store.ErrConflict, 22: store.ErrConflict, 60: store.ErrNotFound}
	errs := appendAll(w, batch)
	duplicates := 0
	for i, err := range errs {
		switch {
		case i == 13 || i == 14: // which is first depends on who gets there
			if errors.Is(err, store.ErrDuplicate) {
				duplicates++
			}
		case i == 7, i == 20:
			if err == nil {
				t.Errorf("append %d was written", i)
			}
		case !errors.Is(err, want[i]):
			t.Errorf("append %d: %v, want %v", i, err, want[i])
		}
	}
	if duplicates != 1 {
		t.Errorf("%d of two receipts of one name were refused", duplicates)
	}
	w.whole(batch[9].Row.Key, 4)
	w.whole(batch[7].Row.Key, 0)
}

// TestPushConfigsKeepTheirOrder: push configs are listed as they were queued, even if their
// batch must be written in another order.
func TestPushConfigsKeepTheirOrder(t *testing.T) {
	w := newWorld(t)
	now := time.Now()
	known := newTask("known", 1)
	known.Receipts = []store.Receipt{{Name: "r", Time: now, Until: now.Add(time.Hour), Seq: 1}}
	push := func(a *store.Append, id string) {
		a.Pushes = append(a.Pushes, store.PushConfig{Key: a.Row.Key, ID: id, Created: now, Node: "n", Live: true})
	}
	first := newTask("first", 1)
	push(first, "1")
	second := newTask("second", 1)
	push(second, "2")
	refused := goesOn(first, 1) // with it what first does is written by itself
	refused.Receipts = []store.Receipt{{Name: "r", Time: now, Until: now.Add(time.Hour), Seq: 2}}
	push(refused, "no")
	third := newTask("third", 1)
	push(third, "3")
	for _, err := range appendAll(w, []*store.Append{known}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	errs := w.writer.commit([]*store.Append{first, second, refused, third})
	if errs[0] != nil || errs[1] != nil || !errors.Is(errs[2], store.ErrDuplicate) || errs[3] != nil {
		t.Fatal(errs)
	}
	live, err := w.LivePushes(t.Context(), "n", 0, 10)
	var ids []string
	for _, p := range live {
		ids = append(ids, p.ID)
	}
	if err != nil || !slices.Equal(ids, []string{"1", "2", "3"}) {
		t.Errorf("%q, %v", ids, err)
	}
}

// TestManyOfOneTask: appends of one task that wait together need few transactions.
func TestManyOfOneTask(t *testing.T) {
	w := newWorld(t)
	batch := []*store.Append{newTask("long", 1)}
	for i := range 1023 {
		batch = append(batch, goesOn(batch[i], 2))
	}
	for i, err := range appendAll(w, batch) {
		if err != nil {
			t.Fatalf("append %d: %v", i, err)
		}
	}
	w.whole(batch[0].Row.Key, 1+2*1023)
	if s := w.Stats(); s.Commits > 20 || s.Entries != 1+2*1023 {
		t.Errorf("%d transactions of %d entries", s.Commits, s.Entries)
	}
	es, err := w.Entries(t.Context(), batch[0].Row.Key, 1000, 7)
	if err != nil || len(es) != 7 || es[0].Seq != 1001 {
		t.Errorf("entries from the middle: %d, %v", len(es), err)
	}
}

// TestBigBatch: a batch as large as the group allows, with as many tasks.
func TestBigBatch(t *testing.T) {
	w := newWorld(t)
	var first, second []*store.Append
	for i := range 2048 {
		first = append(first, newTask(fmt.Sprint(i), 1))
		second = append(second, goesOn(first[i], 1))
	}
	for _, batch := range [][]*store.Append{first, second} {
		for i, err := range appendAll(w, batch) {
			if err != nil {
				t.Fatalf("append %d: %v", i, err)
			}
		}
	}
	if n := w.count("SELECT count(*) FROM parley.task WHERE last = 2"); n != 2048 {
		t.Errorf("%d tasks", n)
	}
}

// TestSameReceiptAtOnce: of appends by two processes with receipts of the same name, one is
// accepted, whatever their order.
func TestSameReceiptAtOnce(t *testing.T) {
	w := newWorld(t)
	other := opened(t, w.address)
	now := time.Now()
	for round := range 20 {
		var mu sync.Mutex
		var wg sync.WaitGroup
		taken := 0
		for i := range 16 {
			a := newTask(fmt.Sprint(round, " ", i), 1)
			for _, n := range []int{i % 2, 1 - i%2} { // in either order
				a.Receipts = append(a.Receipts, store.Receipt{Name: fmt.Sprint(round, n), Time: now, Until: now.Add(time.Hour), Seq: 1})
			}
			s := []*Store{w.Store, other}[i/2%2]
			wg.Add(1)
			s.Append(a, func(err error) {
				mu.Lock()
				defer mu.Unlock()
				defer wg.Done()
				if err == nil {
					taken++
				} else if !errors.Is(err, store.ErrDuplicate) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if taken != 1 {
			t.Fatalf("%d were taken", taken)
		}
	}
}

// TestTwoOwners: of two processes that append to the same place one is refused.
func TestTwoOwners(t *testing.T) {
	w := newWorld(t)
	other := opened(t, w.address)
	a := newTask("a", 1)
	if err := store.Do(t.Context(), w, a); err != nil {
		t.Fatal(err)
	}
	for range 50 {
		next := goesOn(a, 1)
		errs := make([]error, 2)
		var wg sync.WaitGroup
		for i, s := range []*Store{w.Store, other} {
			wg.Go(func() { errs[i] = store.Do(context.Background(), s, next) })
		}
		wg.Wait()
		slices.SortFunc(errs, func(a, b error) int {
			if a == nil {
				return -1
			}
			return 1
		})
		if errs[0] != nil || !errors.Is(errs[1], store.ErrConflict) {
			t.Fatalf("%v", errs)
		}
		a = next
	}
	w.whole(a.Row.Key, 51)
}

// TestKeysAreGivenOutTwice: a standby that took over without the last commits assigns keys
// that a process has already. Processes that get them can write nevertheless.
func TestKeysAreGivenOutTwice(t *testing.T) {
	w := newWorld(t)
	var tasks, pushes int64
	if err := w.sql.QueryRow(t.Context(), "SELECT (SELECT last_value FROM parley.task_key), (SELECT last_value FROM parley.push_key)").Scan(&tasks, &pushes); err != nil {
		t.Fatal(err)
	}
	with := func(id string) *store.Append {
		a := newTask(id, 1)
		a.Pushes = []store.PushConfig{{ID: "p", Host: "h", Created: time.Now()}}
		return a
	}
	for i := range 20 {
		if err := store.Do(t.Context(), w, with(fmt.Sprint("before ", i))); err != nil {
			t.Fatal(err)
		}
	}
	w.exec("SELECT setval('parley.task_key', $1, false), setval('parley.push_key', $2, false)", tasks, pushes)
	other := opened(t, w.address)
	if err := other.SetPush(t.Context(), &store.PushConfig{Key: with("before 0").Row.Key, ID: "first", Host: "h", Created: time.Now()}); err != nil {
		t.Error(err)
	}
	for i := range 20 {
		a := with(fmt.Sprint("after ", i))
		if err := store.Do(t.Context(), other, a); err != nil {
			t.Errorf("%d: %v", i, err)
		}
		if err := other.SetPush(t.Context(), &store.PushConfig{Key: a.Row.Key, ID: "q", Host: "h", Created: time.Now()}); err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
}
