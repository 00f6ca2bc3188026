package torture

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/sqlite"
)

// stock is a database as a busy server leaves it behind.
type stock struct {
	finished   int // tasks that have ended
	unfinished int // tasks whose process is gone, a quarter of each kind of lost
}

// lost are the commands of unfinished tasks: at work with some chunks written,
// at work with nothing to show, waiting for an answer, just submitted.
type lost [4]string

// tenants are whose tasks they are. Half of all are of the first, so that its
// lists are long.
var tenants = []string{"", "north", "east", "south", "west"}

func tenant(i int) string {
	if i%2 == 0 {
		return tenants[0]
	}
	return tenants[1+i/2%(len(tenants)-1)]
}

// fill makes a database at path.
func (s stock) fill(ctx context.Context, path string, work lost) error {
	st, err := sqlite.Open(path, nil)
	if err != nil {
		return err
	}
	defer st.Close()
	if err := s.finish(ctx, st); err != nil {
		return fmt.Errorf("make finished tasks: %w", err)
	}
	if err := s.lose(ctx, st, work); err != nil {
		return fmt.Errorf("make unfinished tasks: %w", err)
	}
	return st.Close()
}

// demo serves ag over st until stop is called, which drains.
func demo(ctx context.Context, st store.Store, ag agent.Agent) (e *engine.Engine, stop func() error) {
	card := agent.DemoCard()
	card.Capabilities.Streaming = new(true)
	e = engine.New(st, ag, &card, nil)
	ctx, cancel := context.WithCancel(ctx)
	ran := make(chan error, 1)
	go func() { ran <- e.Run(ctx) }()
	return e, func() error {
		cancel()
		return <-ran
	}
}

func say(tenant, contextID, text string) *a2a.SendMessageRequest {
	return &a2a.SendMessageRequest{Tenant: tenant, Message: &a2a.Message{
		MessageID: uuid.NewString(), ContextID: contextID, Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart(text)},
	}}
}

// finish writes tasks that have ended: copies of what an engine wrote for a few,
// with ids and times of their own, one a second until now.
func (s stock) finish(ctx context.Context, st store.Store) error {
	var models []model
	for _, text := range []string{
		"echo the quick brown fox jumps over the lazy dog", "stream 5 0",
		"echo is it going to rain today, and if not, when?", "fail no such city",
	} {
		m, err := modelOf(ctx, text)
		if err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
		models = append(models, m)
	}
	var failed atomic.Pointer[error]
	var queued sync.WaitGroup
	begin := time.Now().Add(-time.Duration(s.finished) * time.Second)
	contextID := ""
	for i := range s.finished {
		const each = 4 // tasks in a conversation
		if i%each == 0 {
			contextID = uuid.NewString()
		}
		for _, a := range models[i%len(models)].copy(tenant(i/each), contextID, begin.Add(time.Duration(i)*time.Second)) {
			queued.Add(1)
			st.Append(a, func(err error) {
				if err != nil {
					failed.Store(&err)
				}
				queued.Done()
			})
		}
		if failed.Load() != nil || ctx.Err() != nil {
			break
		}
	}
	queued.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return ctx.Err()
}

// lose writes tasks that engines left unfinished, some hundred each.
func (s stock) lose(ctx context.Context, st store.Store, work lost) error {
	const each = 400
	for from := 0; from < s.unfinished; from += each {
		e, stop := demo(ctx, deaf{st}, agent.Func(halfway))
		var sent sync.WaitGroup
		failed := make(chan error, each)
		for i := from; i < min(from+each, s.unfinished); i++ {
			sent.Go(func() {
				req := say(tenant(i), "", work[i/2%len(work)])
				req.Configuration = &a2a.SendMessageConfiguration{ReturnImmediately: true}
				if _, err := e.SendMessage(ctx, req); err != nil {
					failed <- err
				}
			})
		}
		sent.Wait()
		close(failed)
		if err := errors.Join(<-failed, stop()); err != nil {
			return err
		}
	}
	return nil
}

// deaf keeps a node from taking up what others left, and from saying that it
// ends in good order: it is lost, too.
type deaf struct{ store.Store }

func (deaf) Leave(context.Context, string) error { return nil }

func (deaf) Claim(context.Context, string, time.Time, int) ([]store.Row, error) { return nil, nil }

// halfway does what the demo agent does, up to some point.
func halfway(ctx context.Context, t *agent.Turn) error {
	word, arg, _ := strings.Cut(t.Text(), " ")
	switch word {
	case "ask":
		return agent.Demo().Run(ctx, t)
	case "sleep":
		if err := t.Status("sleeping " + arg + " seconds"); err != nil {
			return err
		}
	case "stream":
		if err := t.Status(""); err != nil {
			return err
		}
		w := t.Artifact("stream")
		for i := 1; i <= 3; i++ {
			if _, err := fmt.Fprintf(w, "chunk %d\n", i); err != nil {
				return err
			}
		}
	}
	<-ctx.Done()
	return context.Cause(ctx)
}
