package main

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"strings"
	"time"

	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/postgres"
	"github.com/parley-a2a/parley/store/sqlite"
)

// database is what commands do with the tasks of a server, beyond what a server
// does itself.
type database interface {
	store.Store
	AllPushes(ctx context.Context, after int64, limit int) ([]store.PushState, error)
}

// open opens it for a server, or for who has it alone, and makes it if it is not
// there. Of memory there is none.
func (p *location) open(ctx context.Context, log *slog.Logger, overwrite bool) (database, error) {
	switch {
	case p.address != "":
		return nilOnError(postgres.Open(ctx, p.address, &postgres.Options{Logger: log}))
	case p.file != "":
		return nilOnError(sqlite.Open(p.file, &sqlite.Options{Logger: log, Overwrite: overwrite}))
	}
	return nil, nil
}

// nilOnError keeps a nil pointer from becoming an interface that is not nil.
func nilOnError[D database](d D, err error) (database, error) {
	if err != nil {
		return nil, err
	}
	return d, nil
}

// reader is a database for commands that only read it.
type reader interface {
	store.Source
	Idle(ctx context.Context, q store.IdleQuery) ([]store.Row, error)
	AllPushes(ctx context.Context, after int64, limit int) ([]store.PushState, error)
	Close() error
}

// openBeside opens a database that is there, beside servers that may have it.
func (p *location) openBeside(ctx context.Context) (reader, error) {
	if p.address != "" {
		return p.openThere(ctx)
	}
	r, err := sqlite.OpenReader(p.file)
	if err != nil {
		return nil, p.absent(err)
	}
	return r, nil
}

// openThere opens a database of PostgreSQL that has been made.
func (p *location) openThere(ctx context.Context) (*postgres.Store, error) {
	st, err := postgres.Open(ctx, p.address, &postgres.Options{Existing: true})
	if err != nil {
		return nil, p.absent(err)
	}
	return st, nil
}

// openAlone opens a database that is there for commands that change it. A server
// must not have it: it would not see that its tasks are gone.
func (p *location) openAlone(ctx context.Context, overwrite bool) (database, error) {
	if p.address != "" {
		st, err := p.openThere(ctx)
		if err != nil {
			return nil, err
		}
		if err := p.unserved(ctx, st); err != nil {
			return nil, errors.Join(err, st.Close())
		}
		return st, nil
	}
	r, err := sqlite.OpenReader(p.file) // which makes nothing where nothing is
	if err != nil {
		return nil, p.absent(err)
	}
	if err := r.Close(); err != nil {
		return nil, err
	}
	return p.openOrMake(ctx, overwrite)
}

// openOrMake is openAlone for commands that may begin a database.
func (p *location) openOrMake(ctx context.Context, overwrite bool) (database, error) {
	st, err := p.open(ctx, nil, overwrite)
	if err == nil {
		if pg, ok := st.(*postgres.Store); ok {
			if err := p.unserved(ctx, pg); err != nil {
				return nil, errors.Join(err, st.Close())
			}
		}
		return st, nil
	}
	f := newFailure(codeAdmin, err.Error(), err)
	if strings.Contains(err.Error(), "in use by") {
		return nil, f.withHint("%s", aloneHint)
	}
	if f.Hint = p.hint(err); f.Hint == "" {
		f.Hint = p.names()
	}
	return nil, f
}

const aloneHint = "stop the server for it; a server deletes by itself with --retain-completed, --retain-failed and --retain-waiting, and backup and export work beside it"

// aliveFor is how long a server that says nothing more counts as one that runs.
// It is longer than any --dead-after should be, which is not known here.
const aliveFor = time.Minute

// unserved wants no server to be at work with a database.
func (p *location) unserved(ctx context.Context, st *postgres.Store) error {
	alive, err := st.Living(ctx, aliveFor)
	if err != nil || len(alive) == 0 {
		return err
	}
	return newFailure(codeAdmin, p.String()+" is in use by "+plural(len(alive), "server")+" ("+cleanLine(strings.Join(alive, ", "))+")", nil).
		withHint("stop all servers for it; one that was killed counts for a minute. A server deletes by itself with --retain-completed, --retain-failed and --retain-waiting, and export works beside it")
}

// names says which option says where it is.
func (p *location) names() string {
	if p.address != "" {
		return "--store, or " + storeEnv + ", has the address"
	}
	return "--data names the directory"
}

func (p *location) absent(err error) error {
	f := newFailure(codeAdmin, err.Error(), err)
	if f.Hint = p.hint(err); p.address == "" {
		return f.withHint("--data names the directory that parley serve keeps its tasks in, --store the file")
	}
	if f.Hint == "" && errors.Is(err, fs.ErrNotExist) {
		f.Hint = "a server makes what it needs when it starts; --store, or " + storeEnv + ", has the address"
	}
	return f
}

// vault is where keys are, beside a server.
type vault interface {
	Keep(ctx context.Context, name string, was, is []byte) ([]byte, error)
	Kept(ctx context.Context) (map[string][]byte, error)
	Close() error
}

// vault opens what is kept beside tasks, also while servers run. makes says that
// it begins a database where there is none.
func (p *location) vault(ctx context.Context, makes bool) (vault, error) {
	if p.address != "" {
		v, err := postgres.OpenVault(ctx, p.address)
		switch {
		case err == nil:
			return v, nil
		case makes && errors.Is(err, fs.ErrNotExist):
			return p.open(ctx, nil, false)
		}
		return nil, p.absent(err)
	}
	v, err := sqlite.OpenVault(p.file)
	if makes && errors.Is(err, fs.ErrNotExist) {
		if err := beginDatabase(p.file); err != nil {
			return nil, err
		}
		v, err = sqlite.OpenVault(p.file)
	}
	if err != nil {
		return nil, p.absent(err)
	}
	return v, nil
}

// beginDatabase makes a database, so that the first key can be made before the
// first start of the server.
func beginDatabase(file string) error {
	st, err := sqlite.Open(file, nil)
	if errors.Is(err, store.ErrBusy) {
		return nil // a server makes it at this moment
	} else if err != nil {
		return err
	}
	return st.Close()
}
