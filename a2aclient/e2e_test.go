package a2aclient_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/test/fixtures"
)

// start runs the demo agent on a loopback port until the test ends.
func start(t *testing.T) (addr string) {
	t.Helper()
	addr, _ = startAt(t, "", nil)
	return addr
}

// startAt runs the demo agent at an address until stop.
func startAt(t *testing.T, at string, st store.Store) (addr string, stop func()) {
	t.Helper()
	s, err := parley.New(agent.DemoCard(), agent.Demo(), &parley.Options{Store: st, DrainWait: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return fixtures.Serve(t, at, s.Serve)
}

// chaos is a proxy that kills each connection after a random number of bytes
// of the answers.
type chaos struct {
	to   string
	more int64 // bytes that a connection lives longer, for all the streams on it

	cuts  atomic.Int64
	first atomic.Bool // connection is made

	mu  sync.Mutex // protects the field below
	rng *rand.Rand
}

func (p *chaos) limit() (bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	// Enough for the Task that begins a connection, or there is no progress.
	return p.more + 3800 + p.rng.Int64N(4000)
}

func (p *chaos) serve(l net.Listener) {
	for {
		in, err := l.Accept()
		if err != nil {
			return
		}
		go p.join(in)
	}
}

func (p *chaos) join(in net.Conn) {
	defer in.Close()
	out, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer out.Close()
	go func() { _, _ = io.Copy(out, in); out.Close() }()
	n := p.limit()
	if p.first.CompareAndSwap(false, true) {
		n += 16 << 10 // over gRPC all streams are on it, and each needs its first element
	}
	if sent, _ := io.CopyN(in, out, n); sent == n {
		_ = in.(*net.TCPConn).SetLinger(0) // a reset, not an end
		p.cuts.Add(1)
	}
}

// Streams through a proxy that breaks connections at random come out whole:
// every element once, in order, and their fold is the server's task.
func TestStreamsThroughAProxyThatCuts(t *testing.T) {
	for _, binding := range []string{a2a.BindingJSONRPC, a2a.BindingHTTPJSON, a2a.BindingGRPC} {
		t.Run(binding, func(t *testing.T) {
			t.Parallel()
			p, cuts := &chaos{to: start(t), rng: rand.New(rand.NewPCG(1, 2))}, int64(8)
			if binding == a2a.BindingGRPC {
				p.more, cuts = 4<<10, 2
			}
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go p.serve(l)
			c, err := a2aclient.Dial(t.Context(), p.to, &a2aclient.Options{Bindings: []string{binding}})
			if err != nil {
				t.Fatal(err)
			}
			card := *c.Card()
			card.SupportedInterfaces = []*a2a.AgentInterface{{
				URL: "http://" + l.Addr().String(), ProtocolBinding: binding, ProtocolVersion: "1.0",
			}}
			var wg sync.WaitGroup
			for i := range 8 {
				// Each has a connection of its own: over a shared one, a cut
				// also meets those that have not begun yet, which is an error.
				wild, err := a2aclient.New(&card, nil)
				if err != nil {
					t.Fatal(err)
				}
				wg.Add(1)
				go func() {
					defer wg.Done()
					streamOnce(t, wild, c, fmt.Sprintf("%s-%d", binding, i))
				}()
			}
			wg.Wait()
			if n := p.cuts.Load(); n < cuts {
				t.Errorf("only %d cuts: the proxy let everything through", n)
			}
		})
	}
}

// A stream outlives the server's process, as far as it can be in one: the
// server drains and goes, another one takes its tasks over at the same address.
func TestStreamsAcrossARestart(t *testing.T) {
	for _, binding := range []string{a2a.BindingJSONRPC, a2a.BindingHTTPJSON, a2a.BindingGRPC} {
		t.Run(binding, func(t *testing.T) { streamAcrossARestart(t, binding) })
	}
}

func streamAcrossARestart(t *testing.T, binding string) {
	st := store.NewMemory()
	defer st.Close()
	addr, stop := startAt(t, "127.0.0.1:0", st)
	c, err := a2aclient.Dial(t.Context(), addr, &a2aclient.Options{Bindings: []string{binding}})
	if err != nil {
		t.Fatal(err)
	}
	req := &a2a.SendMessageRequest{Message: &a2a.Message{
		MessageID: "m1", Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart("stream 20 10")},
	}}
	task, last := new(a2a.Task), int64(0)
	for el, err := range c.SendStreamingMessage(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		if el.Seq <= last {
			t.Errorf("element %d after %d", el.Seq, last)
		}
		if last = el.Seq; last == 8 {
			stop()
			_, stop = startAt(t, addr, st)
		}
		task.ApplyEvent(el)
	}
	defer stop()
	if task.Status.State != a2a.TaskStateCompleted || len(task.Artifacts) != 1 || len(task.Artifacts[0].Parts) != 20 {
		t.Errorf("got %s", task.AppendJSON(nil))
	}
	got, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: task.ID})
	if err != nil {
		t.Fatal(err)
	}
	if a, b := string(task.AppendJSON(nil)), string(got.AppendJSON(nil)); a != b {
		t.Errorf("the fold of the stream is\n%s\nthe task\n%s", a, b)
	}
}

