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

// Vault gives access to the small values of a database, the part of a Store that other
// programs may change while a server has the database open. It is safe for concurrent use.
type Vault struct {
	mu sync.Mutex // protects c, also during use
	c  *conn      // nil after Close
}

// vaultPatience is how long a Vault waits for its turn to write. It is longer than that of a
// Store, because a busy server leaves only short gaps between two commits, and callers of a
// Vault can wait.
var vaultPatience = 10 * time.Second // not constant, for tests

// OpenVault opens a database for Keep, Kept and Secret only, even while a Store has it open
// in this or another process. Writers take turns, and each sees at once what the others
// wrote. OpenVault does not create a database, nor migrate one of an older version; both are
// errors that say what to do. If there is no database, the error is fs.ErrNotExist.
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
	// As in Open, a database of another version is left as it is.
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
	// The Store's cleaner moves the log into the database, or the last connection to close:
	// SQLite knows whether that is this one.
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
	// Unlike the writer of a Store, this may wait for long, so ctx interrupts it. A
	// transaction that ends before its COMMIT did not happen. The interrupt stops its
	// ROLLBACK too, and an open transaction would keep the Store from writing, so roll back
	// here.
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

// Keep is Keep of store.Store.
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

// Kept is Kept of store.Store.
func (v *Vault) Kept(ctx context.Context) (all map[string][]byte, err error) {
	err = v.use(ctx, "kept", func(c *conn) (err error) {
		all, err = c.allKept()
		return err
	})
	return all, err
}

// Secret is Secret of store.Store.
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
