package serve

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The files that a command names are watched, and those of their kinds around
// them; not what packages, caches and the store keep there, and no interpreter.
func TestWatcherSeesTheAgentsFilesOnly(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"agent.py", "lib/words.py", "notes.txt", "node_modules/x.py", ".parley/y.py", "lib/__pycache__/z.py", "prompt.md"} {
		write(name, "1")
	}
	w := new(watcher)
	w.add(dir, []string{"python3", "agent.py", "prompt.md", "--flag", "missing.py"})
	w.follow(new(watcher))
	expect := func(after string, want ...string) {
		t.Helper()
		var got []string
		for range 4 {
			if name := w.poll(); name != "" {
				got = append(got, name)
			}
		}
		for i := range want {
			want[i] = filepath.Join(dir, want[i])
		}
		if !slices.Equal(got, want) {
			t.Fatalf("after %s: noticed %q, want %q", after, got, want)
		}
	}
	expect("nothing")
	write("agent.py", "22")
	expect("a file that the command names", "agent.py")
	write("lib/words.py", "22")
	write("lib/new.py", "22")
	expect("files beside it: told once", "lib/new.py")
	for _, other := range []string{"notes.txt", "node_modules/x.py", ".parley/y.py", "lib/__pycache__/z.py"} {
		write(other, "22")
	}
	expect("what is none of its files")
	if err := os.Remove(filepath.Join(dir, "lib/new.py")); err != nil {
		t.Fatal(err)
	}
	expect("one that is gone", "lib/new.py")
}

// While a file grows it is not used.
func TestWatcherWaitsUntilThingsSettle(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent.sh")
	text := []byte("#!/bin/sh\n")
	if err := os.WriteFile(path, text, 0o755); err != nil {
		t.Fatal(err)
	}
	w := new(watcher)
	w.add("/", []string{path})
	w.follow(new(watcher))
	for range 5 {
		text = append(text, "echo more\n"...)
		if err := os.WriteFile(path, text, 0o755); err != nil {
			t.Fatal(err)
		}
		if name := w.poll(); name != "" {
			t.Errorf("told of %s while the file grew", name)
		}
	}
	if name := w.poll(); name != path {
		t.Errorf("told of %q, want the file", name)
	}
	if name := w.poll(); name != "" {
		t.Errorf("told of %s again", name)
	}
}

// A file that is saved again while a reload is under way is noticed after it, once.
func TestWatchersNoticeWhatChangedDuringAReload(t *testing.T) {
	name := filepath.Join(t.TempDir(), "parley.yaml")
	save := func(text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	save("1")
	f := &Settings{flags: new(flags)}
	f.path, f.Reload = name, true
	h := &Host{now: &revision{settings: f}}
	noticed := func(w *watcher) (n int) {
		for range 5 {
			if w.poll() != "" {
				n++
			}
		}
		return n
	}
	w := h.watch(new(watcher))
	save("22")
	if n := noticed(w); n != 1 { // a reload begins, and reads the file
		t.Errorf("the file was noticed %d times, want once", n)
	}
	save("333")
	w = h.watch(w)
	if n := noticed(w); n != 1 {
		t.Errorf("the file was noticed %d times after the reload, want once", n)
	}
	w = h.watch(w)
	if n := noticed(w); n != 0 {
		t.Errorf("a file that stays as it is was noticed %d times", n)
	}
	// A change that was seen and not told yet, as when SIGHUP comes first.
	save("4444")
	if name := w.poll(); name != "" {
		t.Errorf("told of %s at once", name)
	}
	w = h.watch(w)
	if n := noticed(w); n != 1 {
		t.Errorf("the pending change was noticed %d times, want once", n)
	}
}
