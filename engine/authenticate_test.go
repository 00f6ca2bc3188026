package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/sqlite"
)

// marked says the secret in every field that a client can set.
func marked(task *a2a.Task, secret string) *a2a.SendMessageRequest {
	meta := a2a.JSON(fmt.Sprintf(`{"m":%q}`, secret))
	req := reply(task, secret)
	req.Metadata = meta
	req.Message.Metadata = meta
	req.Message.Extensions = []string{"urn:" + secret}
	req.Message.ReferenceTaskIDs = []string{secret}
	req.Message.Parts = []*a2a.Part{
		{Kind: a2a.PartText, Text: secret, Metadata: meta, Filename: secret, MediaType: "text/" + secret},
		a2a.DataPart(meta),
		a2a.RawPart([]byte(secret), "", ""),
		a2a.RawPart(bytes.Repeat([]byte(secret), stored.MinBlob/4), "", ""), // a blob, if it were kept
		a2a.URLPart("https://example.com/"+secret, "", ""),
	}
	req.Configuration = &a2a.SendMessageConfiguration{AcceptedOutputModes: []string{secret}}
	return req
}

// Of a message that answers auth-required only the agent gets anything: neither
// the file, nor the log, nor anything that is read, nor what a webhook gets.
func TestCredentialsReachTheAgentAlone(t *testing.T) {
	const secret = "s3cret-marked-0451"
	var logs bytes.Buffer
	dir := t.TempDir()
	file := filepath.Join(dir, "tasks.db")
	st, err := sqlite.Open(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	got := make(chan *a2a.Message, 2)
	ag := agent.Func(func(ctx context.Context, t *agent.Turn) error {
		m, err := t.Authenticate(ctx, "log in")
		if err != nil {
			return err
		}
		got <- m
		more, err := t.Ask(ctx, "what next?")
		if err != nil {
			return err
		}
		if err := t.Artifact("answer").Last(a2a.TextPart(more.Text())); err != nil {
			return err
		}
		return errors.New("failed on purpose")
	})
	w := newWorldWith(t, st, ag, testCard(), &Options{
		Logger:  slog.New(slog.NewTextHandler(&logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Retries: Retries{Anonymous: true},
	})
	task := w.mustSend(send("go"))
	wantState(t, task, a2a.TaskStateAuthRequired)
	req := marked(task, secret)
	req.IdempotencyKey = "once"
	evs, err := collect(w.SendStreamingMessage(t.Context(), req))
	if err != nil {
		t.Fatal(err)
	}
	m := <-got
	if want := req.Message; m.Text() != secret || len(m.Parts) != 5 || len(m.Parts[3].Raw) != len(want.Parts[3].Raw) ||
		string(m.Metadata) != string(want.Metadata) || m.Extensions[0] != want.Extensions[0] {
		t.Errorf("the agent got %+v", m)
	}
	task = w.eventually(task.ID, a2a.TaskStateInputRequired)
	wantTexts(t, task.History, "go", "log in", notKept)
	// The same message is recognized, and so is another one with the same id: they cannot be
	// told apart, so the first one's content cannot be guessed by trying.
	again := w.mustSend(req)
	other := marked(task, "another-guess")
	other.Message.MessageID, other.IdempotencyKey = req.Message.MessageID, req.IdempotencyKey
	guess := w.mustSend(other)
	for _, task := range []*a2a.Task{again, guess} {
		wantTexts(t, task.History, "go", "log in", notKept)
	}
	task = w.mustSend(reply(task, "public"))
	wantState(t, task, a2a.TaskStateFailed)
	wantTexts(t, task.History, "go", "log in", notKept, "what next?", "public")

	seen := fmt.Sprint(brief(evs)) + logs.String()
	for _, ev := range evs {
		b, _ := ev.MarshalJSON()
		seen += string(b)
	}
	resumed, err := collect(w.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: task.ID, After: 1}))
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range resumed {
		b, _ := ev.MarshalJSON()
		seen += string(b)
	}
	list, err := w.ListTasks(t.Context(), &a2a.ListTasksRequest{IncludeArtifacts: true})
	if err != nil {
		t.Fatal(err)
	}
	b, _ := list.MarshalJSON()
	seen += string(b) + string(w.mustGet(task.ID).AppendJSON(nil))
	if strings.Contains(seen, secret) {
		t.Errorf("what is read or logged has the secret: %s", seen)
	}
	scan := func(when string) {
		files, err := os.ReadDir(dir)
		if err != nil || len(files) == 0 {
			t.Fatalf("%v, %v", files, err)
		}
		for _, f := range files {
			b, err := os.ReadFile(filepath.Join(dir, f.Name()))
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(b, []byte(secret)) || bytes.Contains(b, []byte("another-guess")) {
				t.Errorf("%s %s has the secret", when, f.Name())
			}
			if !bytes.Contains(b, []byte("public")) && strings.HasSuffix(f.Name(), ".db-wal") {
				t.Errorf("%s the scan of %s does not see what is there", when, f.Name())
			}
		}
	}
	scan("while it is open")
	w.stop()
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	scan("when it is closed")
}

// keeper asks, authenticates for two things, and asks again; it says what it got.
var keeper = agent.Func(func(ctx context.Context, t *agent.Turn) error {
	name, err := t.Ask(ctx, "Name?")
	if err != nil {
		return err
	}
	if err := t.Status("working"); err != nil {
		return err
	}
	var got []string
	for _, need := range []string{"first token", "second token"} {
		m, err := t.Authenticate(ctx, need)
		if err != nil {
			return err
		}
		got = append(got, m.Text())
	}
	city, err := t.Ask(ctx, "City?")
	if err != nil {
		return err
	}
	return t.Complete(strings.Join(append(got, name.Text(), city.Text()), " "))
})

// An answer that a crash took is asked for again; one that comes between two
// runs reaches the next, at its own question; Ask gets its recorded answers.
func TestCredentialsAreAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		w, kill := newMortal(t, st, keeper, nil)
		task := w.mustSend(send("go"))
		task = w.mustSend(reply(task, "Ada"))
		wantState(t, task, a2a.TaskStateAuthRequired)
		task = w.mustSend(reply(task, "one"))
		wantTexts(t, []*a2a.Message{task.Status.Message}, "second token")
		kill() // the first answer is lost with it

		w, kill = newMortal(t, st, keeper, nil)
		// The message is for the second question, and the run asks the first again.
		task = w.mustSend(reply(task, "two"))
		wantState(t, task, a2a.TaskStateAuthRequired)
		wantTexts(t, []*a2a.Message{task.Status.Message}, "first token")
		task = w.mustSend(reply(task, "one again"))
		wantState(t, task, a2a.TaskStateInputRequired)
		kill()

		w = newWorld(t, st, keeper)
		task = w.mustSend(reply(task, "London")) // Ask's answer is in the log
		wantTexts(t, []*a2a.Message{task.Status.Message}, "first token")
		task = w.mustSend(reply(task, "1"))
		wantTexts(t, []*a2a.Message{task.Status.Message}, "second token")
		task = w.mustSend(reply(task, "2"))
		wantState(t, task, a2a.TaskStateCompleted)
		wantTexts(t, []*a2a.Message{task.Status.Message}, "1 2 Ada London")
		for _, m := range task.History {
			if s := m.Text(); strings.Contains(s, "one") || strings.Contains(s, "two") || s == "1" || s == "2" {
				t.Errorf("the history has %q", s)
			}
		}
		w.stop()
	})
}

