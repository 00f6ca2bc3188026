package engine

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/engine/internal/task"
	"github.com/parley-a2a/parley/store"
)

// CreateTaskPushNotificationConfig implements a2a.Service (specification §3.1.7). Events from
// now on are delivered. A configuration with the id of an existing one replaces it; nothing is
// sent to the former receiver after the call returns.
func (s *service) CreateTaskPushNotificationConfig(ctx context.Context, c *a2a.TaskPushNotificationConfig) (*a2a.TaskPushNotificationConfig, error) {
	e := s.e
	a, err := s.enterPush(ctx, c, c.Tenant, a2a.ScopePushWrite)
	if err != nil {
		return nil, err
	}
	key := a.own(c.TaskID)
	last, state, err := e.topics.LastOf(ctx, key)
	if err != nil {
		return nil, err
	}
	p, err := e.newPush(ctx, "", c)
	if err != nil {
		return nil, err
	}
	p.Key, p.Cursor = key, last
	p.Live = !state.Terminal() // a finished task has nothing to deliver, unless it is reopened
	added, err := e.roomFor(ctx, p)
	if err != nil {
		return nil, err
	}
	defer added()
	if err := e.setPush(ctx, p); err != nil {
		return nil, err
	}
	broken := e.outbox.Watch(p, last)
	// The outbox was not told of entries that were committed before it knew p.
	if end, _, err := e.topics.LastOf(ctx, key); err == nil && end > last {
		if !p.Live {
			p.Live = true
			if err := e.setPush(ctx, p); err != nil {
				return nil, err
			}
		}
		e.outbox.Watch(p, end)
	}
	await(ctx, broken)
	return e.shown(p)
}

// enterPush is enter for the operations on configurations. It also validates the request.
func (s *service) enterPush(ctx context.Context, req interface{ Validate() error }, tenant, need string) (*access, error) {
	a, err := s.enter(ctx, tenant, need)
	switch {
	case err != nil:
		return nil, err
	case !a.role.gate.push:
		return nil, a2a.ErrPushNotificationNotSupported
	}
	return a, req.Validate()
}

func (e *Engine) setPush(ctx context.Context, p *store.PushConfig) error {
	if err := e.present(ctx); err != nil { // otherwise other processes take over its deliveries
		return err
	}
	err := e.store.SetPush(ctx, p)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrNotFound):
		return stored.NotFound(p.Key.ID)
	}
	e.outbox.LookSoon() // it may be stored nevertheless
	return stored.Failed(err, "store push config of task "+p.Key.ID)
}

// await returns when all of done are closed or ctx ends.
func await(ctx context.Context, done []<-chan struct{}) {
	for _, done := range done {
		select {
		case <-done:
		case <-ctx.Done():
			return
		}
	}
}

// adding has the push configurations that calls are about to store, by task, in the order of
// the calls.
type adding struct {
	mu sync.Mutex // protects the field below
	m  map[store.Key][]*store.PushConfig
}

// enter adds p, until leave, and returns the configurations of its task that were there before.
func (a *adding) enter(p *store.PushConfig) (before []*store.PushConfig) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before = slices.Clone(a.m[p.Key])
	a.m[p.Key] = append(a.m[p.Key], p)
	return before
}

func (a *adding) leave(p *store.PushConfig) {
	a.mu.Lock()
	defer a.mu.Unlock()
	rest := slices.DeleteFunc(a.m[p.Key], func(other *store.PushConfig) bool { return other == p })
	if a.m[p.Key] = rest; len(rest) == 0 {
		delete(a.m, p.Key)
	}
}

// roomFor returns an error if the task already has as many configurations as it may have. It
// counts those that other calls are about to store, as others count p until added is called.
func (e *Engine) roomFor(ctx context.Context, p *store.PushConfig) (added func(), err error) {
	before := e.adding.enter(p)
	added = func() { e.adding.leave(p) }
	all, err := e.store.Pushes(ctx, p.Key, "", task.MaxPushes)
	if err != nil {
		added()
		return nil, stored.Failed(err, "read push configs of task "+p.Key.ID)
	}
	ids := map[string]bool{}
	for i := range all {
		ids[all[i].ID] = true
	}
	replaces := ids[p.ID]
	for _, other := range before {
		ids[other.ID] = true
	}
	if ids[p.ID] = true; len(ids) > task.MaxPushes && !replaces {
		added()
		return nil, a2a.Errorf(a2a.CodeUnsupportedOperation, "a task may have %d push configurations; delete one first", task.MaxPushes)
	}
	return added, nil
}

// newPush makes the stored form of a configuration. The caller sets its task and cursor. field
// is the path of c in the request.
func (e *Engine) newPush(ctx context.Context, field string, c *a2a.TaskPushNotificationConfig) (*store.PushConfig, error) {
	p, err := e.outbox.Record(ctx, c)
	switch {
	case err != nil:
		return nil, within(field, err)
	case p.ID != "":
	case c.Legacy != nil:
		// Versions without ids have one configuration for a task, and their clients ask for it
		// without an id.
		p.ID = c.TaskID
	default:
		p.ID = stored.NewID()
	}
	return p, nil
}

