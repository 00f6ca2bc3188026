package a2aserver_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine"
	"github.com/parley-a2a/parley/internal/wire"
	"github.com/parley-a2a/parley/store"
)

// serve puts an agent over the real engine behind a real socket.
func serve(t testing.TB, ag agent.Agent) string {
	t.Helper()
	yes := true
	card := &a2a.AgentCard{
		Name: "test", Description: "Made for tests.", Version: "1",
		Capabilities:      a2a.AgentCapabilities{Streaming: &yes},
		DefaultInputModes: []string{"text/plain"}, DefaultOutputModes: []string{"text/plain"},
	}
	st := store.NewMemory()
	e := engine.New(st, ag, card, nil)
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := e.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	srv := httptest.NewUnstartedServer(nil)
	srv.Config = a2aserver.HTTPServer(a2aserver.New(e, card, nil))
	srv.Start()
	t.Cleanup(func() {
		stop()
		running.Wait()
		srv.Close()
		st.Close()
	})
	return srv.URL
}

func post(t testing.TB, c *http.Client, url, body string) *http.Response {
	t.Helper()
	res, err := c.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return res
}

const sendBody = `{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"hello"}]}}`

func rpc(method, params string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
}

// Wrong input of every kind and streams that are dropped leave nothing running or open:
// the requirement.
func TestNothingIsLeftBehind(t *testing.T) {
	url := serve(t, agent.Func(func(ctx context.Context, t *agent.Turn) error {
		if err := t.Status("working"); err != nil {
			return err
		}
		<-ctx.Done() // until the server drains
		return ctx.Err()
	}))
	client := &http.Client{Transport: &http.Transport{}}
	goroutines := func() int {
		client.CloseIdleConnections()
		runtime.GC()
		return runtime.NumGoroutine()
	}

	// One task runs all the time; its goroutines count in before.
	res := post(t, client, url+"/message:send", strings.Replace(sendBody, `{"message"`, `{"configuration":{"returnImmediately":true},"message"`, 1))
	var sent a2a.SendMessageResponse
	body, _ := io.ReadAll(res.Body)
	res.Body.Close()
	if err := sent.UnmarshalJSON(body); err != nil || sent.Task == nil {
		t.Fatalf("%v: %s", err, body)
	}
	subscribe := url + "/tasks/" + sent.Task.ID + ":subscribe"
	before := goroutines()

	for range 20 {
		for target, body := range map[string]string{
			"/":                    `{"jsonrpc":`,
			"/?":                   `[]`,
			"/?a":                  rpc("Nothing", "{}"),
			"/?b":                  rpc("SendMessage", `{"message":{"parts":5}}`),
			"/?c":                  strings.Repeat("[", 5000),
			"/message:send":        `{}`,
			"/message:stream":      `{"message":{"taskId":"no-such"}}`,
			"/nothing":             `{}`,
			"/tasks/nobody:cancel": ``,
		} {
			res := post(t, client, url+target, body)
			got, _ := io.ReadAll(res.Body)
			res.Body.Close()
			if !bytes.Contains(got, []byte(`"error"`)) || bytes.Contains(got, []byte("INTERNAL")) {
				t.Errorf("%s %s: %s", target, body, got)
			}
		}
		res, err := client.Get(subscribe)
		if err != nil {
			t.Fatal(err)
		}
		if ev, err := wire.NewReader(res.Body, 1<<20).Next(); err != nil || !bytes.Contains(ev.Data, []byte(`"task"`)) {
			t.Fatalf("%s, %v", ev.Data, err)
		}
		res.Body.Close() // in the middle of the stream
	}

	// The server notices a closed connection only some time later.
	deadline := time.Now().Add(10 * time.Second)
	for goroutines() > before+2 {
		if time.Now().After(deadline) {
			buf := make([]byte, 1<<20)
			t.Fatalf("%d goroutines before, %d now:\n%s", before, goroutines(), buf[:runtime.Stack(buf, true)])
		}
		runtime.Gosched()
	}
}
