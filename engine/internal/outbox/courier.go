package outbox

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/budget"
	"github.com/parley-a2a/parley/internal/wake"
	"github.com/parley-a2a/parley/store"
)

// result is the state of a delivery after a part of the work on it.
type result struct {
	gone   bool // there is nothing more to do for the delivery
	cursor int64
	seen   int64 // seq up to which the log was seen to go
	ended  bool  // the log was seen to end at cursor
	due    time.Time
	since  time.Time
}

// A delivery goes through up to turns entries before others have their turn, fewer if its
// receiver is slow, and holds up to held of them in memory.
const (
	turns = 64
	held  = 16
)

// errGone ends the work on a configuration that this process does not deliver.
var errGone = errors.New("engine: the push config is not delivered here")

// courier works on one delivery.
type courier struct {
	*Outbox
	d       *delivery
	push    *store.PushConfig
	config  *a2a.TaskPushNotificationConfig
	version a2a.Version
	task    *a2a.Task // as of push.Cursor, for versions that send it
	seen    int64     // see result
}

// deliver delivers the log of a task to one receiver, in order, until an attempt fails or
// others should have their turn.
func (o *Outbox) deliver(ctx context.Context, d *delivery) result {
	hold := o.e.Memory.Open(o.e.Caller(d.id.Key))
	defer hold.Close()
	ctx = budget.With(ctx, hold)
	w := &courier{Outbox: o, d: d}
	work := w.travel
	if d.letters {
		work = w.resend
	}
	r, err := work(ctx)
	switch {
	case err == nil:
		d.troubles = 0
		return r
	case errors.Is(err, errGone), errors.Is(err, store.ErrNotFound), errors.Is(err, a2a.ErrTaskNotFound):
		return result{gone: true}
	}
	// The failure is our own and not the receiver's, so the delivery pauses for a while.
	o.complain(ctx, "a webhook could not be served; trying again", fmt.Errorf("task %s, config %s: %w", d.id.Key.ID, d.id.ID, err))
	r = result{due: o.e.Now().Add(wake.Backoff(d.troubles, time.Minute))}
	d.troubles++
	if w.push != nil {
		r.since = w.push.Since
	}
	return r // with cursor 0, so that the store is asked
}

// load reads the configuration from the store.
func (w *courier) load(ctx context.Context) (err error) {
	p, err := w.e.Store.Push(ctx, w.d.id)
	if err != nil {
		return err
	}
	if p.Node != w.e.Node || !p.Live {
		return errGone
	}
	w.mu.Lock()
	w.d.created = p.Created // another one may have replaced it before we began
	w.mu.Unlock()
	if err := w.open(ctx, p); err != nil {
		return err
	}
	if w.version.WholeTask() {
		w.task = &a2a.Task{}
		if p.Cursor > 0 {
			w.task, err = w.e.FoldTo(ctx, w.d.id.Key, p.Cursor)
		}
	}
	return err
}

// open makes w work for a configuration, once there is memory for its task.
func (w *courier) open(ctx context.Context, p *store.PushConfig) (err error) {
	w.push = p
	if w.config, err = w.Config(p); err != nil {
		return err
	}
	w.version = a2a.Version(w.config.ProtocolVersion)
	return w.e.MakeRoom(ctx, w.d.id.Key)
}

// travel goes through the log from the cursor.
func (w *courier) travel(ctx context.Context) (result, error) {
	if w.d.ended != nil { // the store failed before it was known
		if gone, err := w.stays(ctx, w.d.ended); gone || err != nil {
			return result{gone: gone}, err
		}
	}
	if err := w.load(ctx); err != nil {
		return result{}, err
	}
	begun := time.Now()
	for n := 0; n < turns && time.Since(begun) < slowAttempt; {
		page, err := w.e.Store.Entries(ctx, w.d.id.Key, w.push.Cursor, held)
		if err != nil {
			return result{}, err
		}
		if len(page) == 0 {
			return w.rest(ctx, n > 0)
		}
		// The hint of these entries may have come before the outbox knew of the delivery.
		w.seen = page[len(page)-1].Seq
		for i := range page {
			n++
			en, err := w.e.Entry(ctx, &page[i]) // each when its turn comes: it may be large
			if err != nil {
				return result{}, err
			}
			w.passes(en)
			ev := w.event(en)
			if ev == nil {
				w.push.Cursor = en.Seq // stored with the next event
				continue
			}
			r, stop, err := w.attempt(ctx, en, ev)
			if stop || err != nil {
				return r, err
			}
			if time.Since(begun) >= slowAttempt {
				break
			}
		}
	}
	w.seen = max(w.seen, w.push.Cursor+1) // there may be more, which the next turn sees
	return w.stand(), nil
}