func streamOnce(t *testing.T, wild, calm *a2aclient.Client, id string) {
	const chunks = 60
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	send := &a2a.SendMessageRequest{Message: &a2a.Message{
		MessageID: id, Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart(fmt.Sprintf("stream %d 5", chunks))},
	}}
	task := new(a2a.Task)
	last := int64(0)
	for el, err := range wild.SendStreamingMessage(ctx, send) {
		if err != nil {
			t.Errorf("%s: after %d: %v", id, last, err)
			return
		}
		if el.Seq <= last || last > 0 && el.Task != nil {
			t.Errorf("%s: element %d after %d", id, el.Seq, last)
		}
		last = el.Seq
		task.ApplyEvent(el)
	}
	if len(task.Artifacts) != 1 {
		t.Errorf("%s: %d artifacts", id, len(task.Artifacts))
		return
	}
	var text strings.Builder
	for _, part := range task.Artifacts[0].Parts {
		text.WriteString(part.Text)
	}
	var want strings.Builder
	for i := range chunks {
		fmt.Fprintf(&want, "chunk %d\n", i+1)
	}
	if text.String() != want.String() {
		t.Errorf("%s: got %q", id, text.String())
	}
	got, err := calm.GetTask(ctx, &a2a.GetTaskRequest{ID: task.ID})
	if err != nil {
		t.Error(err)
		return
	}
	if a, b := string(task.AppendJSON(nil)), string(got.AppendJSON(nil)); a != b {
		t.Errorf("%s: the fold of the stream is\n%s\nthe task\n%s", id, a, b)
	}
}

// Each operation against the real server, on each binding.
func TestAllOperationsAgainstParley(t *testing.T) {
	addr := start(t)
	for _, binding := range []string{a2a.BindingJSONRPC, a2a.BindingHTTPJSON, a2a.BindingGRPC} {
		t.Run(binding, func(t *testing.T) {
			ctx := t.Context()
			c, err := a2aclient.Dial(ctx, addr, &a2aclient.Options{Bindings: []string{binding}})
			if err != nil {
				t.Fatal(err)
			}
			if c.Interface().ProtocolBinding != binding {
				t.Fatalf("speaks %s", c.Interface().ProtocolBinding)
			}
			say := func(text, task string) *a2a.SendMessageRequest {
				return &a2a.SendMessageRequest{Message: &a2a.Message{
					MessageID: text, TaskID: task, Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart(text)},
				}}
			}
			res, err := c.SendMessage(ctx, say("echo hello", ""))
			if err != nil || res.Task.Artifacts[0].Parts[0].Text != "hello" {
				t.Fatalf("send: %+v, %v", res, err)
			}
			if res, err := c.SendMessage(ctx, say("message hi", "")); err != nil || res.Message.Text() != "hi" {
				t.Errorf("send: %+v, %v", res, err)
			}
			got, err := c.GetTask(ctx, &a2a.GetTaskRequest{ID: res.Task.ID})
			if err != nil || got.Status.State != a2a.TaskStateCompleted {
				t.Errorf("get: %+v, %v", got, err)
			}
			list, err := c.ListTasks(ctx, &a2a.ListTasksRequest{ContextID: res.Task.ContextID, IncludeArtifacts: true})
			if err != nil || len(list.Tasks) != 1 || list.Tasks[0].ID != res.Task.ID || list.TotalSize != 1 {
				t.Errorf("list: %+v, %v", list, err)
			}

			// A question, a subscription that waits for what becomes of it, an answer.
			asked, err := c.SendMessage(ctx, say("ask Who?", ""))
			if err != nil || asked.Task.Status.State != a2a.TaskStateInputRequired {
				t.Fatalf("ask: %+v, %v", asked, err)
			}
			var states []a2a.TaskState
			for el, err := range c.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: asked.Task.ID}) {
				if err != nil {
					t.Fatal(err)
				}
				if len(states) == 0 {
					go func() { _, _ = c.SendMessage(ctx, say("me", asked.Task.ID)) }()
				}
				if s := el.State(); s.Valid() {
					states = append(states, s)
				}
			}
			if want := "[TASK_STATE_INPUT_REQUIRED TASK_STATE_WORKING TASK_STATE_COMPLETED]"; fmt.Sprint(states) != want {
				t.Errorf("subscribed: %v, want %s", states, want)
			}

			long, err := c.SendMessage(ctx, &a2a.SendMessageRequest{
				Message: say("sleep 600", "").Message, Configuration: &a2a.SendMessageConfiguration{ReturnImmediately: true},
			})
			if err != nil {
				t.Fatal(err)
			}
			if got, err := c.CancelTask(ctx, &a2a.CancelTaskRequest{ID: long.Task.ID}); err != nil || got.Status.State != a2a.TaskStateCanceled {
				t.Errorf("cancel: %+v, %v", got, err)
			}
			var said *a2a.Error
			_, err = c.CancelTask(ctx, &a2a.CancelTaskRequest{ID: res.Task.ID})
			if !errors.Is(err, a2a.ErrTaskNotCancelable) || !errors.As(err, &said) || !said.Peer {
				t.Errorf("cancel of a finished task: %v", err)
			}
			if _, err := c.GetTask(ctx, &a2a.GetTaskRequest{ID: "no such/task: é?"}); !errors.Is(err, a2a.ErrTaskNotFound) {
				t.Errorf("get of no task: %v", err)
			}
		})
	}
}
