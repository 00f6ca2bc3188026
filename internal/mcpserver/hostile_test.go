package mcpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// many counts the calls that reach an agent that never answers.
type many struct {
	a2a.Service
	mu       sync.Mutex
	now, max int
}

func (m *many) SendStreamingMessage(ctx context.Context, _ *a2a.SendMessageRequest) iter.Seq2[*a2a.StreamResponse, error] {
	return func(yield func(*a2a.StreamResponse, error) bool) {
		m.mu.Lock()
		m.now++
		m.max = max(m.max, m.now)
		m.mu.Unlock()
		<-ctx.Done()
		m.mu.Lock()
		m.now--
		m.mu.Unlock()
		yield(nil, context.Cause(ctx))
	}
}

func (m *many) GetTask(context.Context, *a2a.GetTaskRequest) (*a2a.Task, error) {
	return nil, errors.New("parley: secret-7f3a at 10.0.0.1\x1b[2J")
}

// A client that calls without end has a hundred calls under way, and is told so for
// the others; what fails tells nothing of the inside; all ends with the client.
func TestCallsAreBounded(t *testing.T) {
	m := &many{}
	s := New(m, &a2a.AgentCard{Name: "x", Capabilities: a2a.AgentCapabilities{Streaming: new(true)}}, &Options{Wait: time.Millisecond})
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- s.Serve(t.Context(), inR, outW)
		outW.Close()
	}()
	const calls = 3000
	go func() {
		fmt.Fprintln(inW, `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
		fmt.Fprintln(inW, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		fmt.Fprintln(inW, `{"jsonrpc":"2.0","id":"g","method":"tools/call","params":{"name":"get_task","arguments":{"task_id":"x"}}}`)
		for i := range calls {
			fmt.Fprintf(inW, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"send_message","arguments":{"message":"x"}}}`+"\n", i)
		}
	}()
	refused, lines := 0, bufio.NewScanner(outR)
	for refused < calls-maxCalls && lines.Scan() {
		line := lines.Text()
		switch {
		case strings.Contains(line, "100 calls are under way"):
			refused++
		case strings.Contains(line, "secret-7f3a") || strings.Contains(line, "\x1b"):
			t.Errorf("a call's failure is told as %s", line)
		}
	}
	go io.Copy(io.Discard, outR)
	inW.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.max > maxCalls || m.now != 0 || refused < calls-maxCalls {
		t.Errorf("%d calls at a time, %d left behind, %d refused", m.max, m.now, refused)
	}
}

// slow is an agent whose task never ends by itself.
type slow struct {
	a2a.Service
	canceled atomic.Bool
}

func (s *slow) SendStreamingMessage(ctx context.Context, _ *a2a.SendMessageRequest) iter.Seq2[*a2a.StreamResponse, error] {
	return func(yield func(*a2a.StreamResponse, error) bool) {
		if yield(&a2a.StreamResponse{Task: &a2a.Task{ID: "t", Status: a2a.TaskStatus{State: a2a.TaskStateWorking}}}, nil) {
			<-ctx.Done()
			yield(nil, context.Cause(ctx))
		}
	}
}

func (s *slow) GetTask(context.Context, *a2a.GetTaskRequest) (*a2a.Task, error) {
	return &a2a.Task{ID: "t", Status: a2a.TaskStatus{State: a2a.TaskStateWorking}}, nil
}

func (s *slow) SubscribeToTask(ctx context.Context, _ *a2a.SubscribeToTaskRequest) iter.Seq2[*a2a.StreamResponse, error] {
	return s.SendStreamingMessage(ctx, nil)
}

func (s *slow) CancelTask(context.Context, *a2a.CancelTaskRequest) (*a2a.Task, error) {
	s.canceled.Store(true)
	return nil, errors.New("no")
}

// A client that leaves cancels no task, also if it cancelled another call before,
// which had its answer already. One that does not wait for its look at a task any more
// does not cancel it either: many give up by themselves after a minute.
func TestCancellationIsOfItsCallOnly(t *testing.T) {
	for name, tt := range map[string]struct {
		call     string
		id       int // of the call that is cancelled
		canceled bool
	}{
		"the call":     {`"send_message","arguments":{"message":"x","wait_seconds":3600}`, 1, true},
		"another call": {`"send_message","arguments":{"message":"x","wait_seconds":3600}`, 7, false},
		"a look":       {`"get_task","arguments":{"task_id":"t","wait_seconds":3600}`, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ag := &slow{}
				s := New(ag, &a2a.AgentCard{Name: "x", Capabilities: a2a.AgentCapabilities{Streaming: new(true)}}, nil)
				inR, inW := io.Pipe()
				ended := make(chan error, 1)
				go func() { ended <- s.Serve(t.Context(), inR, io.Discard) }()
				for _, line := range []string{
					`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`,
					`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
					`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":` + tt.call + `}}`,
					fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, tt.id),
				} {
					fmt.Fprintln(inW, line)
					synctest.Wait()
				}
				inW.Close()
				if err := <-ended; err != nil {
					t.Error(err)
				}
				if got := ag.canceled.Load(); got != tt.canceled {
					t.Errorf("the task was cancelled: %v", got)
				}
			})
		})
	}
}

