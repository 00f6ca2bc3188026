package httpagent

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
)

// disk is what outlives the processes of a test: the log of one turn.
type disk struct {
	mu      sync.Mutex // protects the fields below
	task    a2a.Task
	steps   []*a2a.Step
	answers []string // of the caller, for questions that were put
	asked   int
	saw     []string // the artifacts when it was asked, and at the end
	caller  a2a.Caller
}

// host is one process's view of a disk. Its fail-th write is the last thing that
// the process does, with or without effect.
type host struct {
	*disk
	attempt int
	writes  int // protected by disk.mu, like the rest
	fail    int
	after   bool
	dead    bool
	step    int
	taken   int
	crash   context.CancelCauseFunc
}

func newDisk() *disk {
	return &disk{task: a2a.Task{ID: "task", ContextID: "context"}, answers: []string{"yes", "again"}}
}

func (d *disk) look() string {
	var all []string
	for _, a := range d.task.Artifacts {
		all = append(all, a.Name+" "+show(a.Parts))
	}
	return strings.Join(all, "; ")
}

// write is what all changes go through.
func (h *host) write(effect func()) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.dead || h.task.Status.State.Terminal() {
		return agent.ErrEnded
	}
	h.writes++
	h.dead = h.writes == h.fail
	if !h.dead || h.after {
		effect()
	}
	if h.dead {
		h.crash(agent.ErrDraining)
		return agent.ErrEnded
	}
	return nil
}

func (h *host) Status(state a2a.TaskState, m *a2a.Message) error {
	return h.write(func() {
		h.task.Apply(&a2a.Entry{Kind: a2a.EntryStatus, Status: &a2a.TaskStatusUpdateEvent{Status: a2a.TaskStatus{State: state, Message: m}}})
	})
}

func (h *host) Artifact(a *a2a.Artifact, add, last bool) error {
	return h.write(func() {
		h.task.Apply(&a2a.Entry{Kind: a2a.EntryArtifact, Artifact: &a2a.TaskArtifactUpdateEvent{Artifact: a, Append: add, LastChunk: last}})
	})
}

func (h *host) Reply(parts []*a2a.Part) error {
	return h.Status(a2a.TaskStateCompleted, &a2a.Message{Parts: parts})
}

func (h *host) Next(ctx context.Context, prompt []*a2a.Part) (*a2a.Message, error) {
	h.mu.Lock()
	n := h.taken
	h.taken++
	known := n < h.asked
	h.mu.Unlock()
	if !known {
		if err := h.write(func() { h.asked++; h.saw = append(h.saw, h.look()) }); err != nil {
			return nil, err
		}
	}
	return &a2a.Message{MessageID: fmt.Sprint("a", n), Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart(h.answers[n])}}, nil
}

func (h *host) Step(ctx context.Context, name string, fn func(context.Context) (a2a.JSON, error)) (a2a.JSON, error) {
	h.mu.Lock()
	if h.step < len(h.steps) {
		s := h.steps[h.step]
		h.step++
		h.mu.Unlock()
		if s.Name != name {
			return nil, fmt.Errorf("step %q was recorded as %q", name, s.Name)
		}
		return s.Result, nil
	}
	h.mu.Unlock()
	result, err := fn(ctx)
	if err != nil {
		return nil, err
	}
	h.step++
	return result, h.write(func() { h.steps = append(h.steps, &a2a.Step{Name: name, Result: result}) })
}

func (h *host) Task() *a2a.Task {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.task.Snapshot()
}

func (h *host) Message() *a2a.Message {
	return &a2a.Message{MessageID: "m", Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart("hello")}}
}
func (h *host) Accepted() []string         { return nil }
func (h *host) Metadata() a2a.JSON         { return nil }
func (h *host) Caller() a2a.Caller         { return h.caller }
func (h *host) Version() string            { return "1.0" }
func (h *host) Attempt() int               { return h.attempt }
func (h *host) NewArtifactID(n int) string { return fmt.Sprint("artifact-", n) }
func (h *host) Authenticate(context.Context, []*a2a.Part, func(context.Context) error) (*a2a.Message, error) {
	panic("not here")
}
func (h *host) References(context.Context) ([]*a2a.Task, error)      { return nil, nil }
func (h *host) Siblings(context.Context) iter.Seq2[*a2a.Task, error] { return nil }

