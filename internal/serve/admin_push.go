package serve

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/admin"
	"github.com/parley-a2a/parley/internal/database"
	"github.com/parley-a2a/parley/store"
)

// pushLook bounds how many webhooks, or dead letters, one call looks at. So a page of results
// may be short even if there is a next one.
const pushLook = 20 * database.PushBatch

// picked returns the filter for the webhooks that a query selects.
func (a *administration) picked(ctx context.Context, task, id string) (func(store.PushID) bool, error) {
	if task == "" {
		return func(p store.PushID) bool { return id == "" || p.ID == id }, nil
	}
	r, err := a.find(ctx, task)
	if err != nil {
		return nil, err
	}
	return func(p store.PushID) bool { return p.Key == r.Key && (id == "" || p.ID == id) }, nil
}

// Deliveries implements admin.API.
func (a *administration) Deliveries(ctx context.Context, q admin.DeliveryQuery) (_ *admin.Deliveries, err error) {
	if err := admin.May(ctx, a2a.ScopeAdminRead); err != nil {
		return nil, err
	}
	defer func() { a.record(ctx, "deliveries", err, slog.String("task", q.Task), slog.String("config", q.ID)) }()
	n, err := limit(q.Query)
	if err != nil {
		return nil, err
	}
	has, err := a.picked(ctx, q.Task, q.ID)
	if err != nil {
		return nil, err
	}
	after := int64(0)
	if q.After != "" {
		if after, err = strconv.ParseInt(q.After, 10, 64); err != nil || after < 0 {
			return nil, errAfter
		}
	}
	res, looked := &admin.Deliveries{Deliveries: []admin.Delivery{}}, 0
	for page, err := range database.Pushes(ctx, a.store, after) {
		if err != nil {
			return nil, a.failed("list webhooks", err)
		}
		for i := range page {
			if len(res.Deliveries) == n || looked == pushLook {
				res.Next = strconv.FormatInt(after, 10)
				return res, nil
			}
			p := &page[i]
			after, looked = p.At, looked+1
			does := database.PushDoes(p)
			if has(p.PushID()) && (!q.Failing || does == database.PushRetrying || does == database.PushDisabled) {
				res.Deliveries = append(res.Deliveries, delivery(p))
			}
		}
	}
	return res, nil
}

func delivery(p *store.PushState) admin.Delivery {
	return admin.Delivery{
		Task: taskKey(p.Key), Name: taskName(p.Key), ID: p.ID, Host: p.Host, Created: p.Created, State: database.PushDoes(p), Live: p.Live, Node: p.Node,
		Cursor: p.Cursor, Last: p.Last, Tries: p.Tries, Since: p.Since, Due: p.Due, Reason: p.Reason,
	}
}

// DeadLetters implements admin.API.
func (a *administration) DeadLetters(ctx context.Context, q admin.DeliveryQuery) (_ *admin.DeadLetters, err error) {
	if err := admin.May(ctx, a2a.ScopeAdminRead); err != nil {
		return nil, err
	}
	defer func() {
		a.record(ctx, "dead letters", err, slog.String("task", q.Task), slog.String("config", q.ID))
	}()
	n, err := limit(q.Query)
	if err != nil {
		return nil, err
	}
	has, err := a.picked(ctx, q.Task, q.ID)
	if err != nil {
		return nil, err
	}
	var after *store.DeadLetter
	if q.After != "" {
		after = new(store.DeadLetter)
		at, seq, ok := strings.Cut(q.After, ".")
		var bad error
		if after.At, err = strconv.ParseInt(at, 10, 64); err == nil {
			after.Seq, bad = strconv.ParseInt(seq, 10, 64)
		}
		if !ok || err != nil || bad != nil {
			return nil, errAfter
		}
	}
	res, looked := &admin.DeadLetters{Letters: []admin.DeadLetter{}}, 0
	for page, err := range database.Letters(ctx, a.store, after) {
		if err != nil {
			return nil, a.failed("list dead letters", err)
		}
		for i := range page {
			if len(res.Letters) == n || looked == pushLook {
				res.Next = fmt.Sprintf("%d.%d", after.At, after.Seq)
				return res, nil
			}
			l := &page[i]
			after, looked = l, looked+1
			if has(l.PushID) {
				res.Letters = append(res.Letters, admin.DeadLetter{
					Task: taskKey(l.Key), Name: taskName(l.Key), ID: l.ID, Seq: l.Seq, Time: l.Time, Tries: l.Tries, Reason: l.Reason, Again: l.Again,
				})
			}
		}
	}
	return res, nil
}

