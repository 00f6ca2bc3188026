package storetest

import (
	"bytes"
	"testing"

	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/archive"
)

// testArchivePushes imports into a store where the same webhooks have changed since: those
// that were delivered, deleted or replaced there stay so.
func testArchivePushes(t testing.TB, open Opener) {
	st := start(t, open)
	m := store.NewMemory()
	defer m.Close()
	a := with(finished("a", 3, began), "node", "delivered", "deleted", "replaced")
	a.Letters = []store.DeadLetter{letter(a.Pushes[0], 1), letter(a.Pushes[1], 2)}
	must(t, m, a)
	keep(t, m, store.WebhookKeys, nil, []byte("exported"))
	text := export(t, m)
	if !bytes.Contains(text, []byte(`"push":{"id":"delivered"`)) {
		t.Fatalf("the export: %s", text)
	}
	keep(t, st, store.WebhookKeys, nil, []byte("its own"))
	imports := func(want archive.Count) {
		t.Helper()
		got, err := importInto(t, st, text)
		if err != nil || got.New != want || got.There.Other != 1 || got.There.Kept != 0 {
			t.Fatalf("import: %+v, %v", got, err)
		}
	}
	imports(archive.Count{Tasks: 1, Entries: 3})
	same(t, "a server's own keys", keep(t, st, store.WebhookKeys, nil, nil), `"its own"`)
	same(t, "claimed by the next server", claimPushes(t, st, "next", began, 9), 3)

	ahead := advanced(a.Pushes[0], 3)
	ahead.Live = false
	advance(t, st, ahead)
	if err := st.SetLetters(t.Context(), []store.DeadLetter{letter(a.Pushes[0], 1)}, true); err != nil {
		t.Fatal(err)
	}
	if err := st.DropPush(t.Context(), a.Pushes[1].PushID()); err != nil {
		t.Fatal(err)
	}
	fresh := push(name("a"), "replaced", "next")
	fresh.Created, fresh.Body = began.Add(1e9), []byte("other")
	setPush(t, st, fresh)
	before := pushes(t, st, name("a"), 9)
	imports(archive.Count{})
	same(t, "push configs", pushes(t, st, name("a"), 9), before)
	same(t, "dead letters", len(letters(t, st, store.LetterQuery{}, 9)), 0)
	Check(t, st, name("a"))

	// A config with the same creation time and another receiver means another task.
	fresh.Created = began
	setPush(t, st, fresh)
	if _, err := importInto(t, st, text); err == nil {
		t.Error("a task with another push config of the name passes for the same")
	}
}
