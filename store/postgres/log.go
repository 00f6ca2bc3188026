package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/parley-a2a/parley/store"
)

// maxAppend caps one append, in bytes. Both sides hold several copies of it, all other
// appends wait for it, and it must be written within callWait.
const maxAppend = 64 << 20

// check returns why an append must be refused whatever the database contains, or nil.
func check(a *store.Append) error {
	if err := a.Validate(); err != nil {
		return err
	}
	if n := a.Size(); n > maxAppend {
		return fmt.Errorf("postgres: an append of %d bytes, the most is %d", n, maxAppend)
	}
	return nil
}

// writer writes appends, one batch after the other, in the order in which they were queued.
// Two writers taking turns would make batches of half the size, which cost the server a third
// more.
type writer struct {
	s     *Store
	group *store.Group

	// owned by the group's goroutine
	known   working
	changes []change
	at      map[store.Key]int        // index in changes, by task
	names   map[receiptName]struct{} // names of the receipts in changes
	batch   *batch
	places  map[store.PushID]int64 // keys of the appends' push configs, if these are new
	moves   moves
	sampled map[scopeName]struct{} // see grows
	packed  []byte
	sync    time.Duration // duration of the newest COMMIT; 0: not measured
	timed   time.Time     // when a COMMIT was last measured
}

func newWriter(s *Store) *writer {
	w := &writer{s: s, known: working{}, at: map[store.Key]int{}, names: map[receiptName]struct{}{}, sampled: map[scopeName]struct{}{}, places: map[store.PushID]int64{}, batch: newBatch()}
	w.group = store.NewGroup(w.commit)
	return w
}

// Append implements store.Store.
func (s *Store) Append(a *store.Append, done func(error)) {
	s.writer.group.Append(a, done)
}

// commit writes a batch for the group, in one transaction with one fsync for each part of the
// batch that fits in one statement.
func (w *writer) commit(all []*store.Append) []error {
	ctx := context.Background() // try limits the time
	errs := make([]error, len(all))
	clear(w.places)
	for begin := 0; begin < len(all); {
		begin = w.gather(all, errs, begin)
		if len(w.changes) == 0 {
			continue
		}
		err := w.try(ctx, all, w.changes)
		switch {
		case errors.Is(err, errOdd), len(w.changes) > 1 && itsOwn(err):
			w.carefully(ctx, all, errs)
		case err != nil:
			settle(w.changes, errs, err)
			if w.s.closed.Load() && errors.Is(err, store.ErrUnreachable) {
				w.s.end() // otherwise Close would wait as long again for each queued batch
			}
		}
	}
	return errs
}

// settle sets the outcome of all appends of some changes.
func settle(changes []change, errs []error, err error) {
	for i := range changes {
		for _, at := range changes[i].appends {
			errs[at] = err
		}
	}
}

// errOdd means that the database does not match a change. Nothing was written.
var errOdd = errors.New("a row is not as an append says")

// try writes changes in one transaction.
func (w *writer) try(ctx context.Context, all []*store.Append, changes []change) error {
	begun := time.Now()
	if err := w.s.usable(ctx); err != nil {
		return err
	}
	if err := w.know(ctx, all, changes); err != nil {
		return err
	}
	for {
		if err := w.knowScopes(ctx); err != nil {
			return wrap("append", err)
		}
		if err := w.fill(ctx, all, changes); err != nil {
			return wrap("append", err)
		}
		err := w.transact(ctx)
		if known := w.batch.scopes; known > 0 && errors.Is(err, errOdd) {
			failed := w.patiently(ctx, w.s.readScopes)
			if _, version := w.s.scopes.known(); version != known {
				continue
			}
			err = cmp.Or(failed, err)
		}
		if err != nil {
			for i := range changes {
				delete(w.known, changes[i].first(all).Row.Key)
			}
			if errors.Is(err, errOdd) {
				return err
			}
			return wrap("append", err)
		}
		w.wrote(all, changes, begun)
		return nil
	}
}

