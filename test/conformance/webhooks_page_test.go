package conformance

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

// program returns the first one in a language on the page for receivers.
func program(t *testing.T, language string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/webhooks.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(page), "\n```"+language+"\n")
	code, _, end := strings.Cut(rest, "\n```\n")
	if !ok || !end {
		t.Fatalf("docs/webhooks.md has no program in %s", language)
	}
	if lines := strings.Count(code, "\n") + 1; lines > 18 {
		t.Errorf("%d lines of %s are no short program", lines, language)
	}
	return code + "\n"
}

// hooked runs an agent that may post to this machine, and returns what it
// posts about a task.
// posts about a task, and the source of that. foreign is the same task's of another
// source.
func hooked(t *testing.T) (w *wire, posts []posted, source string, foreign posted) {
	t.Helper()
	st := store.NewMemory()
	url := start(t, agent.DemoCard(), agent.Demo(), &parley.Options{Store: st, Egress: &a2aserver.Egress{Loopback: true}})
	w = dial(t, jsonrpc, url)
	m := newMailbox(t, nil)
	id := text(w.send(t, say("ask who?")), "id")
	c, err := a2aclient.Dial(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	made, err := c.CreateTaskPushNotificationConfig(t.Context(), &a2a.TaskPushNotificationConfig{TaskID: id, URL: m.url})
	if err != nil || made.Source == "" {
		t.Fatalf("%+v, %v", made, err)
	}
	w.send(t, say("me", "taskId", id))
	posts, _ = m.untilDone()
	doc, err := st.Keep(t.Context(), store.WebhookKeys, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := a2aserver.ParseWebhookKeys(doc)
	if err != nil {
		t.Fatal(err)
	}
	foreign = posted{header: posts[0].header.Clone(), raw: posts[0].raw}
	other := strings.Replace(foreign.header.Get("Webhook-Id"), made.Source, strings.Repeat("b", 32), 1)
	keys.Sign(foreign.header, other, time.Now(), foreign.raw, "")
	return w, posts, made.Source, foreign
}

// The receiver in Node, as the page has it, takes what is posted to it, once,
// and nothing else.
func TestWebhooksPageNode(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	switch {
	case err == nil:
	case os.Getenv("CI") != "": // where everything is required
		t.Fatal(err)
	default:
		t.Skip("there is no node")
	}
	w, posts, source, foreign := hooked(t)
	l, err := net.Listen("tcp", "127.0.0.1:0") // a port that is free now
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()

	file := filepath.Join(t.TempDir(), "receiver.mjs")
	// It says nothing before the first delivery; here it says when it listens.
	code := strings.Replace(program(t, "js"), ".listen(process.env.PORT)", ".listen(process.env.PORT, '127.0.0.1', () => console.log('listens'))", 1)
	if err := os.WriteFile(file, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), node, file)
	cmd.Env = append(os.Environ(), "AGENT="+w.url, "PORT="+port, "SOURCE="+source)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := make(chan string, 1000)
	go func() {
		for s := bufio.NewScanner(out); s.Scan(); {
			lines <- s.Text()
		}
	}()
	equal(t, "the first word", receive(t, lines, "node"), "listens")

	hand := func(p posted, change func(http.Header)) int {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), "POST", "http://127.0.0.1:"+port+"/hook", strings.NewReader(string(p.raw)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = p.header.Clone()
		if change != nil {
			change(req.Header)
		}
		res, err := w.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
		return res.StatusCode
	}
	equal(t, "another caller's", hand(foreign, nil), 401)
	equal(t, "another id", hand(posts[0], func(h http.Header) { h.Set("Webhook-Id", "msg_other") }), 401)
	equal(t, "no signature", hand(posts[0], func(h http.Header) { h.Del("Webhook-Signature") }), 401)
	equal(t, "an old time", hand(posts[0], func(h http.Header) { h.Set("Webhook-Timestamp", "1700000000") }), 425)
	equal(t, "no time", hand(posts[0], func(h http.Header) { h.Del("Webhook-Timestamp") }), 425)
	equal(t, "another body", hand(posted{header: posts[0].header, raw: append([]byte(" "), posts[0].raw...)}, nil), 401)
	for range 2 {
		equal(t, "the answer", hand(posts[0], nil), 200)
	}
	if line := receive(t, lines, "node"); !strings.HasPrefix(line, posts[0].header.Get("Webhook-Id")+" {") {
		t.Errorf("node says %q", line)
	}

	// And from the agent itself: the last is what says so.
	id := text(w.send(t, say("ask who?")), "id")
	w.ok(t, "CreateTaskPushNotificationConfig", obj{"taskId": id, "url": "http://127.0.0.1:" + port + "/hook", "token": "tok"})
	w.send(t, say("me", "taskId", id))
	for !strings.Contains(receive(t, lines, "node"), "TASK_STATE_COMPLETED") {
	}
}