// pushWith returns the configuration that comes with a message. For a new task it gets all
// events, for an existing one the events after the message. The caller calls added once the
// outcome of the message is certain.
func (e *Engine) pushWith(ctx context.Context, a *access, req *a2a.SendMessageRequest) (p *store.PushConfig, added func(), err error) {
	if !a.caller.May(a2a.ScopePushWrite) {
		return nil, nil, errScope(a2a.ScopePushWrite)
	}
	if e.outbox == nil { // another process let the message in, and has an outbox
		return nil, nil, a2a.ErrPushNotificationNotSupported
	}
	c := *req.Configuration.TaskPushNotificationConfig
	c.TaskID, c.Legacy = "", req.Legacy
	p, err = e.newPush(ctx, "configuration.taskPushNotificationConfig.", &c)
	if err != nil || req.Message.TaskID == "" {
		return p, func() {}, err
	}
	p.Key = a.own(req.Message.TaskID)
	p.ID = cmp.Or(p.ID, p.Key.ID)
	added, err = e.roomFor(ctx, p)
	return p, added, err
}

// within prefixes the field in err with the path of the configuration in the request.
func within(field string, err error) error {
	known, ok := errors.AsType[*a2a.Error](err)
	if field == "" || !ok || len(known.Fields) != 1 {
		return err
	}
	return a2a.Invalid(field+known.Fields[0].Field, "%s", known.Fields[0].Description)
}

// signingSecret is the prefix of a token that is a key for signatures: Standard Webhooks.
const signingSecret = "whsec_"

// shown returns a configuration for answers, without what only the receiver needs to know.
func (e *Engine) shown(p *store.PushConfig) (*a2a.TaskPushNotificationConfig, error) {
	c, err := e.outbox.Config(p)
	if err != nil {
		return nil, err
	}
	if c.Authentication != nil {
		c.Authentication.Credentials = ""
	}
	if strings.HasPrefix(string(c.Token), signingSecret) {
		c.Token = "" // never sent to the receiver either, but used to sign
	}
	return c, nil
}

// GetTaskPushNotificationConfig implements a2a.Service (specification §3.1.8).
func (s *service) GetTaskPushNotificationConfig(ctx context.Context, req *a2a.GetTaskPushNotificationConfigRequest) (*a2a.TaskPushNotificationConfig, error) {
	e := s.e
	a, err := s.enterPush(ctx, req, req.Tenant, a2a.ScopePushRead)
	if err != nil {
		return nil, err
	}
	key := a.own(req.TaskID)
	p, err := e.push(ctx, key, req.ID)
	switch {
	case err == nil:
		return e.shown(p)
	case !errors.Is(err, store.ErrNotFound):
		return nil, stored.Failed(err, "read push config of task "+key.ID)
	}
	if _, _, err := e.topics.LastOf(ctx, key); err != nil {
		return nil, err
	}
	return nil, stored.About(key.ID, a2a.CodeTaskNotFound, "the task has no such push notification configuration")
}

// push returns a stored configuration; the first one if id is empty.
func (e *Engine) push(ctx context.Context, key store.Key, id string) (*store.PushConfig, error) {
	if id != "" {
		return e.store.Push(ctx, store.PushID{Key: key, ID: id})
	}
	// The one that was made without an id, or else any.
	own, err := e.store.Push(ctx, store.PushID{Key: key, ID: key.ID})
	if !errors.Is(err, store.ErrNotFound) {
		return own, err
	}
	first, err := e.store.Pushes(ctx, key, "", 1)
	if err == nil && len(first) == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return &first[0], nil
}

// ListTaskPushNotificationConfigs implements a2a.Service (specification
// §3.1.9).
func (s *service) ListTaskPushNotificationConfigs(ctx context.Context, req *a2a.ListTaskPushNotificationConfigsRequest) (*a2a.ListTaskPushNotificationConfigsResponse, error) {
	e := s.e
	a, err := s.enterPush(ctx, req, req.Tenant, a2a.ScopePushRead)
	if err != nil {
		return nil, err
	}
	key := a.own(req.TaskID)
	if _, _, err := e.topics.LastOf(ctx, key); err != nil {
		return nil, err
	}
	list := &store.Query{Tenant: key.Tenant, Owner: key.Owner, Context: "\x00" + key.ID} // no context has such an id
	from, err := e.parseToken(ctx, list, req.PageToken)
	if err != nil {
		return nil, err
	}
	limit := int(req.PageSize)
	if limit <= 0 || limit > task.MaxPushes {
		limit = task.MaxPushes
	}
	page, err := e.store.Pushes(ctx, key, cmp.Or(from, &store.Position{}).ID, limit+1)
	if err != nil {
		return nil, stored.Failed(err, "read push configs of task "+key.ID)
	}
	resp := &a2a.ListTaskPushNotificationConfigsResponse{Configs: []*a2a.TaskPushNotificationConfig{}}
	if len(page) > limit {
		page = page[:limit]
		if resp.NextPageToken, err = e.formatToken(ctx, list, store.Position{ID: page[limit-1].ID}); err != nil {
			return nil, err
		}
	}
	for i := range page {
		c, err := e.shown(&page[i])
		if err != nil {
			return nil, err
		}
		resp.Configs = append(resp.Configs, c)
	}
	return resp, nil
}

// DeleteTaskPushNotificationConfig implements a2a.Service (specification §3.1.10). It
// aborts an attempt that is under way; nothing is sent after it returns.
func (s *service) DeleteTaskPushNotificationConfig(ctx context.Context, req *a2a.DeleteTaskPushNotificationConfigRequest) error {
	e := s.e
	a, err := s.enterPush(ctx, req, req.Tenant, a2a.ScopePushWrite)
	if err != nil {
		return err
	}
	key := a.own(req.TaskID)
	if _, _, err := e.topics.LastOf(ctx, key); err != nil {
		return err
	}
	id := store.PushID{Key: key, ID: req.ID}
	if err := e.store.DropPush(ctx, id); err != nil {
		return stored.Failed(err, "delete push config of task "+key.ID)
	}
	await(ctx, e.outbox.Drop(id))
	return nil
}
