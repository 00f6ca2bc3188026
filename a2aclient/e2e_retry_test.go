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
	"github.com/parley-a2a/parley/engine"
	"github.com/parley-a2a/parley/test/fixtures"
)

// forgetful is a proxy that lets requests through, and of every other
// connection but the first bytes of what is answered, or none.
type forgetful struct {
	to string

	mu          sync.Mutex // protects the fields below
	rng         *rand.Rand
	lost, whole int // connections
}

// next returns how much of a connection's answers comes through; below 0, all.
func (p *forgetful) next() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lost > p.whole {
		p.whole++
		return -1
	}
	p.lost++
	return p.rng.Int64N(500)
}

func (p *forgetful) serve(l net.Listener) {
	for {
		in, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer in.Close()
			out, err := net.Dial("tcp", p.to)
			if err != nil {
				return
			}
			defer out.Close()
			go func() { _, _ = io.Copy(out, in); out.Close() }()
			n := p.next()
			if n < 0 {
				_, _ = io.Copy(in, out)
				return
			}
			_, _ = io.CopyN(in, out, n)
			_, _ = io.CopyN(io.Discard, out, 1) // what is lost has been answered, or the request has
			_ = in.(*net.TCPConn).SetLinger(0)
		}()
	}
}

// Whatever becomes of the answers, each message is answered once and taken
// once: with an id of its own or one that the client made, with a key, with and
// without a stream, with a task or a Message, over every binding and version.
func TestMessagesAreTakenOnce(t *testing.T) {
	for _, version := range []string{"1.0", "0.3", "0.1"} {
		for _, binding := range []string{a2a.BindingJSONRPC, a2a.BindingHTTPJSON, a2a.BindingGRPC} {
			if version != "1.0" && binding != a2a.BindingJSONRPC {
				continue
			}
			t.Run(version+" "+binding, func(t *testing.T) {
				t.Parallel()
				takenOnce(t, version, binding)
			})
		}
	}
}

