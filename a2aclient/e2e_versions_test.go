package a2aclient_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
)

// pairs are the older versions with their bindings.
var pairs = []struct{ version, binding string }{
	{"0.1", a2a.BindingJSONRPC}, {"0.2", a2a.BindingJSONRPC},
	{"0.3", a2a.BindingJSONRPC}, {"0.3", a2a.BindingHTTPJSON}, {"0.3", a2a.BindingGRPC},
	{"1.1", a2a.BindingJSONRPC},
}

// Streams of every version come out whole through a proxy that breaks
// connections: what they amount to is the task, whose message arrived once.
func TestStreamsOfEveryVersionThroughAProxyThatCuts(t *testing.T) {
	for _, p := range pairs {
		t.Run(p.version+" "+p.binding, func(t *testing.T) {
			t.Parallel()
			wild := &chaos{to: start(t), rng: rand.New(rand.NewPCG(3, 4))}
			if p.binding == a2a.BindingGRPC {
				wild.more = 8 << 10
			}
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go wild.serve(l)
			o := &a2aclient.Options{Version: p.version, Bindings: []string{p.binding}}
			calm, err := a2aclient.Dial(t.Context(), wild.to, o)
			if err != nil {
				t.Fatal(err)
			}
			card := *calm.Card()
			card.SupportedInterfaces = []*a2a.AgentInterface{{
				URL: "http://" + l.Addr().String(), ProtocolBinding: p.binding, ProtocolVersion: p.version,
			}}
			c, err := a2aclient.New(&card, o)
			if err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			for i := range 4 {
				wg.Add(1)
				go func() {
					defer wg.Done()
					streamOld(t, c, calm, fmt.Sprintf("%s-%s-%d", p.version, p.binding, i))
				}()
			}
			wg.Wait()
			if n := wild.cuts.Load(); n < 2 {
				t.Errorf("only %d cuts: the proxy let everything through", n)
			}
		})
	}
}

func streamOld(t *testing.T, wild, calm *a2aclient.Client, id string) {
	const chunks = 60
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	task := new(a2a.Task)
	for el, err := range wild.SendStreamingMessage(ctx, &a2a.SendMessageRequest{Message: &a2a.Message{
		MessageID: id, Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart(fmt.Sprintf("stream %d 5", chunks))},
	}}) {
		if err != nil {
			t.Errorf("%s: %v", id, err)
			return
		}
		task.ApplyEvent(el)
	}
	var text strings.Builder
	for _, a := range task.Artifacts {
		for _, part := range a.Parts {
			text.WriteString(part.Text)
		}
	}
	var want strings.Builder
	for i := range chunks {
		fmt.Fprintf(&want, "chunk %d\n", i+1)
	}
	if text.String() != want.String() || task.Status.State != a2a.TaskStateCompleted {
		t.Errorf("%s: %s with %q", id, task.Status.State, text.String())
	}
	got, err := calm.GetTask(ctx, &a2a.GetTaskRequest{ID: task.ID, HistoryLength: new(int32(100))})
	if err != nil {
		t.Errorf("%s: %v", id, err)
		return
	}
	sent := 0
	for _, m := range got.History {
		if m.Role == a2a.RoleUser {
			sent++
		}
	}
	if sent != 1 {
		t.Errorf("%s: the task has %d messages of ours", id, sent)
	}
}

// hidden lets everything through but cards.
type hidden struct{ plain, h2 http.RoundTripper }

func (h hidden) RoundTrip(r *http.Request) (*http.Response, error) {
	switch {
	case strings.HasPrefix(r.URL.Path, "/.well-known/"):
		return &http.Response{StatusCode: 404, ProtoMajor: 1, ProtoMinor: 1, Body: io.NopCloser(strings.NewReader("")), Request: r}, nil
	case strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc"):
		return h.h2.RoundTrip(r)
	}
	return h.plain.RoundTrip(r)
}

// Without its card, our own server is found by asking, over every binding.
func TestParleyWithoutItsCard(t *testing.T) {
	addr := start(t)
	for _, tt := range []struct{ version, binding, want string }{
		{"", "", "JSONRPC 1.0"}, {"", a2a.BindingHTTPJSON, "HTTP+JSON 1.0"}, {"", a2a.BindingGRPC, "GRPC 1.0"},
		{"0.3", "", "JSONRPC 0.3"}, {"0.3", a2a.BindingHTTPJSON, "HTTP+JSON 0.3"}, {"0.3", a2a.BindingGRPC, "GRPC 0.3"},
		{"0.1", "", "JSONRPC 0.1"}, {"1.1", a2a.BindingGRPC, "GRPC 1.1"},
	} {
		clear := &http.Transport{Protocols: new(http.Protocols)}
		clear.Protocols.SetUnencryptedHTTP2(true)
		plain := &http.Transport{}
		o := &a2aclient.Options{Version: tt.version, HTTPClient: &http.Client{Transport: hidden{plain, clear}}}
		if tt.binding != "" {
			o.Bindings = []string{tt.binding}
		}
		c, err := a2aclient.Dial(t.Context(), addr, o)
		if err != nil {
			t.Errorf("%+v: %v", tt, err)
			continue
		}
		if in := c.Interface(); in.ProtocolBinding+" "+c.Version() != tt.want {
			t.Errorf("%+v: found %s %s", tt, in.ProtocolBinding, c.Version())
		}
		res, err := c.SendMessage(t.Context(), &a2a.SendMessageRequest{Message: &a2a.Message{
			MessageID: "m", Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart("echo hi")},
		}})
		if err != nil || res.Task == nil || res.Task.Artifacts[0].Parts[0].Text != "hi" {
			t.Errorf("%+v: %v", tt, err)
		}
		plain.CloseIdleConnections()
		clear.CloseIdleConnections()
	}
}