// A process that dies with an answer that its agent has not taken leaves a task
// that asks again, and what else comes meanwhile is credentials, too.
func TestCredentialsDieWithTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		hang := make(chan struct{})
		w, kill := newMortal(t, st, agent.Func(func(ctx context.Context, t *agent.Turn) error {
			if _, err := t.Authenticate(ctx, "token"); err != nil {
				return err
			}
			<-ctx.Done()
			return ctx.Err()
		}), nil)
		task := w.mustSend(send("go"))
		w.mustSend(replyNow(task, "secret one"))
		synctest.Wait()
		wantState(t, w.mustGet(task.ID), a2a.TaskStateWorking)
		w.mustSend(replyNow(task, "secret two")) // the agent has said nothing since
		kill()
		w = newWorld(t, st, agent.Func(func(ctx context.Context, t *agent.Turn) error {
			if err := t.Status("again"); err != nil {
				return err
			}
			<-hang
			m, err := t.Authenticate(ctx, "token")
			if err != nil {
				return err
			}
			return t.Complete("got " + m.Text())
		}))
		synctest.Wait()
		wantState(t, w.mustGet(task.ID), a2a.TaskStateWorking)
		w.mustSend(replyNow(task, "secret three")) // this run has not asked yet
		close(hang)
		task = w.eventually(task.ID, a2a.TaskStateCompleted) // also without a question: it had its answer
		wantTexts(t, []*a2a.Message{task.Status.Message}, "got secret three")
		w.stop()
		entries, err := st.Entries(t.Context(), store.Key{ID: task.ID}, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, en := range entries {
			if a2a.EntryKind(en.Kind) == a2a.EntryMessage && strings.Contains(string(en.Body), "secret") {
				t.Errorf("the log has %s", en.Body)
			}
			n += strings.Count(string(en.Body), notKept)
		}
		if n != 3 {
			t.Errorf("%d messages say that they are not kept, want 3", n)
		}
	})
}
