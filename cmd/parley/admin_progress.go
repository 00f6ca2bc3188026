package main

import (
	"io"
	"sync/atomic"

	"github.com/parley-a2a/parley/internal/plain"
)

// progress shows the progress of long work on standard error, until stop is called. look is
// called from another goroutine.
func (a *app) progress(what string, word func(int64) string, look func() (done, total int64)) (stop func()) {
	return a.screen.Progress(what, look, word, func(line string) { a.stderr.Note("Progress", "%s", line) })
}

// counted shows with how many tasks something is done.
func (a *app) counted(what string) (done *atomic.Int64, stop func()) {
	done = new(atomic.Int64)
	return done, a.progress(what, func(n int64) string { return plain.Count(n, "task") }, func() (int64, int64) { return done.Load(), 0 })
}

// migrating shows the progress of a database's migration. The first line says that it is one.
func (a *app) migrating() func(done, of int) {
	var steps, all atomic.Int64
	stop := func() {}
	return func(done, of int) {
		steps.Store(int64(done))
		switch done {
		case 0:
			all.Store(int64(of))
			a.stderr.Note("Database", "it was made by an older version: migrating it in %s; there is no way back", plain.Count(of, "step"))
			stop = a.progress("migrating", func(n int64) string { return plain.Count(n, "step") }, func() (int64, int64) { return steps.Load(), all.Load() })
		case of:
			stop()
			a.stderr.Note("Database", "migrated")
		}
	}
}

// writing counts what is written.
type writing struct {
	io.Writer
	n atomic.Int64
}

func (w *writing) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	w.n.Add(int64(n))
	return n, err
}

// reading counts the bytes read, and counts bytes again that are read again.
type reading struct {
	io.ReadSeeker
	n atomic.Int64
}

func (r *reading) Read(p []byte) (int, error) {
	n, err := r.ReadSeeker.Read(p)
	r.n.Add(int64(n))
	return n, err
}
