package serve

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
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
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w := new(watcher)
		w.add(dir, []string{"python3", "agent.py", "prompt.md", "--flag", "missing.py"})
		var mu sync.Mutex
		var got []string
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			w.run(ctx, func(name string) bool {
				mu.Lock()
				defer mu.Unlock()
				got = append(got, name)
				return true
			})
		}()
		expect := func(after string, want ...string) {
			t.Helper()
			time.Sleep(4 * watchPause)
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			for i := range want {
				want[i] = filepath.Join(dir, want[i])
			}
			if !slices.Equal(got, want) {
				t.Fatalf("after %s: noticed %q, want %q", after, got, want)
			}
			got = nil
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
		cancel()
		<-ended
	})
}

// While a file grows it is not used.
func TestWatcherWaitsUntilThingsSettle(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent.sh")
	text := []byte("#!/bin/sh\n")
	if err := os.WriteFile(path, text, 0o755); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var times atomic.Int32
		w := new(watcher)
		w.add("/", []string{path})
		go w.run(ctx, func(string) bool {
			times.Add(1)
			return true
		})
		synctest.Wait()
		time.Sleep(watchPause / 2) // between two looks
		for range 5 {
			time.Sleep(watchPause)
			text = append(text, "echo more\n"...)
			if err := os.WriteFile(path, text, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if n := times.Load(); n != 0 {
			t.Errorf("told %d times while the file grew", n)
		}
		time.Sleep(3 * watchPause)
		synctest.Wait()
		if n := times.Load(); n != 1 {
			t.Errorf("told %d times, want once", n)
		}
	})
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
	synctest.Test(t, func(t *testing.T) {
		f := &Settings{flags: new(flags)}
		f.path, f.Reload = name, true
		h := &Host{now: &revision{settings: f}}
		changes := make(chan string)
		noticed := func() (n int) {
			for {
				select {
				case <-changes:
					n++
				case <-time.After(5 * watchPause):
					return n
				}
			}
		}
		watch := h.watch(t.Context(), changes, nil)
		synctest.Wait()
		save("22")
		<-changes // a reload begins, and reads the file
		save("333")
		time.Sleep(5 * watchPause) // of the bubble: the reload waits for an agent
		watch = h.watch(t.Context(), changes, watch())
		if n := noticed(); n != 1 {
			t.Errorf("the file was noticed %d times after the reload, want once", n)
		}
		watch = h.watch(t.Context(), changes, watch())
		if n := noticed(); n != 0 {
			t.Errorf("a file that stays as it is was noticed %d times", n)
		}
		watch()
	})
}
