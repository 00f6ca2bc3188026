package serve

import (
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// watcher notices changes of files by polling, which works on every file system,
// network mounts included.
type watcher struct {
	files []string         // watched by name
	trees []tree           // by extension
	seen  map[string]stamp // at the last look
	fresh string           // a file that had changed at the last look, and may still grow; "": none
}

// tree is the files with certain extensions in a directory and its subdirectories.
type tree struct {
	root  string
	kinds []string // such as ".py"
}

// stamp shows whether a file has changed.
type stamp struct {
	at   time.Time
	size int64
}

const (
	watchPause = 300 * time.Millisecond
	// maxWatched caps how many files and directories one look visits.
	maxWatched = 10_000
)

// add watches a command's files: those that the command names, and those with the same
// extensions next to and below them, unless they are outside dir, in which it runs.
// Programs in PATH, such as interpreters, are not watched.
func (w *watcher) add(dir string, argv []string) {
	for i, word := range argv {
		if i == 0 && !strings.ContainsRune(word, filepath.Separator) {
			continue // in PATH
		}
		path := word
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() || slices.Contains(w.files, path) {
			continue
		}
		w.files = append(w.files, path)
		kind, parent := filepath.Ext(path), filepath.Dir(path)
		if inside, err := filepath.Rel(absolute(dir), absolute(parent)); kind == "" || err != nil || inside == ".." || strings.HasPrefix(inside, ".."+string(filepath.Separator)) {
			continue
		}
		w.grow(parent, kind)
	}
}

// absolute returns the absolute path, or path itself if that fails.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// grow adds a kind of files to a tree.
func (w *watcher) grow(root, kind string) {
	for i := range w.trees {
		if t := &w.trees[i]; t.root == root {
			if !slices.Contains(t.kinds, kind) {
				t.kinds = append(t.kinds, kind)
			}
			return
		}
	}
	w.trees = append(w.trees, tree{root, []string{kind}})
}

// follow makes w go on where a previous watcher of some of its files has stopped.
func (w *watcher) follow(previous *watcher) {
	w.seen, w.fresh = w.look(), previous.fresh
	for name, was := range previous.seen {
		if _, there := w.seen[name]; there {
			w.seen[name] = was
		}
	}
}

// poll returns the name of a file that was changed, added or deleted; "" if there is none. It
// waits until one poll shows no more changes, so that a half-written file is not used.
func (w *watcher) poll() (name string) {
	now := w.look()
	at := difference(w.seen, now)
	w.seen = now
	if at == "" {
		name = w.fresh
	}
	w.fresh = at
	return name
}

// look visits all files.
func (w *watcher) look() map[string]stamp {
	found := map[string]stamp{}
	for _, path := range w.files {
		if info, err := os.Stat(path); err == nil {
			found[path] = stamp{info.ModTime(), info.Size()}
		}
	}
	left := maxWatched
	for _, t := range w.trees {
		_ = filepath.WalkDir(t.root, func(path string, d fs.DirEntry, err error) error {
			if left--; left < 0 {
				return fs.SkipAll
			}
			if err != nil {
				return nil // unreadable files are not part of the agent
			}
			if d.IsDir() {
				if path != t.root && notSource(d.Name()) {
					return fs.SkipDir
				}
				return nil
			}
			if !d.Type().IsRegular() || !slices.Contains(t.kinds, filepath.Ext(path)) {
				return nil
			}
			if info, err := d.Info(); err == nil {
				found[path] = stamp{info.ModTime(), info.Size()}
			}
			return nil
		})
	}
	return found
}

// notSource reports whether a directory contains no sources of the agent, but caches,
// packages or the database.
func notSource(name string) bool {
	return strings.HasPrefix(name, ".") || name == "node_modules" || name == "__pycache__" || name == "venv"
}

// difference returns the first file, in the order of names, that differs.
func difference(before, after map[string]stamp) (first string) {
	for _, names := range []iter.Seq[string]{maps.Keys(before), maps.Keys(after)} {
		for name := range names {
			was, had := before[name]
			is, has := after[name]
			if (had != has || !is.at.Equal(was.at) || is.size != was.size) && (first == "" || name < first) {
				first = name
			}
		}
	}
	return first
}