// knowing runs the demo agent until the test ends; it knows messages that come
// again.
func knowing(t *testing.T) (addr string) {
	t.Helper()
	s, err := parley.New(agent.DemoCard(), agent.Demo(), &parley.Options{
		DrainWait: time.Second, Retries: engine.Retries{Window: time.Hour, Anonymous: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	addr, _ = fixtures.Serve(t, "", s.Serve)
	return addr
}

func takenOnce(t *testing.T, version, binding string) {
	p := &forgetful{to: knowing(t), rng: rand.New(rand.NewPCG(7, 9))}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go p.serve(l)

	calm, err := a2aclient.Dial(t.Context(), p.to, nil)
	if err != nil {
		t.Fatal(err)
	}
	card := *calm.Card()
	url := "http://" + l.Addr().String()
	card.SupportedInterfaces = []*a2a.AgentInterface{{URL: url, ProtocolBinding: binding, ProtocolVersion: version}}
	var wg sync.WaitGroup
	var late atomic.Int32 // Messages that came as tasks
	const each = 3
	for i := range 3 * each {
		wild, err := a2aclient.New(&card, nil) // with a connection of its own
		if err != nil {
			t.Fatal(err)
		}
		req := &a2a.SendMessageRequest{Message: &a2a.Message{Role: a2a.RoleUser}}
		switch {
		case i%3 == 1:
			req.Message.MessageID = fmt.Sprint("m-", i)
		case i%3 == 2:
			req.IdempotencyKey = fmt.Sprint("key ", i)
		}
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			text, state := "", a2a.TaskStateUnspecified
			switch i / each {
			case 0:
				req.Message.Parts = []*a2a.Part{a2a.TextPart(fmt.Sprint("echo ", i))}
				res, err := wild.SendMessage(ctx, req)
				if err != nil {
					t.Errorf("message %d: %v", i, err)
					return
				}
				text, state = textOf(res.Task), res.Task.Status.State
			case 1:
				req.Message.Parts = []*a2a.Part{a2a.TextPart(fmt.Sprint("echo ", i))}
				task := new(a2a.Task)
				for el, err := range wild.SendStreamingMessage(ctx, req) {
					if err != nil {
						t.Errorf("stream %d: %v", i, err)
						return
					}
					task.ApplyEvent(el)
				}
				text, state = textOf(task), task.Status.State
			default:
				req.Message.Parts = []*a2a.Part{a2a.TextPart(fmt.Sprint("message ", i))}
				res, err := wild.SendMessage(ctx, req)
				switch {
				case err != nil:
					t.Errorf("message %d: %v", i, err)
					return
				case res.Message != nil:
					text, state = res.Message.Text(), a2a.TaskStateCompleted
				default: // 0.1 answers with a task, and so does an agent that had no processor at first
					text, state = res.Task.Status.Message.Text(), res.Task.Status.State
					late.Add(1)
				}
			}
			if want := fmt.Sprint(i); text != want || state != a2a.TaskStateCompleted {
				t.Errorf("message %d is answered %q in %s", i, text, state)
			}
		})
	}
	wg.Wait()

	want := 2*each + int(late.Load())
	list, err := calm.ListTasks(t.Context(), &a2a.ListTasksRequest{})
	if err != nil || int(list.TotalSize) != want {
		t.Errorf("%d tasks, want %d: %v", list.TotalSize, want, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lost < 3*each/2 {
		t.Errorf("only %d connections were lost", p.lost)
	}
}

func textOf(t *a2a.Task) string {
	var out []string
	for _, a := range t.Artifacts {
		for _, p := range a.Parts {
			out = append(out, p.Text)
		}
	}
	return strings.Join(out, "|")
}

// A message is the same over every binding and in every version, by its id and,
// where there is none, by its key; another one is a conflict in each.
func TestMessagesAreTheSameEverywhere(t *testing.T) {
	addr := knowing(t)
	card, err := a2aclient.Resolve(t.Context(), addr, nil)
	if err != nil {
		t.Fatal(err)
	}
	message := func(text string) *a2a.SendMessageRequest {
		return &a2a.SendMessageRequest{
			Message: &a2a.Message{
				MessageID: "m1", Role: a2a.RoleUser, Metadata: a2a.JSON(`{"k":{"n":1.50,"x":[]}}`), Extensions: []string{"urn:x"},
				Parts: []*a2a.Part{
					a2a.TextPart(text), a2a.RawPart([]byte{0, 255}, "application/pdf", "f.bin"),
					a2a.URLPart("http://h/x", "text/plain", ""), a2a.DataPart(a2a.JSON(`{"b":[1,null], "a":1e3}`)),
				},
			},
			Configuration:  &a2a.SendMessageConfiguration{AcceptedOutputModes: []string{"text/plain", "application/json"}},
			Metadata:       a2a.JSON(`{"why":"twice"}`),
			IdempotencyKey: "k1",
		}
	}
	id := ""
	for _, version := range []string{"1.0", "0.3", "0.2", "1.1"} {
		for _, binding := range []string{a2a.BindingJSONRPC, a2a.BindingHTTPJSON, a2a.BindingGRPC} {
			c, err := a2aclient.New(card, &a2aclient.Options{Bindings: []string{binding}, Version: version})
			if err != nil || c.Interface().ProtocolBinding != binding {
				t.Fatalf("%s %s: %v", version, binding, err)
			}
			for range 2 {
				res, err := c.SendMessage(t.Context(), message("echo x"))
				if err != nil {
					t.Fatalf("%s %s: %v", version, binding, err)
				}
				if id == "" {
					id = res.Task.ID
				}
				if res.Task.ID != id {
					t.Errorf("%s %s: task %s, want %s", version, binding, res.Task.ID, id)
				}
				for el, err := range c.SendStreamingMessage(t.Context(), message("echo x")) {
					if err != nil || el.TaskID() != id {
						t.Errorf("%s %s: a stream of task %s, want %s: %v", version, binding, el.TaskID(), id, err)
						break
					}
				}
			}
			if _, err := c.SendMessage(t.Context(), message("echo y")); !errors.Is(err, a2a.ErrConflict) {
				t.Errorf("%s %s: %v", version, binding, err)
			}
		}
	}
}
