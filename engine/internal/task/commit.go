package task

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/engine/internal/topic"
	"github.com/parley-a2a/parley/internal/wake"
	"github.com/parley-a2a/parley/store"
)

// saved is the stored state of an owner's task, as far as the owner knows.
type saved struct {
	last     int64     // seq of the last committed entry
	epoch    int64     // as stored
	row      store.Row // as of the newest flight
	canceled bool      // a cancel request was committed
	wanted   bool      // the task waits for its client, but needs a process nevertheless
	tries    int       // failed attempts to load or write the task since its last commit
}

// flush hands the pending entries to the store, unless an append is under way. Only the owner's
// goroutine calls it and the rest of this file.
func (o *Owner) flush() {
	if o.inflight != nil {
		return
	}
	o.mu.Lock()
	if p := o.reply; p != nil { // then nothing else is pending or will be
		o.mu.Unlock()
		o.keep(p)
		return
	}
	n, size := 0, 0
	for n < len(o.out.pending) && n < MaxFlight && (n == 0 || size+o.out.pending[n].size() <= MaxFlightBytes) {
		size += o.out.pending[n].size()
		n++
	}
	for n > 0 && o.out.pending[n-1].tied {
		size += o.out.pending[n].size()
		n++
	}
	if n == 0 {
		o.mu.Unlock()
		return
	}
	yields := o.phase == phaseYielding && n == len(o.out.pending)
	turn := &o.turn
	if o.succession.next != nil && n == len(o.out.pending) {
		turn = &o.succession.next.turn // which these records begin
		o.succession.next.began(o.saved.last + int64(n))
	}
	pended := o.out.pending
	records := pended[:n:n]
	full := len(o.out.pending) >= maxPending || o.out.bytes >= maxPendingBytes
	if n == len(pended) {
		o.out.pending, o.out.spare = o.out.spare, nil
	} else { // the agent is ahead of the disk: the rest stays where it is
		o.out.pending, pended = pended[n:], nil
	}
	o.out.bytes -= size
	if full {
		o.out.room.Ring()
	}
	for i := range records {
		records[i].entry.Seq = o.saved.last + 1 + int64(i)
	}
	if len(turn.messages) > 0 && turn.messages[0].Entry.Seq > 0 {
		o.saved.row.Turn = turn.messages[0].Entry.Seq
	}
	o.saved.row.Attempt, o.saved.row.Lost = turn.attempt, turn.lost
	o.out.ahead = records
	o.mu.Unlock()

	o.inflight = o.prepare(records, yields)
	o.inflight.pended, o.inflight.size = pended, size
	if o.reuse.told == nil {
		o.reuse.told = o.inbox.commit
	}
	o.topic.Fly()
	o.all.Store.Append(&o.inflight.append, o.reuse.told)
}

// prepare makes the append of some records: the entries, the index row after them, and the
// sealed task if they end it. With yields, a task that needs a process gets no node, so that
// any process may draw it.
func (o *Owner) prepare(records []record, yields bool) *flight {
	f := &flight{records: records}
	a := &f.append
	a.After, a.Epoch = o.saved.last, o.saved.epoch
	a.Entries = slices.Grow(f.few[:0], len(records))
	canceling, was := o.saved.canceled, o.saved.row.State
	if o.all.Outbox != nil && a.After > 0 && a2a.TaskState(o.saved.row.State).Terminal() {
		f.anew, f.ended = true, o.revivePushes(a.After, nil)
	}
	for i := range records {
		r := &records[i]
		en := r.entry
		a.Entries = append(a.Entries, store.Entry{Seq: en.Seq, Time: en.Time, Kind: uint8(en.Kind), Body: r.body})
		a.Blobs = append(a.Blobs, r.blobs...)
		if r.post != nil && r.post.Identity != nil {
			a.Receipts = append(a.Receipts, r.post.Identity.Receipts(o.all.Nodes.Now(), en.Seq, nil)...)
		}
		if r.post != nil && r.post.Push != nil {
			a.Pushes = append(a.Pushes, o.pushOf(r.post))
		}
		switch en.Kind {
		case a2a.EntryCreated:
			o.saved.row.Created, o.saved.row.Updated = en.Time, en.Time
			o.saved.row.State = int32(a2a.TaskStateSubmitted)
		case a2a.EntryStatus:
			o.saved.row.Updated = en.Time
			o.saved.row.State = int32(en.Status.Status.State)
			o.saved.wanted = r.wanted
		case a2a.EntryCancel:
			canceling = true
		}
	}
	state := a2a.TaskState(o.saved.row.State)
	f.news = o.saved.row.State != was || a.After == 0
	// A task that waits for its client needs a process, too, if it is to be canceled or if its
	// agent watches for an authorization: if this process dies, the next one goes on.
	o.saved.row.Active = active(state) || (canceling || o.saved.wanted) && !state.Terminal()
	o.saved.row.Node = o.all.Node
	if yields && o.saved.row.Active {
		o.saved.row.Node = ""
	}
	if state.Terminal() {
		task, _ := o.topic.Snapshot()
		if task == nil { // evicted; the store is about to refuse the append
			task = &a2a.Task{}
		}
		for i := range records {
			task.Apply(records[i].entry)
		}
		a.Seal = stored.Seal(task)
		f.sealed = task
	}
	a.Row = o.saved.row
	return f
}

