package engine

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

// scene is a client's actions on a task that is at work in one process. The client talks to
// that process or to another one, and must not see a difference.
type scene struct {
	*testing.T
	at, via *world // where the task is, and who is asked
	said    strings.Builder
}

func (s *scene) note(format string, args ...any) { fmt.Fprintf(&s.said, format+"\n", args...) }

// result notes the outcome of a call, with what matters of an error.
func (s *scene) result(what string, task *a2a.Task, err error) {
	var known *a2a.Error
	switch {
	case errors.As(err, &known):
		s.note("%v %s: %s %q %v %v %v", time.Now().UTC().Format("05.000"), what, known.Code, known.Message, known.Fields, known.Meta, known.RetryAfter)
	case err != nil:
		s.note("%s: %v", what, err)
	case task != nil:
		s.note("%v %s: %s", time.Now().UTC().Format("05.000"), what, task.AppendJSON(nil))
	}
}

func (s *scene) send(what string, req *a2a.SendMessageRequest) *a2a.Task {
	resp, err := s.via.SendMessage(s.Context(), req)
	if err != nil {
		s.result(what, nil, err)
		return nil
	}
	s.result(what, resp.Task, nil)
	return resp.Task
}

func (s *scene) stream(what string, req *a2a.SendMessageRequest) {
	evs, err := collect(s.via.SendStreamingMessage(s.Context(), req))
	for _, ev := range evs {
		s.note("%s: %d %s", what, ev.Seq, ev.AppendJSON(nil)) // More is a matter of what came together
	}
	s.result(what, nil, err)
}

func (s *scene) cancel(what, id string) {
	task, err := s.via.CancelTask(s.Context(), &a2a.CancelTaskRequest{ID: id, Metadata: a2a.JSON(`{"why": "so"}`)})
	s.result(what, task, err)
}

func (s *scene) log(k store.Key) {
	entries, err := s.at.st.Entries(s.Context(), k, 0, 0)
	if err != nil {
		s.Error(err)
	}
	for _, en := range entries {
		s.note("%d %v %d %s", en.Seq, en.Time.UTC().Format("05.000"), en.Kind, en.Body)
	}
	receipts, err := s.at.st.Receipts(s.Context(), k)
	if err != nil {
		s.Error(err)
	}
	for _, r := range receipts {
		if !strings.HasPrefix(r.Name, byForward) {
			s.note("receipt %s %d %v", r.Name, r.Seq, r.Until)
		}
	}
}

func (s *scene) quickly(req *a2a.SendMessageRequest) *a2a.SendMessageRequest {
	if req.Configuration == nil {
		req.Configuration = &a2a.SendMessageConfiguration{}
	}
	req.Configuration.ReturnImmediately = true
	return req
}

var anyID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// plain names ids by the order in which they come.
func plain(text string) string {
	names := map[string]string{}
	return anyID.ReplaceAllStringFunc(text, func(id string) string {
		if names[id] == "" {
			names[id] = fmt.Sprint("#", len(names)+1)
		}
		return names[id]
	})
}

