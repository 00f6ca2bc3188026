package postgres

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/parley-a2a/parley/store"
)

const (
	secretOf  = "SELECT s.value FROM parley.secret AS s WHERE s.name = $1"
	newSecret = "INSERT INTO parley.secret (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING"

	keptOf      = "SELECT k.value FROM parley.kept AS k WHERE k.name = $1"
	keptAll     = "SELECT k.name, k.value FROM parley.kept AS k"
	keepNew     = "INSERT INTO parley.kept (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING"
	keepInstead = "UPDATE parley.kept AS k SET value = $3 WHERE k.name = $1 AND k.value = $2"
	keepNothing = "DELETE FROM parley.kept AS k WHERE k.name = $1 AND k.value = $2"
)

// value reads the value with a name, or nil if there is none.
func value(ctx context.Context, q querier, sql, name string) (b []byte, err error) {
	if err = q.QueryRow(ctx, sql, arg(name)).Scan(&b); errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return b, err
}

// Secret implements store.Store.
func (d *db) Secret(ctx context.Context, name string) (secret []byte, err error) {
	err = d.read(ctx, func(ctx context.Context, q querier) (err error) {
		secret, err = value(ctx, q, secretOf, name)
		return err
	})
	if err == nil && secret == nil {
		fresh := make([]byte, store.SecretSize)
		rand.Read(fresh)
		err = d.write(ctx, func(ctx context.Context, tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, newSecret, arg(name), fresh); err != nil {
				return err
			}
			secret, err = value(ctx, tx, secretOf, name) // another process's, if that was first
			return err
		})
	}
	return secret, wrap("secret", err)
}

// Keep implements store.Store. If both was and is are nil it only reads.
func (d *db) Keep(ctx context.Context, name string, was, is []byte) (now []byte, err error) {
	if was == nil && is == nil {
		err = d.read(ctx, func(ctx context.Context, q querier) (err error) {
			now, err = value(ctx, q, keptOf, name)
			return err
		})
	} else {
		err = d.write(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
			now, err = swap(ctx, tx, name, was, is)
			return err
		})
	}
	return now, wrap("keep", err)
}

// swap is one attempt of Keep. If two run at once, the second waits for the first one's
// transaction and then sees the value that it stored.
func swap(ctx context.Context, tx pgx.Tx, name string, was, is []byte) ([]byte, error) {
	sql, args := keepInstead, []any{arg(name), was, is}
	switch {
	case was == nil:
		sql, args = keepNew, []any{arg(name), is}
	case is == nil:
		sql, args = keepNothing, []any{arg(name), was}
	}
	tag, err := tx.Exec(ctx, sql, args...)
	switch {
	case err != nil:
		return nil, err
	case tag.RowsAffected() == 0:
		return value(ctx, tx, keptOf, name)
	case is == nil:
		return nil, nil
	}
	return append([]byte{}, is...), nil
}

// Kept implements store.Store.
func (d *db) Kept(ctx context.Context) (map[string][]byte, error) {
	type kept struct {
		name  string
		value []byte
	}
	all, err := find(ctx, d, "kept", func(k *kept) []any { return []any{(*name)(&k.name), &k.value} }, keptAll)
	if err != nil {
		return nil, err
	}
	byName := map[string][]byte{}
	for _, k := range all {
		byName[k.name] = k.value
	}
	return byName, nil
}