// settle handles the outcome of the append under way. It returns false if the owner has to give
// up.
func (o *Owner) settle(err error) bool {
	f := o.inflight
	o.inflight = nil
	if err != nil {
		if err = o.retry(f, err); err != nil {
			tellMissed(f.records, false)
			o.fail(err)
			return false
		}
	}
	o.all.Wrote(nil)
	if f.append.Alone() {
		o.kept()
		return true
	}
	o.all.Meters.committed(o, f)
	tellMissed(f.records, true) // before readers see the end and ask
	o.saved.last = f.records[len(f.records)-1].entry.Seq
	o.saved.epoch = f.append.Row.Epoch
	if r := &f.append.Row; r.Active && r.Node == "" {
		o.topic.Open()
		o.all.waits()
	}
	if f.news && o.all.Changed != nil {
		o.all.Changed(&f.append.Row)
	}

	var few [4]topic.Entry
	entries := few[:0]
	if len(f.records) > len(few) {
		entries = slices.Grow(o.reuse.entries[:0], len(f.records))
	}
	// If the records end the task, the task after them is known already. It is not used if a
	// stream begins with an earlier state, which Publish then computes.
	behind := f.sealed
	for i := range f.records {
		r := &f.records[i]
		en := r.sized()
		if p := r.post; p != nil {
			p.Seq = en.Seq
			if p.Stream {
				en.Start, behind = &p.Start, nil
			}
		}
		entries = append(entries, en)
		if en.Kind == a2a.EntryCancel {
			o.saved.canceled = true
		}
	}
	for i := range f.append.Pushes {
		o.all.Outbox.Watch(&f.append.Pushes[i], o.saved.last)
	}
	if f.anew {
		o.revivePushes(f.append.After, f.ended)
	}
	o.all.Read.Keep(&f.append)
	if !o.topic.Publish(o, entries, behind) {
		o.all.Outbox.News(o.key, o.saved.last)
		f.settled() // the records are in the log, even if another process has the task by now
		return false
	}
	if len(entries) > len(few) {
		clear(entries)
		if o.reuse.entries = nil; cap(entries) <= maxSpare {
			o.reuse.entries = entries[:0]
		}
	}
	o.saved.tries = 0
	o.all.Outbox.News(o.key, o.saved.last)
	o.mu.Lock()
	o.out.ahead = nil
	o.mem.unsaved -= int64(f.size)
	if o.mem.weight > SmallTask {
		o.mem.tail = o.topic.TailBytes()
		o.chargeLocked()
	}
	f.settled()
	o.heldLocked(f)
	o.parkLocked()
	clear(f.records) // pending may be in the same array and would keep them in memory
	if n := cap(f.pended); 0 < n && n <= maxSpare {
		o.out.spare = f.pended[:0]
	}
	if o.phase != phaseResting { // the task is at work again, or over
		o.vacateLocked()
	}
	o.mu.Unlock()
	return true
}

// settled tells the senders of a flight that it is committed.
func (f *flight) settled() {
	for i := range f.records {
		if p := f.records[i].post; p != nil {
			p.Settled.Give()
		}
	}
}

