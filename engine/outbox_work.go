package engine

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
	"github.com/parley-a2a/parley/store"
)

// result is how a delivery stands after a part of the work on it.
type result struct {
	gone   bool // there is nothing more to do for it
	cursor int64
	due    time.Time
}

// turns is how many entries a delivery may go through before others have
// theirs.
const turns = 64

// deliver takes the log of a task up to last to one receiver, in order, until
// it fails, or others should have their turn.
func (o *outbox) deliver(ctx context.Context, d *delivery, last int64) result {
	w := &courier{outbox: o, d: d}
	if err := w.load(ctx); err != nil {
		if errors.Is(err, store.ErrNotFound) || errors.Is(err, errReplaced) {
			return result{gone: true}
		}
		return w.later(ctx, err)
	}
	r, err := w.travel(ctx, last)
	if err != nil {
		return w.later(ctx, err)
	}
	return r
}

var errReplaced = errors.New("another configuration has its place")

// courier works at one delivery.
type courier struct {
	*outbox
	d       *delivery
	push    *store.PushConfig
	config  *a2a.TaskPushNotificationConfig
	version string
	task    *a2a.Task // as of push.Cursor, for versions that send it
}

// later leaves a delivery alone for a while because of trouble of our own.
func (w *courier) later(ctx context.Context, err error) result {
	if ctx.Err() == nil {
		w.e.log.Error("webhook could not be served; it is tried again", "task", w.d.id.Key.ID, "config", w.d.id.ID, "error", err)
	}
	r := result{due: time.Now().Add(time.Second + rand.N(4*time.Second))}
	if w.push != nil {
		r.cursor = w.push.Cursor
	} else {
		w.mu.Lock()
		r.cursor = w.d.cursor
		w.mu.Unlock()
	}
	return r
}

func (w *courier) load(ctx context.Context) (err error) {
	if w.push, err = w.e.store.Push(ctx, w.d.id); err != nil {
		return err
	}
	if !w.push.Created.Equal(w.d.created) || !w.push.Live || w.push.Node != w.e.node {
		return errReplaced
	}
	if w.config, w.version, err = pushOf(w.push); err != nil {
		return err
	}
	if wholeTask(w.version) {
		w.task = &a2a.Task{}
		if w.push.Cursor > 0 {
			w.task, err = w.e.foldTo(ctx, w.d.id.Key, w.push.Cursor)
			if errors.Is(err, a2a.ErrTaskNotFound) {
				err = store.ErrNotFound
			}
		}
	}
	return err
}

// wholeTask reports whether a version's receivers get the Task, whenever its
// state changes, rather than each event.
func wholeTask(version string) bool { return version != "1.0" }

// travel goes through the log from the cursor.
func (w *courier) travel(ctx context.Context, last int64) (result, error) {
	for n := 0; n < turns; {
		entries, err := w.e.entries(ctx, w.d.id.Key, w.push.Cursor, w.push.Cursor+turns)
		if err != nil {
			return result{}, err
		}
		if len(entries) == 0 {
			return w.end(ctx)
		}
		for _, en := range entries {
			n++
			ev := w.event(en)
			if ev == nil {
				w.push.Cursor = en.Seq // stored with the next one that says something
				continue
			}
			r, stop, err := w.attempt(ctx, en, ev)
			if stop || err != nil {
				return r, err
			}
		}
	}
	return result{cursor: w.push.Cursor}, nil
}

// event returns what an entry is for the receiver; nil: nothing.
func (w *courier) event(en *a2a.Entry) *a2a.StreamResponse {
	ev := en.Event()
	if w.task != nil {
		w.task.Apply(en)
		if en.Kind != a2a.EntryStatus {
			return nil
		}
	}
	return ev
}