// rest handles the end of the log. If there was nothing to read, which is rare, the task may
// have ended before the configuration was stored: then it has nothing to deliver.
func (w *courier) rest(ctx context.Context, any bool) (result, error) {
	if any {
		return w.stand(), nil
	}
	p := w.push
	rec, err := w.e.Store.Get(ctx, p.Key, store.RowOnly)
	if err != nil {
		return result{}, err
	}
	r := w.stand()
	if !a2a.TaskState(rec.State).Terminal() || rec.Last != p.Cursor {
		r.ended = rec.Last == p.Cursor
		return r, nil
	}
	adv := &store.Advance{PushID: p.PushID(), Created: p.Created, Node: p.Node, Progress: p.Progress}
	if err := w.record(ctx, adv); err != nil {
		return result{}, err
	}
	r.gone, err = w.stays(ctx, adv)
	return r, err
}

func (w *courier) stand() result {
	return result{cursor: w.push.Cursor, seen: w.seen, due: w.push.Due, since: w.push.Since}
}

// event returns the event that the receiver gets for an entry, or nil.
func (w *courier) event(en *a2a.Entry) *a2a.StreamResponse {
	if w.task == nil {
		return en.Event()
	}
	was := w.task.Status.State
	w.task.Apply(en)
	// A question that follows another one changes the state, too.
	if is := w.task.Status.State; en.Kind != a2a.EntryStatus || is == was && !is.Interrupted() {
		return nil
	}
	return en.Event()
}

// attempt makes one attempt to deliver an event. stop means that it is the last one for now.
func (w *courier) attempt(ctx context.Context, en *a2a.Entry, ev *a2a.StreamResponse) (r result, stop bool, err error) {
	p := w.push
	over, err := w.ends(ctx, en)
	if err != nil {
		return result{}, true, err
	}
	if w.e.DeadAfter > 0 {
		// Another process may have the configuration by now, or may have deleted it.
		is, err := w.e.Store.Push(ctx, w.d.id)
		if err == nil && (is.Node != p.Node || !is.Live || !is.Created.Equal(p.Created)) {
			err = errGone
		}
		if err != nil {
			return result{}, true, err
		}
	}
	out, hostSince, err := w.try(ctx, en, ev, w.task, p.Tries+1)
	if err != nil {
		return result{}, true, err
	}
	at := w.e.Now()
	adv := &store.Advance{PushID: p.PushID(), Created: p.Created, Node: p.Node, Live: !over}
	if out.Verdict == a2a.DeliverAgain {
		w.again(en, &out, hostSince, at)
	}
	w.e.Notified(ctx, out.Verdict)
	switch out.Verdict {
	case a2a.Delivered:
		p.Progress = store.Progress{Cursor: en.Seq}
	case a2a.DeliverAgain:
		adv.Live, stop = true, true
	case a2a.GiveUp:
		adv.Dead = []store.DeadLetter{{Seq: en.Seq, Time: at, Tries: p.Tries + 1, Reason: out.Reason}}
		// The failure goes on: if the next event has waited as long as this one, it is not
		// tried for another day.
		p.Progress = store.Progress{Cursor: en.Seq, Since: p.Since, Reason: out.Reason}
		if more, ok := w.say(&w.d.host.givenUp, at); ok {
			w.e.Log.Warn("the delivery of a webhook is given up; it is a dead letter", "task", p.Key.ID, "config", p.ID, "host", p.Host,
				"seq", en.Seq, "reason", out.Reason, "more", more)
		}
		stop = out.Down // others have their turns before it fails once more
	case a2a.DisableConfig:
		p.Progress = store.Progress{Cursor: en.Seq - 1, Reason: out.Reason}
		adv.Live, stop = false, true
		if more, ok := w.say(&w.d.host.disabled, at); ok {
			w.e.Log.Warn("a webhook is disabled", "task", p.Key.ID, "config", p.ID, "host", p.Host, "reason", out.Reason, "more", more)
		}
	}
	adv.Progress = p.Progress
	if err := w.record(ctx, adv); err != nil {
		return result{}, true, err
	}
	r = w.stand()
	if r.gone = !adv.Live; r.gone && over && out.Verdict != a2a.DisableConfig {
		stop = true
		r.gone, err = w.stays(ctx, adv)
	}
	return r, stop, err
}

