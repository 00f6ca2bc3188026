package openai_test

import (
	"context"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/agent/openai"
	"github.com/parley-a2a/parley/agent/openai/openaitest"
)

// slowHost takes each chunk after a pause, as an engine does whose disk is full.
type slowHost struct {
	agent.Host
	pause time.Duration
	task  a2a.Task
}

func (h *slowHost) Message() *a2a.Message {
	return &a2a.Message{MessageID: "m", Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart("hello")}}
}
func (h *slowHost) Task() *a2a.Task            { return h.task.Snapshot() }
func (h *slowHost) Accepted() []string         { return nil }
func (h *slowHost) Metadata() a2a.JSON         { return nil }
func (h *slowHost) Caller() a2a.Caller         { return a2a.Caller{} }
func (h *slowHost) Attempt() int               { return 1 }
func (h *slowHost) NewArtifactID(n int) string { return "artifact" }
func (h *slowHost) Siblings(context.Context) iter.Seq2[*a2a.Task, error] {
	return func(func(*a2a.Task, error) bool) {}
}

func (h *slowHost) Step(ctx context.Context, _ string, fn func(context.Context) (a2a.JSON, error)) (a2a.JSON, error) {
	return fn(ctx)
}

func (h *slowHost) Status(state a2a.TaskState, m *a2a.Message) error {
	h.task.Status = a2a.TaskStatus{State: state, Message: m}
	return nil
}

func (h *slowHost) Artifact(a *a2a.Artifact, add, last bool) error {
	time.Sleep(h.pause)
	h.task.Apply(&a2a.Entry{Kind: a2a.EntryArtifact, Artifact: &a2a.TaskArtifactUpdateEvent{Artifact: a, Append: add, LastChunk: last}})
	return nil
}

// An endpoint is not silent while nobody reads what it sent.
func TestSlowTaskIsNotSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tokens := strings.SplitAfter(strings.Repeat("x ", 40), " ")
		ag, err := openai.New("http://model.test/v1", "fake-1", &openai.Options{
			Client: openaitest.New(openaitest.Text(tokens...)).Client(), Retries: -1, FlushEvery: time.Nanosecond, Timeout: time.Minute, MaxTime: 24 * time.Hour,
		})
		if err != nil {
			t.Fatal(err)
		}
		defer ag.Close()
		h := &slowHost{pause: 2 * time.Minute}
		err = ag.Run(t.Context(), agent.NewTurn(h))
		if err != nil || h.task.Status.State != a2a.TaskStateCompleted || answer(&h.task) != strings.Join(tokens, "") {
			t.Errorf("got %v, %s", err, h.task.AppendJSON(nil))
		}
	})
}