// attempt makes one. stop means that it is the last one for now.
func (w *courier) attempt(ctx context.Context, en *a2a.Entry, ev *a2a.StreamResponse) (r result, stop bool, err error) {
	n := &a2a.Notification{ID: deliveryID(w.push, en.Seq), Config: w.config, Version: w.version, Event: ev, Seq: en.Seq}
	if w.task != nil {
		n.Task = w.task.Snapshot()
	}
	within, cancel := context.WithTimeout(ctx, w.limit.attempt)
	out := w.e.opts.Push.Notify(within, n)
	cancel()
	if ctx.Err() != nil {
		return result{}, true, context.Cause(ctx) // drained, or deleted: it was not the receiver's fault
	}
	at := time.Now()
	w.mu.Lock()
	w.d.host.report(out.Down, at)
	w.mu.Unlock()

	p := w.push
	log := w.e.log.With("task", p.Key.ID, "config", p.ID, "host", p.Host, "seq", en.Seq)
	adv := &advance{Advance: store.Advance{PushID: p.PushID(), Created: p.Created, Live: true}}
	if out.Verdict == a2a.DeliverAgain {
		if p.Tries++; p.Since.IsZero() {
			p.Since = at
		}
		if at.Sub(p.Since) > w.limit.giveUp {
			out.Verdict = a2a.GiveUp
		}
	}
	switch out.Verdict {
	case a2a.Delivered:
		p.Progress = store.Progress{Cursor: en.Seq}
	case a2a.DeliverAgain:
		p.Due, p.Reason = at.Add(max(min(out.After, w.limit.giveUp), w.pause(p.Tries))), out.Reason
		log.Info("webhook failed; it is tried again", "reason", out.Reason, "tries", p.Tries, "due", p.Due)
		stop = true
	case a2a.GiveUp:
		adv.Dead = []store.DeadLetter{{Seq: en.Seq, Time: at, Tries: max(p.Tries, 1), Reason: out.Reason}}
		p.Progress = store.Progress{Cursor: en.Seq, Reason: out.Reason}
		log.Warn("webhook delivery given up", "reason", out.Reason)
	case a2a.DisableConfig:
		p.Progress = store.Progress{Cursor: en.Seq - 1, Reason: out.Reason}
		adv.Live, stop = false, true
		log.Warn("webhook disabled", "reason", out.Reason)
	}
	adv.Progress = p.Progress
	err = w.record(ctx, adv)
	return result{gone: !adv.Live, cursor: p.Cursor, due: p.Due}, stop, err
}

// pause is how long to wait after a number of failures: anything up to twice as
// long as after the one before, so that receivers that come back are not met
// by all at once.
func (o *outbox) pause(tries int32) time.Duration {
	most := o.limit.longest
	if tries < 20 {
		most = min(o.limit.first<<(tries-1), o.limit.longest)
	}
	return rand.N(most) + time.Millisecond
}

// end is where nothing is left. A task that has ended says no more.
func (w *courier) end(ctx context.Context) (result, error) {
	p := w.push
	rec, err := w.e.store.Get(ctx, p.Key, false)
	if errors.Is(err, store.ErrNotFound) {
		return result{gone: true}, nil
	}
	if err != nil {
		return result{}, err
	}
	over := a2a.TaskState(rec.State).Terminal() && rec.Last == p.Cursor && !w.mayReopen()
	if over {
		err = w.record(ctx, &advance{Advance: store.Advance{PushID: p.PushID(), Created: p.Created, Progress: p.Progress}})
	}
	return result{gone: over, cursor: p.Cursor}, err
}

// mayReopen reports whether the task may go on after its end.
func (w *courier) mayReopen() bool { return w.task != nil && w.task.Version == reopens }

// deliveryID names a delivery, the same way in every attempt and for nothing
// else.
func deliveryID(p *store.PushConfig, seq int64) string {
	from := fmt.Appendf(nil, "%d:%s%d:%s%d:%s%d:%s", len(p.Tenant), p.Tenant, len(p.Owner), p.Owner, len(p.Key.ID), p.Key.ID, len(p.ID), p.ID)
	from = binary.BigEndian.AppendUint64(from, uint64(p.Created.UnixMilli()))
	from = binary.BigEndian.AppendUint64(from, uint64(seq))
	sum := sha256.Sum256(from)
	return "msg_" + base64.RawURLEncoding.EncodeToString(sum[:18])
}