// retry handles an append that failed or may have failed: it looks at the log and appends again
// until the outcome is certain. A lost lease, or a log that another process wrote, is final.
func (o *Owner) retry(f *flight, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(o.all.base), o.all.StoreWait)
	defer cancel()
	uncertain := false // an earlier try may have landed
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		if errors.Is(err, store.ErrLeaseLost) && uncertain {
			// The append landed before another process took the task over, or never will.
			landed, lookErr := o.landed(ctx, f)
			if landed && lookErr == nil {
				return nil
			}
			if lookErr != nil && !errors.Is(lookErr, store.ErrConflict) && !errors.Is(lookErr, store.ErrDuplicate) {
				return lookErr // the outcome stays unknown
			}
			return err
		}
		uncertain = uncertain || !stored.Certain(err)
		if errors.Is(err, store.ErrLeaseLost) || errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrClosed) {
			return err
		}
		o.all.Wrote(err)
		o.log().Debug("append failed; looking at what the log holds", "error", err)
		if errors.Is(err, store.ErrDuplicate) && f.append.After > 0 {
			if fresh, lookErr := o.fresh(ctx, &f.append); lookErr == nil {
				f.append.Receipts = fresh
			}
		}
		switch landed, lookErr := o.landed(ctx, f); {
		case errors.Is(lookErr, store.ErrConflict), errors.Is(lookErr, store.ErrDuplicate):
			return lookErr // another process wrote
		case lookErr != nil:
			err = lookErr
		case landed:
			return nil
		case errors.Is(err, store.ErrConflict):
			return err // not ours, so another process wrote
		case errors.Is(err, store.ErrDuplicate) && f.append.After == 0 && !f.append.Alone():
			return err // another process already made a task of the message
		default:
			if err = store.Do(ctx, o.all.Store, &f.append); err == nil {
				return nil
			}
			if errors.Is(err, store.ErrConflict) {
				continue // perhaps the first try landed
			}
			if f.append.After == 0 && stored.Lasting(err) {
				return err // the task is new, so nothing is lost: an answer now is better than a long wait
			}
		}
		if wake.Pause(ctx, wait) != nil {
			return err
		}
	}
}

// landed reports whether the log holds a flight whose append seemed to fail.
func (o *Owner) landed(ctx context.Context, f *flight) (bool, error) {
	if f.append.Alone() {
		return o.remembered(ctx, &f.append)
	}
	n := 0
	for en, err := range store.EachEntry(ctx, o.all.Store, o.key, f.append.After, f.append.After+int64(len(f.records))) {
		if err != nil {
			return false, err
		}
		want := &f.append.Entries[n]
		if en.Kind != want.Kind || !bytes.Equal(en.Body, want.Body) {
			return false, store.ErrConflict
		}
		n++
	}
	if n == 0 {
		return false, nil
	}
	if n < len(f.records) {
		return false, store.ErrConflict
	}
	if f.append.After == 0 {
		// If the client chose the id, another process may have created the task from the same
		// message: the row then has another node. If the epoch is higher, another process went
		// on with this task. Later appends are told apart by the epoch.
		rec, err := o.all.Store.Get(ctx, o.key, store.RowOnly)
		if err != nil {
			return false, err
		}
		if r := &f.append.Row; rec.Node != r.Node && r.Node != "" && rec.Epoch == r.Epoch { // a task without a node may be drawn by now
			return false, store.ErrConflict
		}
	}
	return true, nil
}

// fail ends the ownership without an entry in the log: the store cannot be written, or another
// process owns the task now.
func (o *Owner) fail(err error) {
	beaten := errors.Is(err, store.ErrDuplicate)
	o.mu.Lock()
	yields := o.phase == phaseYielding || errors.Is(o.err, ErrDrawn) // the latter if it was evicted
	o.mu.Unlock()
	if yields {
		o.all.waits() // perhaps the append took effect
	}
	o.all.Outbox.LookSoon() // the log may hold more than the outbox was told of
	if yields && (errors.Is(err, store.ErrLeaseLost) || errors.Is(err, store.ErrConflict) && o.saved.last > 0) {
		o.mu.Lock()
		o.err = errBegun()
		o.mu.Unlock()
		return // another process has drawn the task or appended to it
	}
	if beaten {
		o.log().Info("given up: another process took the message before")
	} else {
		o.log().Error("task given up by this process", "error", err)
	}
	public := stored.Unwritten(err)
	if errors.Is(err, store.ErrNotFound) {
		public = stored.NotFound(o.key.ID) // deleted
	}
	if !beaten && !errors.Is(err, store.ErrLeaseLost) && !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrUnreachable) {
		o.broken = public // no other process goes on with the task either
	}
	o.mu.Lock()
	if o.reply != nil {
		public.Message = "the answer cannot be kept at the moment; send the message again shortly"
	}
	o.err = public
	o.mu.Unlock()
	o.orphan(err)
}
