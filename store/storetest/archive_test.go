package storetest

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/store"
)

// An export that is changed or cut anywhere is refused, and nothing of it
// is imported.
func TestImportRefusesDamage(t *testing.T) {
	m := store.NewMemory()
	defer m.Close()
	a := finished("a", 3, began)
	a.Blobs = []store.Blob{{Hash: "h", Data: []byte("data")}}
	with(signed(a, "receipt"), "node", "p")
	a.Letters = []store.DeadLetter{letter(a.Pushes[0], 2)}
	must(t, m, a, finished("b", 3, began))
	keep(t, m, store.WebhookKeys, nil, []byte("keys"))
	text := export(t, m)
	refused := func(what string, i int, text []byte) {
		t.Helper()
		m := store.NewMemory()
		defer m.Close()
		if _, _, err := store.Import(t.Context(), m, bytes.NewReader(text)); err == nil {
			t.Errorf("%s at %d was imported", what, i)
		}
		if rows, _ := m.Tasks(t.Context(), nil, 9); len(rows) > 0 {
			t.Errorf("%s at %d: %d tasks were imported", what, i, len(rows))
		}
	}
	for i := range text {
		refused("a cut", i, text[:i])
		changed := bytes.Clone(text)
		changed[i] ^= 1
		refused("a change", i, changed)
	}
	lines := strings.SplitAfter(string(text), "\n")
	for i := range lines {
		if lines[i] != "" {
			refused("a lost line", i, []byte(strings.Join(append(lines[:i:i], lines[i+1:]...), "")))
			refused("a line twice", i, []byte(strings.Join(append(append(lines[:i+1:i+1], lines[i]), lines[i+1:]...), "")))
		}
	}
	refused("a version to come", 0, bytes.Replace(text, []byte(`"version":1`), []byte(`"version":2`), 1))
	refused("nothing", 0, nil)
	refused("something behind the end", 0, append(bytes.Clone(text), '\n'))
}

// goingOn is a source in which a task goes on while it is exported, once.
type goingOn struct {
	store.Source
	next func()
}

func (g *goingOn) Receipts(ctx context.Context, k store.Key) ([]store.Receipt, error) {
	if g.next != nil {
		g.next()
		g.next = nil
	}
	return g.Source.Receipts(ctx, k)
}

// A task is exported as of one moment, with the receipts that it had then.
func TestExportedReceiptsAreOfTheirMoment(t *testing.T) {
	m := store.NewMemory()
	defer m.Close()
	a := signed(create(name("a"), 2), "first")
	must(t, m, a)
	text := export(t, &goingOn{m, func() { must(t, m, signed(then(a, 1), "second")) }})
	n := store.NewMemory()
	defer n.Close()
	if _, _, err := store.Import(t.Context(), n, bytes.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	same(t, "receipts", receipts(t, n, a.Row.Key), issued(a))
	same(t, "those of the task by now", len(receipts(t, m, a.Row.Key)), 2)
}

// FuzzImport wants no panic, nothing of what is refused, and what is imported
// exported the same way again.
func FuzzImport(f *testing.F) {
	m := store.NewMemory()
	a := finished("a", 3, began)
	a.Blobs = []store.Blob{{Hash: "h", Data: []byte("data")}}
	with(a, "node", "p")
	a.Letters = []store.DeadLetter{letter(a.Pushes[0], 2)}
	must(f, m, signed(a, "receipt", "other"), signed(finished("b", 3, began), "third"))
	keep(f, m, store.WebhookKeys, nil, []byte("keys"))
	var out bytes.Buffer
	if _, err := store.Export(f.Context(), m, &out); err != nil {
		f.Fatal(err)
	}
	m.Close()
	f.Add(out.Bytes())
	f.Add([]byte(`{"parley":"export","version":1}` + "\n" + `{"end":{}}` + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		m := store.NewMemory()
		defer m.Close()
		if _, _, err := store.Import(t.Context(), m, bytes.NewReader(text)); err != nil {
			if rows, _ := m.Tasks(t.Context(), nil, 9); len(rows) > 0 {
				t.Errorf("refused with %v, and yet there are tasks", err)
			}
			return
		}
		first := export(t, m)
		n := store.NewMemory()
		defer n.Close()
		if _, _, err := store.Import(t.Context(), n, bytes.NewReader(first)); err != nil {
			t.Errorf("its export cannot be imported: %v", err)
		}
	})
}
