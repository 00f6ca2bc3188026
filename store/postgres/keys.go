package postgres

import (
	"context"
	"sync"
)

// keyBlock is how many keys one value of a sequence stands for: v stands for the keys
// (v-1)*keyBlock+1 to v*keyBlock. Unused ones are skipped.
const keyBlock = 1024

// keys assigns the keys of new rows of a table.
type keys struct {
	sequence string

	mu        sync.Mutex // protects the fields below
	next, end int64      // the rest of the current block; empty if they are equal
}

// take returns a key that no other row gets. If the current block is used up, it gets another
// one by way of again: db.again, or one that is more patient.
func (k *keys) take(ctx context.Context, d *db, again func(context.Context, func(context.Context) error) error) (int64, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.next == k.end {
		var v int64
		err := again(ctx, func(ctx context.Context) error { // wasting a value does no harm
			return d.pool.QueryRow(ctx, "SELECT nextval('parley."+k.sequence+"')").Scan(&v)
		})
		if err != nil {
			return 0, err
		}
		k.next, k.end = (v-1)*keyBlock+1, v*keyBlock+1
	}
	k.next++
	return k.next - 1, nil
}

// drop skips the rest of the block, because one of its keys was already in use. This happens
// if a standby takes over without the last commits, and so repeats values of the sequence.
func (k *keys) drop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.next = k.end
}