// Each write of a turn is lost once, and once it is the last thing that a process does.
// Everything that the service was told was taken is in the task once, in order, and nothing
// else is.
func TestEveryCrash(t *testing.T) {
	if got := runFaulty(t, 0, false); got != 1 {
		t.Fatalf("%d processes without a fault", got)
	}
	for _, after := range []bool{false, true} {
		fail := 1
		for runFaulty(t, fail, after) > 1 {
			fail++
		}
		if fail < 15 {
			t.Errorf("only %d writes", fail)
		}
	}
}

// scenes are what the service calls back about the message and the two answers.
var scenes = [][]string{
	{
		`{"type":"status","id":"s","text":"on it"}`,
		`{"type":"artifact","id":"a","name":"x","text":"1"}`,
		`{"type":"artifact","id":"b","name":"x","text":"2"}`,
		`{"type":"artifact","id":"c","name":"y","text":"3"}`,
		`{"type":"artifact","id":"d","name":"x","text":"4"}`,
		`{"type":"ask","id":"e","text":"more?"}`,
	},
	{
		`{"type":"artifact","id":"a","name":"y","text":"5"}`,
		`{"type":"artifact","id":"b","name":"y","text":"6"}`,
		`{"type":"artifact","id":"c","name":"x","text":"7","append":false}`,
		`{"type":"artifact","id":"d","name":"x","text":"8"}`,
		`{"type":"artifact","id":"f","name":"x","text":"9"}`,
		`{"type":"ask","text":"and more?"}`,
	},
	{`{"type":"complete","text":"done"}`},
}

// runFaulty plays the scenes and returns how many processes it took.
func runFaulty(t *testing.T, fail int, after bool) (processes int) {
	t.Helper()
	var (
		d       = newDoor(t)
		mu      sync.Mutex
		working = map[string]bool{} // by their keys, as good services know requests
		callers sync.WaitGroup
		over    = make(chan struct{})
	)
	s := serve(t, func(p *post) {
		key := p.Request.Header.Get("Idempotency-Key")
		mu.Lock()
		known := working[key]
		working[key] = true
		mu.Unlock()
		if !known {
			scene := scenes[int(key[len(key)-1]-'0')]
			callers.Go(func() {
				for _, body := range scene {
					for told := false; !told; {
						select {
						case <-over:
							return
						default:
						}
						switch got := callBack(t, p.Callback, body); got {
						case 200, 410: // 410: it was the last word, and the answer to it was lost
							told = true
						case 503:
						default:
							t.Errorf("%s: status %d", body, got)
							return
						}
					}
				}
			})
		}
		p.ResponseWriter.WriteHeader(http.StatusAccepted)
	})
	log := newDisk()
	for ; !log.task.Status.State.Terminal() && processes < 5; processes++ {
		a, err := New(s.URL, &Options{Callbacks: d.open(t)})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		h := &host{disk: log, attempt: processes + 1, after: after, crash: cancel}
		if processes == 0 {
			h.fail = fail
		}
		if err := a.Run(ctx, agent.NewTurn(h)); err != nil && !h.dead {
			t.Errorf("fault %d, %v: Run = %v", fail, after, err)
		}
		cancel(nil)
		a.Close()
	}
	close(over)
	callers.Wait()
	got := append(log.saw, log.look())
	want := []string{"x 1, 2, 4; y 3", "x 7, 8, 9; y 5, 6", "x 7, 8, 9; y 5, 6"}
	if !slices.Equal(got, want) || log.task.Status.State != a2a.TaskStateCompleted {
		t.Errorf("fault %d, %v: %q, %s", fail, after, got, log.task.Status.State)
	}
	return processes
}
