package postgres

import (
	"context"
	"sync"
)

// Vault gives access to the small values of a database, the part of a Store that other
// programs may change while servers have the database open. It is safe for concurrent use.
type Vault struct {
	*db
	close func()
}

// OpenVault opens a database for Keep, Kept and Secret only. It does not create the schema,
// nor migrate one of an older version; both are errors that say what to do. Without a schema,
// the error is fs.ErrNotExist.
func OpenVault(ctx context.Context, address string) (*Vault, error) {
	return openVault(ctx, address, &current)
}

func openVault(ctx context.Context, address string, sc *schema) (*Vault, error) {
	d, err := connect(ctx, address, &Options{Conns: 2, NoListen: true})
	if err != nil {
		return nil, err
	}
	if err := sc.exists(ctx, d); err != nil {
		d.pool.Close()
		return nil, wrap("open", err)
	}
	over, end := context.WithCancel(context.Background())
	d.over = over
	return &Vault{db: d, close: sync.OnceFunc(func() {
		end()
		d.pool.Close()
	})}, nil
}

// Close ends the vault. Calling it again does nothing.
func (v *Vault) Close() error {
	v.close()
	return nil
}
