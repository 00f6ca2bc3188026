package database

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/archive"
	"github.com/parley-a2a/parley/store/postgres"
	"github.com/parley-a2a/parley/store/sqlite"
)

// Store is an open database. The methods beyond store.Store are for operators; a server does
// not need them.
type Store interface {
	store.Store
	AllPushes(ctx context.Context, after int64, limit int) ([]store.PushState, error)
	AllNodes(ctx context.Context) ([]store.NodeState, error)
	AllNamed(ctx context.Context, id string, limit int) ([]store.Key, error)
	AllWork(ctx context.Context, idle []int32) ([]store.Work, error)
}

// Open opens the database for a server, or for a command that has exclusive use, and creates
// it if there is none. The caller closes it.
func (p *Location) Open(ctx context.Context, log *slog.Logger, overwrite bool) (Store, error) {
	switch {
	case p.Address != "":
		return nilOnError(postgres.Open(ctx, p.Address, &postgres.Options{Logger: log, Migrating: p.Migrating, AllowAsyncCommit: p.AllowAsyncCommit}))
	case p.File != "":
		return nilOnError(sqlite.Open(p.File, &sqlite.Options{Logger: log, Overwrite: overwrite, Migrating: p.Migrating}))
	}
	return store.NewMemory(), nil
}

// forCommand returns the location for a command, which does not check whether the database
// may lose acknowledged commits: that is checked when a server starts.
func (p *Location) forCommand() *Location {
	q := *p
	q.AllowAsyncCommit = true
	return &q
}

// nilOnError keeps a nil pointer from becoming an interface that is not nil.
func nilOnError[D Store](d D, err error) (Store, error) {
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Reader is an open database for commands that only read it.
type Reader interface {
	archive.Source
	Idle(ctx context.Context, q store.IdleQuery) ([]store.Row, error)
	AllPushes(ctx context.Context, after int64, limit int) ([]store.PushState, error)
	Close() error
}

// OpenBeside opens an existing database for reading, while servers may use it.
func (p *Location) OpenBeside(ctx context.Context) (Reader, error) {
	if p.Address != "" {
		return p.openThere(ctx)
	}
	r, err := sqlite.OpenReader(p.File)
	if err != nil {
		return nil, p.Absent(err)
	}
	return r, nil
}

// openThere opens an existing PostgreSQL database.
func (p *Location) openThere(ctx context.Context) (*postgres.Store, error) {
	st, err := postgres.Open(ctx, p.Address, &postgres.Options{Existing: true})
	if err != nil {
		return nil, p.Absent(err)
	}
	return st, nil
}

// OpenAlone opens an existing database for commands that change it. It fails while a server
// uses the database, because the server would not notice that its tasks are deleted.
func (p *Location) OpenAlone(ctx context.Context, overwrite bool) (Store, error) {
	if p.Address != "" {
		st, err := p.openThere(ctx)
		if err != nil {
			return nil, err
		}
		if err := p.unserved(ctx, st); err != nil {
			return nil, errors.Join(err, st.Close())
		}
		return st, nil
	}
	r, err := sqlite.OpenReader(p.File) // creates nothing if there is no database
	if err != nil {
		return nil, p.Absent(err)
	}
	if err := r.Close(); err != nil {
		return nil, err
	}
	return p.OpenOrMake(ctx, overwrite)
}

// OpenOrMake is OpenAlone for commands that may create the database.
func (p *Location) OpenOrMake(ctx context.Context, overwrite bool) (Store, error) {
	st, err := p.forCommand().Open(ctx, nil, overwrite)
	if err == nil {
		if pg, ok := st.(*postgres.Store); ok {
			if err := p.unserved(ctx, pg); err != nil {
				return nil, errors.Join(err, st.Close())
			}
		}
		return st, nil
	}
	if strings.Contains(err.Error(), "in use by") {
		return nil, failure.New(failure.CodeAdmin, err.Error(), err).WithHint("%s", aloneHint)
	}
	return nil, p.Absent(err)
}

const aloneHint = "stop the server first. backup and export work beside it; so do gc and push redeliver, if you are the server's user. To delete old tasks without stopping: parley serve --retain-completed"

// aliveFor is how long a silent server counts as running. It is longer than any --dead-after
// should be, which is not known here.
const aliveFor = time.Minute

// unserved returns an error if a server uses the database.
func (p *Location) unserved(ctx context.Context, st *postgres.Store) error {
	alive, err := st.Living(ctx, aliveFor)
	if err != nil || len(alive) == 0 {
		return err
	}
	return failure.New(failure.CodeAdmin, p.String()+" is in use by "+plain.Count(len(alive), "server")+" ("+plain.Line(strings.Join(alive, ", "))+")", nil).
		WithHint("stop all servers for it; one that was killed counts for a minute. A server deletes by itself with --retain-completed, --retain-failed and --retain-waiting, and export works beside it")
}

// Absent returns the failure of a command that finds no usable database.
func (p *Location) Absent(err error) error {
	f := failure.New(failure.CodeAdmin, err.Error(), err)
	f.Hint = p.Hint(err)
	switch {
	case errors.Is(err, fs.ErrPermission):
		f.Hint = "run it as the user of the server, or as root"
	case f.Hint != "":
	case p.Address == "":
		f.Hint = "--data names the directory that parley serve keeps its tasks in, --store the file"
	case errors.Is(err, fs.ErrNotExist):
		f.Hint = "a server makes what it needs when it starts; --store, or " + Env + ", has the address"
	default:
		f.Hint = "--store, or " + Env + ", has the address"
	}
	return f
}

// Vault keeps API keys.
type Vault interface {
	Keep(ctx context.Context, name string, was, is []byte) ([]byte, error)
	Kept(ctx context.Context) (map[string][]byte, error)
	Close() error
}

// Vault opens the part of a database that holds API keys, even while servers use it. makes
// means that the database is created if there is none.
func (p *Location) Vault(ctx context.Context, makes bool) (Vault, error) {
	if p.Address != "" {
		v, err := postgres.OpenVault(ctx, p.Address)
		switch {
		case err == nil:
			return v, nil
		case makes && errors.Is(err, fs.ErrNotExist):
			return p.forCommand().Open(ctx, nil, false)
		}
		return nil, p.Absent(err)
	}
	v, err := sqlite.OpenVault(p.File)
	if makes && errors.Is(err, fs.ErrNotExist) {
		if err := beginDatabase(p.File); err != nil {
			return nil, err
		}
		v, err = sqlite.OpenVault(p.File)
	}
	if err != nil {
		return nil, p.Absent(err)
	}
	return v, nil
}

// beginDatabase creates a database, so that the first key can be created before the server's
// first start.
func beginDatabase(file string) error {
	st, err := sqlite.Open(file, nil)
	if errors.Is(err, store.ErrBusy) {
		return nil // a server is creating it
	} else if err != nil {
		return err
	}
	return st.Close()
}

// Imported fails if an import into the database did not finish. kept is Kept of the
// database.
func Imported(ctx context.Context, kept func(context.Context) (map[string][]byte, error)) error {
	all, err := kept(ctx)
	if err != nil {
		return err
	}
	if all[archive.Mark] == nil {
		return nil
	}
	return failure.New(failure.CodeServe, "an import into this database was not finished: its tasks are not all there", nil).
		WithHint("run parley admin import again, with the same export")
}