// Redeliver implements admin.API.
func (a *administration) Redeliver(ctx context.Context, r admin.Redelivery) (_ *admin.Redelivered, err error) {
	if err := admin.May(ctx, a2a.ScopeAdminWrite); err != nil {
		return nil, err
	}
	var did database.Redelivered
	defer func() {
		a.record(ctx, "redeliver", err, slog.String("task", r.Task), slog.String("config", r.ID),
			slog.Int("letters", did.Letters), slog.Int("enabled", did.Enabled), slog.Int("hastened", did.Hastened))
	}()
	if named := r.Task != "" || r.ID != ""; named == r.All {
		return nil, admin.Invalid("task", "say what to send again: task, id or both, or all")
	}
	has, err := a.picked(ctx, r.Task, r.ID)
	if err != nil {
		return nil, err
	}
	did, err = database.Redeliver(ctx, a.store, has)
	a.engine.DeliverAgain(did.IDs) // even those done before an error
	if err != nil {
		return nil, a.failed("send again", err)
	}
	return &admin.Redelivered{Letters: did.Letters, Enabled: did.Enabled, Hastened: did.Hastened}, nil
}

// collectBatch is how many tasks are deleted at a time; appends wait for one batch at
// most.
const collectBatch = 64

// Collect implements admin.API.
func (a *administration) Collect(ctx context.Context, c admin.Collection) (_ *admin.Collected, err error) {
	if err := admin.May(ctx, a2a.ScopeAdminWrite); err != nil {
		return nil, err
	}
	did := &admin.Collected{States: map[string]int{}}
	defer func() {
		a.record(ctx, "collect", err, slog.String("older_than", time.Duration(c.OlderThan).String()), slog.String("states", strings.Join(c.States, " ")),
			slog.Bool("dry_run", c.DryRun), slog.Int("tasks", did.Tasks), slog.Int("receipts", did.Receipts))
	}()
	if c.OlderThan < 0 {
		return nil, admin.Invalid("olderThan", "cannot be negative")
	}
	var states []a2a.TaskState
	for _, word := range c.States {
		s, err := admin.ParseState(word)
		if err != nil {
			return nil, admin.Invalid("states", "%.40q %v", word, err)
		}
		if !s.Terminal() && !s.Interrupted() {
			return nil, admin.Invalid("states", "tasks that are %s are at work and never deleted", word)
		}
		if !slices.Contains(states, s) {
			states = append(states, s)
		}
	}
	if len(c.States) == 0 {
		for _, s := range a2a.TaskStates() {
			if s.Terminal() {
				states = append(states, s)
			}
		}
	}
	before := a.engine.Now().Add(-time.Duration(c.OlderThan))
	for _, s := range states {
		n := 0
		if c.DryRun {
			n, err = database.CountIdle(ctx, a.store.Idle, int32(s), before)
		} else {
			n, err = a.engine.Collect(ctx, store.Expiry{State: int32(s), Before: before, Batch: collectBatch, Pause: func(time.Duration) error { return context.Cause(ctx) }})
		}
		if did.Tasks += n; n > 0 {
			did.States[admin.StateWord(s)] += n
		}
		if err != nil {
			return nil, a.failed("delete old tasks", err)
		}
	}
	if !c.DryRun {
		did.Receipts, err = database.Forget(ctx, a.store, store.ForgetQuery{Before: a.engine.Now(), Limit: collectBatch})
		if err != nil {
			return nil, a.failed("forget messages", err)
		}
	}
	return did, nil
}