// Requests that came before the end of input are answered. A call that waits for long is not
// waited for, and neither is a client that was asked something.
func TestAnswersComeBeforeTheEnd(t *testing.T) {
	const (
		begin = `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}` + "\n" +
			`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
		list = `{"jsonrpc":"2.0","id":"l","method":"tools/list"}` + "\n"
		send = `{"jsonrpc":"2.0","id":"s","method":"tools/call","params":{"name":"send_message","arguments":{"message":"x"%s}}}` + "\n"
	)
	for name, c := range map[string]struct {
		in      string
		answers int
		took    time.Duration
	}{
		"one request":               {begin, 1, 0},
		"a call":                    {begin + list + fmt.Sprintf(send, ""), 3, 50 * time.Second},
		"a call that waits longer":  {begin + list + fmt.Sprintf(send, `,"wait_seconds":3600`), 2, 50*time.Second + answerTime},
		"a request with no newline": {begin + strings.TrimSpace(list), 2, 0},
		"the same id twice":         {begin + list + list, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := New(&slow{}, &a2a.AgentCard{Name: "x", Capabilities: a2a.AgentCapabilities{Streaming: new(true)}}, nil)
				var out strings.Builder
				began := time.Now()
				if err := s.Serve(t.Context(), strings.NewReader(c.in), &out); err != nil {
					t.Error(err)
				}
				if n := strings.Count(out.String(), `"result"`); n < c.answers {
					t.Errorf("%d answers: %s", n, out.String())
				}
				if took := time.Since(began); took != c.took {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}

// asker is an agent that asks something, and is done a second after the answer.
type asker struct{ a2a.Service }

func (asker) SendStreamingMessage(_ context.Context, req *a2a.SendMessageRequest) iter.Seq2[*a2a.StreamResponse, error] {
	return func(yield func(*a2a.StreamResponse, error) bool) {
		state := a2a.TaskStateInputRequired
		if req.Message.TaskID != "" {
			time.Sleep(time.Second)
			state = a2a.TaskStateCompleted
		}
		yield(&a2a.StreamResponse{Task: &a2a.Task{ID: "t", Status: a2a.TaskStatus{State: state}}}, nil)
	}
}

// quick is a client that answers a question, and ends its input, before the write of the
// question returns.
type quick struct {
	in  io.WriteCloser
	all strings.Builder
}

func (q *quick) Write(b []byte) (int, error) {
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if json.Unmarshal(b, &m) == nil && m.Method == "elicitation/create" {
		fmt.Fprintf(q.in, `{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"answer":"yes"}}}`+"\n", m.ID)
		q.in.Close()
		synctest.Wait()
	}
	return q.all.Write(b)
}

// A client that answered all it was asked has its answers, however quick it was.
func TestQuickAnswerBeforeTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(asker{}, &a2a.AgentCard{Name: "x", Capabilities: a2a.AgentCapabilities{Streaming: new(true)}}, nil)
		inR, inW := io.Pipe()
		out := &quick{in: inW}
		go io.WriteString(inW, `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"x","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":"s","method":"tools/call","params":{"name":"send_message","arguments":{"message":"x"}}}
`)
		if err := s.Serve(t.Context(), inR, out); err != nil {
			t.Error(err)
		}
		if all := out.all.String(); !strings.Contains(all, `"id":"s"`) {
			t.Errorf("it has no answer: %s", all)
		}
	})
}

// told is an agent that answers with these events.
type told struct {
	a2a.Service
	events []*a2a.StreamResponse
}

func (s *told) SendStreamingMessage(context.Context, *a2a.SendMessageRequest) iter.Seq2[*a2a.StreamResponse, error] {
	return func(yield func(*a2a.StreamResponse, error) bool) {
		for _, ev := range s.events {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// The stream of an answer may open with the task as it was when it asked: its artifacts
// are part of the result.
func TestAnswerKeepsWhatTheTaskHadMade(t *testing.T) {
	out := func(text string) *a2a.Artifact {
		return &a2a.Artifact{ArtifactID: "a", Parts: []*a2a.Part{a2a.TextPart(text)}}
	}
	s := New(&told{events: []*a2a.StreamResponse{
		{Task: &a2a.Task{ID: "t", Status: a2a.TaskStatus{State: a2a.TaskStateInputRequired}, Artifacts: []*a2a.Artifact{out("one ")}}},
		{ArtifactUpdate: &a2a.TaskArtifactUpdateEvent{TaskID: "t", Artifact: out("two"), Append: true}},
		{StatusUpdate: &a2a.TaskStatusUpdateEvent{TaskID: "t", Status: a2a.TaskStatus{State: a2a.TaskStateCompleted}}},
	}}, &a2a.AgentCard{Capabilities: a2a.AgentCapabilities{Streaming: new(true)}}, nil)
	w := &work{s: s, wait: -1}
	if err := w.follow(t.Context(), &a2a.SendMessageRequest{Message: &a2a.Message{TaskID: "t"}}, "t"); err != nil {
		t.Fatal(err)
	}
	if got := show(s.result(w.task, false)); got != "one two|" {
		t.Errorf("got %s", got)
	}
}

// A part that does not fit is left out, and later parts still have the room.
func TestWhatDoesNotFitLeavesItsRoom(t *testing.T) {
	s := New(nil, &a2a.AgentCard{}, &Options{MaxResult: 50})
	long := strings.Repeat("x", 100)
	got := show(s.message(&a2a.Message{Parts: []*a2a.Part{
		a2a.DataPart(a2a.JSON(`"` + long + `"`)), a2a.URLPart("http://a.example/"+long, "", ""), a2a.TextPart("done"),
	}}))
	if got != "(data of 102 bytes is left out)|(the link file of 117 bytes is left out)|done|" {
		t.Errorf("got %s", got)
	}
}
