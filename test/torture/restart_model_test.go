package torture

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

// model is what an engine appended for one task.
type model []*store.Append

// modelOf lets an engine run a task to its end.
func modelOf(ctx context.Context, text string) (model, error) {
	memory := store.NewMemory()
	defer memory.Close()
	r := &recorder{Store: memory}
	e, stop := demo(ctx, r, agent.Demo())
	res, err := e.SendMessage(ctx, say("", uuid.NewString(), text))
	if err := errors.Join(err, stop()); err != nil {
		return nil, err
	}
	if res.Task == nil || !res.Task.Status.State.Terminal() {
		return nil, errors.New("it does not end")
	}
	return r.appends, nil
}

// recorder keeps what goes through.
type recorder struct {
	store.Store

	mu      sync.Mutex // protects the fields below
	appends model
}

func (r *recorder) Append(a *store.Append, done func(error)) {
	r.mu.Lock()
	r.appends = append(r.appends, a)
	r.mu.Unlock()
	r.Store.Append(a, done)
}

var (
	anyID   = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	anyTime = regexp.MustCompile(`[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?Z`)
)

// copy is the same task under other ids, begun at another time.
func (m model) copy(tenant, contextID string, begun time.Time) model {
	later := begun.Sub(m[0].Row.Created)
	ids := map[string]string{m[0].Row.Context: contextID}
	id := func(old []byte) []byte {
		if ids[string(old)] == "" {
			ids[string(old)] = uuid.NewString()
		}
		return []byte(ids[string(old)])
	}
	at := func(old []byte) []byte {
		t, err := time.Parse(time.RFC3339, string(old))
		if err != nil {
			return old
		}
		return t.Add(later).UTC().AppendFormat(nil, "2006-01-02T15:04:05.000Z")
	}
	body := func(b []byte) []byte { return anyTime.ReplaceAllFunc(anyID.ReplaceAllFunc(b, id), at) }

	out := make(model, len(m))
	for i, a := range m {
		c := *a
		c.Row.Tenant, c.Row.Context = tenant, contextID
		c.Row.ID = string(id([]byte(a.Row.ID)))
		c.Row.Node = "a node of long ago"
		c.Row.Created, c.Row.Updated = a.Row.Created.Add(later), a.Row.Updated.Add(later)
		c.Entries = slices.Clone(a.Entries)
		for j := range c.Entries {
			en := &c.Entries[j]
			en.Time, en.Body = en.Time.Add(later), body(en.Body)
		}
		if a.Seal != nil {
			c.Seal = &store.Seal{Head: body(a.Seal.Head), Body: body(a.Seal.Body)}
		}
		out[i] = &c
	}
	return out
}
