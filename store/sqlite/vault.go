package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/parley-a2a/parley/store"
)

// Vault is what a database keeps beside tasks: the part of a Store that
// programs may change while a server has the database open. It may be used by
// any number of goroutines.
type Vault struct {
	mu sync.Mutex // protects c, also while it is used
	c  *conn      // nil after Close
}

// vaultPatience is how long a Vault tries to get its turn to write. It is longer
// than that of a Store: a server under load leaves only short gaps between two
// commits, and whoever uses a Vault has the time.
var vaultPatience = 10 * time.Second // not constant, for tests

// OpenVault opens a database for Keep, Kept and Secret only, also while a Store
// has it open in this or another process: writers take turns, and each sees at
// once what the other one wrote. It does not make a database, nor change the
// schema of one that an older version wrote; both are errors that say what to
// do. Without a database it is fs.ErrNotExist.
func OpenVault(path string) (*Vault, error) {
	v, err := openVault(path, &current)
	if err != nil {
		return nil, classified(err)
	}
	return v, nil
}

func openVault(path string, sc *schema) (_ *Vault, err error) {
	if path, err = existing(path); err != nil {
		return nil, err
	}
	// As for a Store: one of another version is left as it is.
	if err := inspect(path, sc); err != nil {
		return nil, err
	}
	c, err := openConn(path, "rw")
	if err != nil {
		return nil, fmt.Errorf("sqlite: open %s: %w", path, err)
	}
	version, err := c.pragma("user_version")
	if err == nil && version < sc.version() {
		err = fmt.Errorf("it was written by an older version of this program (schema %d, this one has %d); start a server of this version with it once", version, sc.version())
	}
	// The cleaner of the Store moves the log into the database, or who closes it
	// last: SQLite knows if that is us.
	if err == nil {
		err = c.Exec(durable + "PRAGMA wal_autocheckpoint = 0; PRAGMA temp_store = MEMORY; PRAGMA secure_delete = FAST")
	}
	if err == nil {
		err = c.BusyTimeout(vaultPatience)
	}
	if err != nil {
		c.close()
		return nil, fmt.Errorf("sqlite: open %s: %w", path, err)
	}
	return &Vault{c: c}, nil
}

// use calls f with the connection.
func (v *Vault) use(ctx context.Context, what string, f func(*conn) error) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.c == nil {
		return store.ErrClosed
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	// Unlike the writer of a Store it may wait for long. A transaction that ends
	// before COMMIT did not happen. Its ROLLBACK is interrupted, too, and open it
	// would keep the Store from writing.
	v.c.SetInterrupt(ctx)
	defer func() {
		v.c.SetInterrupt(context.Background())
		v.c.rollback()
	}()
	err := f(v.c)
	if ctx.Err() != nil && (errors.Is(err, sqlite3.INTERRUPT) || errors.Is(err, sqlite3.BUSY)) {
		return context.Cause(ctx)
	}
	return wrap(what, err)
}

// Keep is that of store.Store.
func (v *Vault) Keep(ctx context.Context, name string, was, is []byte) (now []byte, err error) {
	err = v.use(ctx, "keep", func(c *conn) (err error) {
		if was == nil && is == nil {
			now, err = c.kept(name)
		} else {
			now, err = c.swap(name, was, is)
		}
		return err
	})
	return now, err
}

// Kept is that of store.Store.
func (v *Vault) Kept(ctx context.Context) (all map[string][]byte, err error) {
	err = v.use(ctx, "kept", func(c *conn) (err error) {
		all, err = c.allKept()
		return err
	})
	return all, err
}

// Secret is that of store.Store.
func (v *Vault) Secret(ctx context.Context, name string) (secret []byte, err error) {
	err = v.use(ctx, "secret", func(c *conn) (err error) {
		secret, err = c.secret(name)
		return err
	})
	return secret, err
}

// Close ends the vault. Calling it again does nothing.
func (v *Vault) Close() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	c := v.c
	if v.c = nil; c == nil {
		return nil
	}
	return wrap("close", c.close())
}