// second works for a second and then does f.
func second(f func(ctx context.Context, t *agent.Turn) error) agent.Agent {
	return agent.Func(func(ctx context.Context, t *agent.Turn) error {
		if err := t.Status("at it"); err != nil {
			return err
		}
		select {
		case <-time.After(time.Second):
			return f(ctx, t)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
}

var (
	completes = second(func(_ context.Context, t *agent.Turn) error { return t.Complete("done") })
	asks      = second(func(ctx context.Context, t *agent.Turn) error {
		m, err := t.Ask(ctx, "what now?")
		if err != nil {
			return err
		}
		return t.Complete("done: " + m.Text())
	})
)

// In all scenes the client and the log see the same at the same moment, whether the process
// that the client talks to has the task or another one.
func TestSameAtAnotherProcess(t *testing.T) {
	generation := func(req *a2a.SendMessageRequest, n int64) *a2a.SendMessageRequest {
		req.Configuration = &a2a.SendMessageConfiguration{IfGenerationMatch: &n}
		return req
	}
	old := func(s *scene) (*a2a.Task, func(string) *a2a.SendMessageRequest) {
		task := s.at.mustSend(now01("mine", "go"))
		return task, func(text string) *a2a.SendMessageRequest { return first01("mine", text) }
	}
	for name, c := range map[string]struct {
		agent agent.Agent
		o     func(*Options)
		do    func(s *scene, task *a2a.Task)
	}{
		"quick": {asks, nil, func(s *scene, task *a2a.Task) {
			s.send("send", s.quickly(reply(task, "more")))
			s.send("one more", reply(task, "and more"))
		}},
		"blocking": {asks, nil, func(s *scene, task *a2a.Task) { s.send("send", reply(task, "more")) }},
		"blocking, until it asks for credentials": {second(func(ctx context.Context, t *agent.Turn) error {
			_, err := t.Authenticate(ctx, "log in")
			return err
		}), nil, func(s *scene, task *a2a.Task) { s.send("send", reply(task, "more")) }},
		"unread":   {completes, nil, func(s *scene, task *a2a.Task) { s.send("send", reply(task, "more")) }},
		"streamed": {asks, nil, func(s *scene, task *a2a.Task) { s.stream("stream", reply(task, "more")) }},
		"streamed, unread": {completes, nil, func(s *scene, task *a2a.Task) {
			s.stream("stream", reply(task, "more"))
			s.stream("too late", reply(task, "more"))
		}},
		"short history": {asks, nil, func(s *scene, task *a2a.Task) {
			req, n := reply(task, "more"), int32(1)
			req.Configuration = &a2a.SendMessageConfiguration{HistoryLength: &n, AcceptedOutputModes: []string{"a/b"}}
			req.Metadata = a2a.JSON(`{"a": 1.0, "<": [ ]}`)
			req.Message.Parts = append(req.Message.Parts, a2a.DataPart(a2a.JSON(`{"b" : "\u003c<é"}`)), a2a.RawPart([]byte("\xff\x00"), "x/y", "f"))
			s.send("send", req)
		}},
		"generations": {asks, nil, func(s *scene, task *a2a.Task) {
			s.send("wrong", generation(reply(task, "no"), 17))
			s.send("right", s.quickly(generation(reply(task, "yes"), s.at.mustGet(task.ID).Generation)))
			s.stream("not any more", generation(reply(task, "no"), 2))
		}},
		"another context": {asks, nil, func(s *scene, task *a2a.Task) {
			req := reply(task, "more")
			req.Message.ContextID = "other"
			s.send("send", req)
		}},
		"too many": {asks, func(o *Options) { o.Limits.Messages = 2 }, func(s *scene, task *a2a.Task) {
			s.send("send", s.quickly(reply(task, "two")))
			s.send("send", s.quickly(reply(task, "three")))
		}},
		"too much": {asks, func(o *Options) { o.Limits.TaskBytes = 2000 }, func(s *scene, task *a2a.Task) {
			s.stream("stream", reply(task, strings.Repeat("x", 2000)))
		}},
		"again": {asks, func(o *Options) { o.Retries.Anonymous = true }, func(s *scene, task *a2a.Task) {
			req := reply(task, "more")
			req.IdempotencyKey = "key"
			s.send("send", s.quickly(repeated(req)))
			s.send("again", s.quickly(repeated(req)))
			s.stream("and streamed", repeated(req))
			other := repeated(req)
			other.Message.Parts = []*a2a.Part{a2a.TextPart("other")}
			s.send("other", other)
		}},
		"again at once": {asks, func(o *Options) { o.Retries.Anonymous = true }, func(s *scene, task *a2a.Task) {
			req := reply(task, "more")
			var all sync.WaitGroup
			results := make([]string, 8)
			for i := range results {
				all.Go(func() {
					w := s.via
					if i%2 == 0 {
						w = s.at
					}
					resp, err := w.SendMessage(s.Context(), repeated(req))
					if err != nil {
						results[i] = err.Error()
						return
					}
					results[i] = resp.Task.Status.Message.Text()
				})
			}
			all.Wait()
			s.note("%q", results)
		}},
		"cancel": {waiting, nil, func(s *scene, task *a2a.Task) {
			s.cancel("cancel", task.ID)
			s.cancel("again", task.ID)
			s.send("too late", reply(task, "more"))
		}},
		"cancel, ignored": {deaf, nil, func(s *scene, task *a2a.Task) { s.cancel("cancel", task.ID) }},
		"cancel, too late": {agent.Func(func(ctx context.Context, t *agent.Turn) error {
			<-ctx.Done()
			return t.Complete("done nevertheless")
		}), nil, func(s *scene, task *a2a.Task) { s.cancel("cancel", task.ID) }},
		"0.1, left for the next turn": {completes, nil, func(s *scene, _ *a2a.Task) {
			_, more := old(s)
			s.send("send", more("more"))
			s.send("again", more("once more"))
		}},
		"0.1, left for the next turn, streamed": {completes, nil, func(s *scene, _ *a2a.Task) {
			_, more := old(s)
			s.stream("stream", more("more"))
		}},
		"0.1, the next turn at work": {completes, nil, func(s *scene, _ *a2a.Task) {
			_, more := old(s)
			s.send("send", s.quickly(more("more")))
			time.Sleep(1500 * time.Millisecond)
			s.stream("stream", more("much more"))
		}},
		"0.1, left for a turn that is canceled": {agent.Func(func(ctx context.Context, t *agent.Turn) error {
			if t.Text() == "go" {
				return completes.Run(ctx, t)
			}
			return waiting.Run(ctx, t)
		}), nil, func(s *scene, _ *a2a.Task) {
			_, more := old(s)
			s.send("send", s.quickly(more("more")))
			sent := s.via.posted(more("much more"))
			time.Sleep(1500 * time.Millisecond)
			s.cancel("cancel", "mine")
			got := <-sent
			s.result("behind it", got.task, got.err)
		}},
		"0.1, cancel": {waiting, nil, func(s *scene, _ *a2a.Task) {
			task, more := old(s)
			s.cancel("cancel", task.ID)
			s.send("send", s.quickly(more("more")))
			s.cancel("cancel", task.ID)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var said [2]string
			for i, where := range []string{"here", "there"} {
				t.Run(where, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						st := store.NewMemory()
						defer st.Close()
						o := shared(t)
						if c.o != nil {
							c.o(o)
						}
						s := &scene{T: t, at: newWorldWith(t, st, c.agent, testCard(), o)}
						s.via = s.at
						if i == 1 {
							s.via = newWorldWith(t, st, c.agent, testCard(), o)
						}
						task := s.at.mustSend(sendNow("x"))
						synctest.Wait()
						c.do(s, task)
						s.log(store.Key{ID: task.ID})
						s.log(store.Key{ID: "mine"})
						synctest.Wait() // an owner that found the task elsewhere is forgotten behind its answer
						if s.via != s.at && s.via.AtWork() != 0 {
							t.Error("the other process has the task")
						}
						s.at.stop()
						s.via.stop()
						for _, w := range []*world{s.at, s.via} {
							if len(w.sends.m)+w.topics.LenLocked()+w.AtWork()+len(w.forwards.asked)+w.forwards.begun() != 0 {
								t.Errorf("left: %v %v %v %v %v", w.sends.m, w.topics.LenLocked(), w.owners, w.forwards.asked, w.forwards.begun())
							}
						}
						said[i] = plain(s.said.String())
					})
				})
			}
			if said[0] != said[1] {
				t.Errorf("asked here:\n%s\nasked there:\n%s", said[0], said[1])
			}
		})
	}
}

// deaf does not hear that it is to stop.
var deaf = agent.Func(func(_ context.Context, t *agent.Turn) error {
	time.Sleep(10 * time.Second)
	return t.Complete("done")
})