// try makes one attempt. An error means that there was no attempt that counts. hostSince is
// when the host began to fail.
func (w *courier) try(ctx context.Context, en *a2a.Entry, ev *a2a.StreamResponse, task *a2a.Task, attempt int32) (out a2a.Outcome, hostSince time.Time, err error) {
	if ctx.Err() != nil {
		return out, hostSince, context.Cause(ctx)
	}
	n := &a2a.Notification{ID: deliveryID(w.push, en), Source: w.config.Source, Config: w.config, Version: w.version, Event: ev, Seq: en.Seq}
	if task != nil {
		n.Task = task.Snapshot()
	}
	begun := w.e.Now()
	within, cancel := context.WithTimeout(ctx, attemptTime)
	out = w.notify(within, n, attempt)
	cancel()
	at := w.e.Now()
	w.mu.Lock()
	w.d.host.of.charge(at.Sub(begun), at) // whether or not it counts as an attempt
	w.mu.Unlock()
	switch {
	case ctx.Err() == nil:
	case context.Cause(ctx) == errDropped:
		return out, hostSince, errDropped
	case out.Verdict == a2a.DeliverAgain || out.Verdict == a2a.GiveUp:
		return out, hostSince, context.Cause(ctx) // drained: it was not the receiver's fault
	}
	w.mu.Lock()
	h := w.d.host
	turned := h.report(w.d, out.Down, begun, at)
	hostSince = h.since
	waiting := h.pending
	w.mu.Unlock()
	switch {
	case turned && out.Down:
		w.e.Log.Warn("a host of webhooks fails; it is retried from time to time", "host", w.push.Host, "reason", out.Reason, "waiting", waiting)
	case turned:
		w.e.Log.Info("a host of webhooks answers again", "host", w.push.Host, "waiting", waiting)
	}
	return out, hostSince, nil
}

// again sets when an event that failed is tried again, or gives it up.
func (w *courier) again(en *a2a.Entry, out *a2a.Outcome, hostSince, at time.Time) {
	p := w.push
	if p.Since.IsZero() {
		p.Since = at
		if out.Down && hostSince.Before(at) {
			p.Since = hostSince // the event would have failed then, too
		}
	}
	// The day begins at the first failure or at the event, whichever is later.
	end := p.Since
	if en.Time.After(end) {
		end = en.Time
	}
	end = end.Add(giveUpAfter)
	if !at.Before(end) {
		out.Verdict = a2a.GiveUp
		return
	}
	p.Tries++
	p.Reason = out.Reason
	p.Due = at.Add(max(out.After, w.backoff(p.Tries)))
	if p.Due.After(end) {
		p.Due = end
	}
	w.e.Log.Debug("a webhook delivery failed; trying again later", "task", p.Key.ID, "config", p.ID, "host", p.Host, "seq", en.Seq,
		"reason", out.Reason, "tries", p.Tries, "due", p.Due)
}

// backoff returns how long to wait after a number of failures: a random time up to a limit that
// doubles with each failure. So a receiver that comes back does not get all deliveries at once.
func (o *Outbox) backoff(tries int32) time.Duration {
	most := longestPause
	if tries < 20 {
		most = min(firstPause<<(max(tries, 1)-1), longestPause)
	}
	return rand.N(most) + time.Millisecond
}

// ends reports whether an entry is the last one of its task, as far as is known.
func (w *courier) ends(ctx context.Context, en *a2a.Entry) (bool, error) {
	if en.Kind != a2a.EntryStatus || !en.Status.Status.State.Terminal() {
		return false, nil
	}
	rec, err := w.e.Store.Get(ctx, w.d.id.Key, store.RowOnly)
	if err != nil {
		return false, err
	}
	return rec.Last == en.Seq, nil
}

// stays reports whether a configuration that was recorded as ended still is: a task of version
// 0.1 may have been reopened meanwhile. If it was, stays records the configuration as live.
func (w *courier) stays(ctx context.Context, adv *store.Advance) (bool, error) {
	w.d.ended = adv
	rec, err := w.e.Store.Get(context.WithoutCancel(ctx), w.d.id.Key, store.RowOnly) // nobody looks again after a drain
	if err != nil {
		return errors.Is(err, store.ErrNotFound), err
	}
	gone := rec.Last == adv.Cursor
	if !gone {
		adv.Live, adv.Dead = true, nil
		err = w.record(ctx, adv)
	}
	if err == nil {
		w.d.ended = nil
	}
	return gone, err
}

// say is murmur.say for a murmur of the receiver.
func (w *courier) say(m *murmur, at time.Time) (more int, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return m.say(at)
}

// deliveryID returns the id of a delivery, which is the same in every attempt and unique. It
// depends on the entry's time, because a failover that loses commits may put another entry in
// its place.
func deliveryID(p *store.PushConfig, en *a2a.Entry) string {
	from := fmt.Appendf(nil, "%d:%s%d:%s%d:%s%d:%s", len(p.Tenant), p.Tenant, len(p.Owner), p.Owner, len(p.Key.ID), p.Key.ID, len(p.ID), p.ID)
	from = binary.BigEndian.AppendUint64(from, uint64(p.Created.UnixMilli()))
	from = binary.BigEndian.AppendUint64(from, uint64(en.Seq))
	from = binary.BigEndian.AppendUint64(from, uint64(en.Time.UnixMilli()))
	sum := sha256.Sum256(from)
	return "msg_" + base64.RawURLEncoding.EncodeToString(sum[:18])
}