// wrote is called after changes were committed; begun is the start of the transaction.
func (w *writer) wrote(all []*store.Append, changes []change, begun time.Time) {
	hints := make([]store.Hint, 0, len(changes))
	appends, entries := 0, 0
	for i := range changes {
		c := &changes[i]
		appends += len(c.appends)
		if c.key == 0 {
			continue
		}
		a := c.final(all)
		w.known.note(c.key, a)
		entries += int(a.After) + len(a.Entries) - int(c.first(all).After)
		hint := store.Hint{Work: a.Row.Active && a.Row.Node == ""}
		if c.first(all).After > 0 { // no caller waits for a task that did not exist
			hint.Task = a.Row.Key.Hash()
		}
		if hint != (store.Hint{}) {
			hints = append(hints, hint)
		}
	}
	w.s.commits.Add(1)
	w.s.entries.Add(int64(entries))
	if watcher := w.s.watcher.Load(); watcher != nil {
		(*watcher)(store.Commit{Appends: appends, Entries: entries, Took: time.Since(begun), Sync: w.sync})
	}
	if len(hints) > 0 {
		w.s.tell(hints...)
	}
}

// entriesOf selects the rows of a page: those that begin within its size. It adds up the
// sizes of at most entryRows rows; otherwise each page of a long log would read the whole
// rest of it.
const entriesOf = "SELECT first, last, body FROM (SELECT first, last, body, sum(octet_length(body)) OVER (ORDER BY last ROWS UNBOUNDED PRECEDING) - octet_length(body) AS before FROM (" +
	"SELECT first, last, body FROM parley.entry WHERE task = (SELECT key FROM parley.task WHERE tenant = $1 AND owner = $2 AND id = $3) " +
	"AND last > $4 AND ($5 = 0 OR first <= $5) ORDER BY last LIMIT 4096) AS e) AS e WHERE before < $6 ORDER BY last"

// entryRows is the LIMIT of entriesOf.
const entryRows = 4096

// Entries implements store.Store.
func (s *Store) Entries(ctx context.Context, k store.Key, after int64, limit int) ([]store.Entry, error) {
	var end int64
	if after = max(after, 0); limit > 0 {
		end = after + int64(limit) // seqs have no gaps
	}
	page := store.NewEntryPage(after, limit)
	for more := true; more; {
		err := s.read(ctx, func(ctx context.Context, q querier) (err error) {
			from := after
			if n := len(page.Entries); n > 0 { // also after an attempt that failed halfway
				from = page.Entries[n-1].Seq
			}
			more, err = entryRowsOf(ctx, q, page, arg(k.Tenant), arg(k.Owner), arg(k.ID), from, end, store.PageBytes)
			return err
		})
		if err != nil {
			return nil, wrap("entries", err)
		}
	}
	return page.Entries, nil
}

// entryRowsOf adds the rows of entriesOf to a page. more means that the page may have room
// for further rows.
func entryRowsOf(ctx context.Context, q querier, page *store.EntryPage, args ...any) (more bool, err error) {
	n, size := 0, 0
	err = each(ctx, q, func(r pgx.Rows) error {
		var first, last int64
		var body pgtype.DriverBytes // Unpack copies it
		if err := r.Scan(&first, &last, &body); err != nil {
			return err
		}
		n++
		size += len(body)
		return page.Unpack(body, first, last)
	}, entriesOf, args...)
	return !page.Full() && (n == entryRows || size >= store.PageBytes), err
}

// Blob implements store.Store.
func (s *Store) Blob(ctx context.Context, hash string) ([]byte, error) {
	data, err := findOne(ctx, s.db, "blob", intoBytes, "SELECT data FROM parley.blob WHERE hash = $1", arg(hash))
	if err != nil {
		return nil, err
	}
	return *data, nil
}

// Blobs implements store.Store.
func (s *Store) Blobs(ctx context.Context, k store.Key) ([]string, error) {
	return find(ctx, s.db, "blobs", intoName, "SELECT b.hash FROM parley.task AS t JOIN parley.blob_task AS b ON b.task = t.key WHERE t.tenant = $1 AND t.owner = $2 AND t.id = $3 ORDER BY b.hash",
		arg(k.Tenant), arg(k.Owner), arg(k.ID))
}
