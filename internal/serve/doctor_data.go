package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/database"
	"github.com/parley-a2a/parley/internal/plain"
)

// directory reports whether the data directory can be used, and only by this user.
func (d *doctor) directory(_ context.Context, r *report) {
	d.auditFile(r)
	if d.location.Memory() {
		r.ok("tasks are in memory, and gone when the server ends")
		return
	}
	dir := d.location.Data
	st, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.ok("%s is not there yet: the server will create it", plain.Quote(dir))
		return
	case err != nil:
		r.problem("look at the owner and mode of the directories above it", "%v", err)
		return
	case !st.IsDir():
		r.problem("name another with --data, or move the file away", "%s is not a directory", plain.Quote(dir))
		return
	}
	if config.PermissionsMatter {
		wide(r, dir, st, 0o022, "can be changed by other users, who could put a database of theirs there", "chmod go-w ")
		if file := d.location.File; file != "" {
			if st, err := os.Stat(file); err == nil {
				wide(r, file, st, 0o077, "can be read by other users: tasks and keys are in it", "chmod 600 ")
			}
		}
	}
	if f, err := os.OpenFile(d.location.File, os.O_RDWR, 0); err == nil {
		_ = f.Close() // nothing was written
	} else if d.location.File != "" && !errors.Is(err, fs.ErrNotExist) {
		r.problem("the server's user must be able to write it: look at its owner and mode, and whether the file system is read-only", "%v", err)
	}
	if len(r.found) == 0 {
		r.ok("%s, mode %04o", plain.Quote(dir), st.Mode().Perm())
	}
}

// auditFile reports an audit log outside the data directory that cannot be written.
func (d *doctor) auditFile(r *report) {
	path := d.audit.Path
	if path == "" || path == auditStderr || path == auditNone {
		return
	}
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		_, err = os.Stat(filepath.Dir(path))
	case err == nil && st.Mode().IsRegular(): // a pipe would wait for its reader
		var f *os.File
		if f, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0); err == nil {
			_ = f.Close() // nothing was written
		}
	}
	if err != nil {
		r.problem(auditHint, "the audit log cannot be written: %v", err)
	}
}

// wide warns if a file has permissions that it should not have.
func wide(r *report, name string, st os.FileInfo, not os.FileMode, why, do string) {
	if mode := st.Mode(); mode.Perm()&not != 0 && mode&os.ModeSticky == 0 {
		r.warn(do+plain.Quote(name), "%s has mode %04o and %s", plain.Quote(name), mode.Perm(), why)
	}
}

// Limits for the space and speed of a disk.
const (
	lowSpace  = 1 << 30
	noSpace   = 64 << 20
	slowSync  = 50 * time.Millisecond
	syncTries = 9
)

// disk measures the disk of the data directory: its space, and the time of a synced
// write, which each message waits for.
func (d *doctor) disk(ctx context.Context, r *report) {
	if d.location.Memory() {
		r.ok("nothing is kept on disk")
		return
	}
	dir := d.location.Data
	for { // the nearest directory that exists
		if st, err := os.Stat(dir); err == nil && st.IsDir() {
			break
		}
		above := filepath.Dir(dir)
		if above == dir {
			break
		}
		dir = above
	}
	took, err := syncTime(ctx, dir)
	if err != nil {
		r.problem("the directory must be writable: look at its mode and owner, and at the space that is left; --data names another", "%v", err)
		return
	}
	free, known := freeSpace(dir)
	judgeDisk(r, dir, free, known, took)
}

func judgeDisk(r *report, dir string, free int64, known bool, took time.Duration) {
	said := "a write of 4 KiB is on disk after " + elapsed(float64(took)/float64(time.Millisecond)) + fmt.Sprintf(" (median of %d)", syncTries)
	if known {
		said = plain.Bytes(free) + " free; " + said
	}
	switch {
	case known && free < noSpace:
		r.problem("make room: a full disk refuses every message", "%s: %s", plain.Quote(dir), said)
	case known && free < lowSpace:
		r.warn("make room, or let the server delete old tasks: --retain-completed 30d", "%s: %s", plain.Quote(dir), said)
	case took > slowSync:
		r.warn("every message waits for such writes: use a local disk, not a network file system, or --store with PostgreSQL", "%s: %s", plain.Quote(dir), said)
	default:
		r.ok("%s: %s", plain.Quote(dir), said)
	}
}

// syncTime returns the median time of a synced write to the disk of a directory. If the
// system allows it, the file has no name while it is written, so that nothing is left
// behind even after a crash.
func syncTime(ctx context.Context, dir string) (time.Duration, error) {
	f, err := os.CreateTemp(dir, ".parley-doctor-*")
	if err != nil {
		return 0, err
	}
	gone := os.Remove(f.Name()) == nil
	defer func() {
		_ = f.Close()
		if !gone {
			_ = os.Remove(f.Name())
		}
	}()
	page, took := make([]byte, 4096), make([]time.Duration, 0, syncTries)
	for i := range syncTries {
		began := time.Now()
		if _, err := f.WriteAt(page, int64(i)*int64(len(page))); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		if took = append(took, time.Since(began)); ctx.Err() != nil {
			break // slow enough
		}
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}

// database reports whether this program can use the database, and which process has it.
func (d *doctor) database(ctx context.Context, r *report) {
	if d.location.Memory() {
		r.ok("there is none: tasks are in memory")
		return
	}
	name := d.env.Stderr.Redact(d.location.String())
	db, err := d.location.Look(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		r.ok("%s is not there yet: the server will create it", name)
		return
	}
	if err != nil {
		d.db = new(database.State) // a database is there, but could not be read
		r.fail(storeFailure(d.location, err), "")
		return
	}
	d.db = db
	switch {
	case db.Refused != nil && db.Version > db.Knows:
		r.problem("use that version of parley, or another database", "%v", db.Refused)
		return
	case db.Refused != nil:
		r.fail(storeFailure(d.location, db.Refused), "")
		return
	case db.Version < db.Knows:
		r.warn("parley admin backup, or pg_dump, before the next start: there is no way back", "%s has schema %d: the server takes it to %d when it starts", name, db.Version, db.Knows)
	case db.Version > db.Knows:
		r.ok("%s has schema %d of a newer parley, which this one (%d) can work with", name, db.Version, db.Knows)
	default:
		r.ok("%s has schema %d, as this program has", name, db.Version)
	}
	switch {
	case db.Lossy == nil:
	case d.location.AllowAsyncCommit:
		r.warn("", "%v", db.Lossy)
	default:
		r.fail(storeFailure(d.location, db.Lossy), "")
	}
	if db.Kept != nil {
		if err := database.Imported(ctx, db.Kept); err != nil {
			r.fail(err, "")
		}
	}
	if db.Packing != nil {
		if done, of, err := db.Packing(ctx); err == nil && done < of {
			r.ok("a server packs tasks of an older version in the background: %d %% are done", 100*done/of)
		}
	}
	switch {
	case db.Users == "" || d.location.Shared():
	case d.running:
		r.ok("%s has it open, which is the server that answers at %s", db.Users, d.listen)
	default:
		r.problem("stop it first: one server at a time can have the file; or --data names another directory", "%s has it open, and no server answers at %s", db.Users, d.listen)
	}
}
