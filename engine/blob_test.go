package engine

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/sqlite"
)

// copier answers with the message's own parts, and waits for one more message
// if the text says so.
var copier = agent.Func(func(ctx context.Context, t *agent.Turn) error {
	if t.Text() == "wait" {
		if _, err := t.Ask(ctx, "?"); err != nil {
			return err
		}
	}
	return t.Artifact("copy").Last(t.Message().Parts...)
})

// A large file is stored once, though log and seal hold it, and comes back the
// same from memory, from the seal and from the log.
func TestLargePartsAreStoredOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a2a.db")
	open := func() *sqlite.Store {
		st, err := sqlite.Open(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<16) // 1 MiB
	request := func(text string) *a2a.SendMessageRequest {
		req := send(text)
		req.Message.Parts = append(req.Message.Parts, a2a.RawPart(big, "image/png", "big.png"))
		return req
	}
	st := open()
	w := newWorld(t, st, copier)
	done, waiting := w.mustSend(request("now")), w.mustSend(request("wait"))
	var stored int
	entries, err := st.Entries(t.Context(), store.Key{ID: done.ID}, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, en := range entries {
		stored += len(en.Body)
	}
	if stored > 4<<10 {
		t.Errorf("the log holds %d bytes of a file that is stored apart", stored)
	}
	w.stop()
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}

	st = open()
	defer st.Close()
	w = newWorld(t, st, copier)
	sameTask(t, w.mustGet(done.ID), done)
	sameTask(t, w.mustGet(waiting.ID), waiting)
	end := w.mustSend(reply(waiting, "go"))
	got := end.Artifacts[0].Parts[1]
	if got.Kind != a2a.PartRaw || !bytes.Equal(got.Raw, big) || got.Filename != "big.png" || got.URL != "" {
		t.Errorf("the file came back as %d bytes of kind %d", len(got.Raw), got.Kind)
	}
	resumed, err := collect(w.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: done.ID, After: 2}))
	if err != nil {
		t.Fatal(err)
	}
	sameTask(t, foldStream(resumed), done)
	list, err := w.ListTasks(t.Context(), &a2a.ListTasksRequest{IncludeArtifacts: true, ContextID: done.ContextID})
	if err != nil {
		t.Fatal(err)
	}
	sameTask(t, list.Tasks[0], done)
	w.stop()
}

// No caller can read another's content by making up a reference.
func TestBlobReferencesCannotBeMadeUp(t *testing.T) {
	w := newWorld(t, nil, agent.Func(func(ctx context.Context, t *agent.Turn) error {
		return t.Artifact("x").Last(a2a.URLPart(stored.BlobScheme+"00", "", ""))
	}))
	req := send("x")
	req.Message.Parts = append(req.Message.Parts, a2a.URLPart(stored.BlobScheme+strings.Repeat("0", 64), "", ""))
	_, err := w.SendMessage(t.Context(), req)
	wantError(t, err, a2a.ErrInvalidParams)
	wantState(t, w.mustSend(send("x")), a2a.TaskStateFailed)
}
