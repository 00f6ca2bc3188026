package serve

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/internal/database"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/plain"
)

func testEnv(t *testing.T, stderr io.Writer) *Env {
	t.Helper()
	t.Chdir(t.TempDir())
	t.Setenv(database.Env, "")
	t.Setenv(UpstreamEnv, "")
	return &Env{Lookup: func(string) (string, bool) { return "", false }, Stderr: plain.NewWriter(stderr), Version: "test"}
}

// A host listens once it is open, answers while it runs, and has let go of its
// address when it is closed.
func TestHostComesUpAndEnds(t *testing.T) {
	h, err := Open(t.Context(), testEnv(t, t.Output()), lineOf(t, "--listen=127.0.0.1:0", "--data=d"), nil)
	if err != nil {
		t.Fatal(err)
	}
	var banner strings.Builder
	if err := h.Print(&banner, "test", "parley", false); err != nil {
		t.Error(err)
	}
	for text, want := range map[string]bool{
		"  Agent      demo\n": true, "--stream": true, "Ctrl-C; unfinished tasks resume at the next start": true, "Callers    everybody on this machine": true, "  Public": false, "  First": false,
	} {
		if strings.Contains(banner.String(), text) != want {
			t.Errorf("%q in the banner: %t, want %t\n%s", text, !want, want, banner.String())
		}
	}
	file := h.location.AdminFile() // there before anybody is told of the server
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error)
	go func() { ran <- h.Run(ctx) }()
	resp, err := http.Get(h.URL() + "/.well-known/agent-card.json") // waits in the listener until the host runs
	if err != nil {
		t.Fatal(err)
	}
	doc, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(doc), h.URL()) {
		t.Errorf("the card: %s, %v, %s", resp.Status, err, doc)
	}
	stop()
	if err := <-ran; err != nil {
		t.Error(err)
	}
	h.Close()
	if _, err := os.Stat(file); err == nil {
		t.Error("commands of parley admin still find the host")
	}
	l, err := net.Listen("tcp", h.addr.String())
	if err != nil {
		t.Fatalf("the address is still in use: %v", err)
	}
	l.Close()
}

// At its end a host says how many tasks go on, where somebody looks and in the log.
func TestHostSaysWhatIsLeft(t *testing.T) {
	for terminal, want := range map[bool]string{true: "\nstopped; 1 unfinished task resumes at the next start\n", false: `"msg":"stopped","unfinished":1,"lost":0`} {
		var log strings.Builder
		env := testEnv(t, &log)
		env.Terminal = terminal
		h, err := Open(t.Context(), env, lineOf(t, "--listen=127.0.0.1:0", "--data=d"), nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ran := make(chan error)
		go func() { ran <- h.Run(ctx) }()
		client, err := a2aclient.Dial(t.Context(), h.URL(), nil)
		if err != nil {
			t.Fatal(err)
		}
		m := &a2a.Message{MessageID: "m", Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart("stream 1000 1000")}}
		for ev, err := range client.SendStreamingMessage(t.Context(), &a2a.SendMessageRequest{Message: m}) {
			if err != nil {
				t.Fatal(err)
			}
			if ev.ArtifactUpdate != nil { // the agent is at work
				break
			}
		}
		stop()
		if err := <-ran; err != nil {
			t.Error(err)
		}
		h.Close()
		if got := log.String(); !strings.Contains(got, want) {
			t.Errorf("terminal %v: no %q in\n%s", terminal, want, got)
		}
		if got := log.String(); !strings.Contains(got, "left for the next start") || strings.Contains(got, "error") {
			t.Errorf("a stop looks like an error, or says nothing of the task:\n%s", got)
		}
		before, _, _ := strings.Cut(log.String(), `"msg":"stopped"`)
		if !terminal && !strings.Contains(before, `"msg":"stopping: no more messages are accepted, and agents are told to stop","drain_timeout":"10s"`) {
			t.Errorf("the log does not say that the server stops, before it has:\n%s", log.String())
		}
		if terminal && !strings.Contains(log.String(), "  SendStreamingMessage  ") {
			t.Errorf("no line for the call in\n%s", log.String())
		}
	}
}

// A host that does not come up keeps nothing: the next one gets its database.
func TestHostThatFailsLetsGo(t *testing.T) {
	var log strings.Builder
	env := testEnv(t, &log)
	_, err := Open(t.Context(), env, lineOf(t, "--listen=127.0.0.1:0", "--data=d", "--card-key=none.pem", "--public-url=https://a.example"), nil)
	var f *failure.Error
	if !errors.As(err, &f) || f.Exit() != failure.ExitUsage {
		t.Fatalf("%v", err)
	}
	h, err := Open(t.Context(), env, lineOf(t, "--listen=127.0.0.1:0", "--data=d"), nil)
	if err != nil {
		t.Fatal(err)
	}
	h.Close()
}
