package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine"
	"github.com/parley-a2a/parley/store"
)

// facts are what lists of a stock are asked for, kept beside it.
type facts struct {
	Large  string    // a context with a tenth of all tasks
	Since  time.Time // the younger half of them begins there
	Middle string    // token of the page in the middle of all; "" if it was not looked for
}

// makeStock fills a Parley database with n tasks that have ended, as a server that
// has run for n seconds leaves it: copies of what an engine wrote for a few, with
// ids and times of their own, one a second until now. A quarter of them failed. A
// tenth is in one context, the others are in contexts of four.
func makeStock(ctx context.Context, st store.Store, n int) (*facts, error) {
	var models []model
	for _, text := range []string{
		"echo the quick brown fox jumps over the lazy dog", "stream 5 0",
		"echo is it going to rain today, and if not, when?", "fail no such city",
	} {
		m, err := modelOf(ctx, text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		models = append(models, m)
	}
	var failed atomic.Pointer[error]
	var queued sync.WaitGroup
	room := make(chan struct{}, 10_000) // or memory fills with what is not written yet
	begin := time.Now().Add(-time.Duration(n) * time.Second)
	made := &facts{Large: uuid.NewString(), Since: begin.Add(time.Duration(n/2) * time.Second).UTC().Truncate(time.Millisecond)}
	in := ""
	for i := range n {
		const each = 4
		if i%each == 0 {
			in = uuid.NewString()
			if i/each%10 == 0 {
				in = made.Large
			}
		}
		for _, a := range models[i%len(models)].copy(in, begin.Add(time.Duration(i)*time.Second)) {
			queued.Add(1)
			room <- struct{}{}
			st.Append(a, func(err error) {
				if err != nil {
					failed.Store(&err)
				}
				<-room
				queued.Done()
			})
		}
		if failed.Load() != nil || ctx.Err() != nil {
			break
		}
	}
	queued.Wait()
	if err := failed.Load(); err != nil {
		return nil, *err
	}
	return made, context.Cause(ctx)
}

// model is what an engine appended for one task.
type model []*store.Append

// modelOf lets an engine run a task of the demo agent to its end.
func modelOf(ctx context.Context, text string) (model, error) {
	memory := store.NewMemory()
	defer memory.Close()
	r := &recorder{Store: memory}
	card := agent.DemoCard()
	e := engine.New(r, agent.Demo(), &card, nil)
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	ran := make(chan error, 1)
	go func() { ran <- e.Run(running) }()
	res, err := e.SendMessage(ctx, &a2a.SendMessageRequest{Message: &a2a.Message{
		MessageID: uuid.NewString(), ContextID: uuid.NewString(), Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart(text)},
	}})
	cancel()
	if err := errors.Join(err, <-ran); err != nil {
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
func (m model) copy(contextID string, begun time.Time) model {
	later := begun.Sub(m[0].Row.Created)
	ids := map[string]string{m[0].Row.Context: contextID}
	id := func(old []byte) []byte {
		if ids[string(old)] == "" {
			fresh := uuid.New()
			if uuid.MustParse(string(old)).Version() == 7 { // it tells the time, so that ids are in its order
				binary.BigEndian.PutUint64(fresh[:8], uint64(begun.UnixMilli())<<16|uint64(fresh[6]&0x0f|0x70)<<8|uint64(fresh[7]))
			}
			ids[string(old)] = fresh.String()
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
		c.Row.Context = contextID
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
