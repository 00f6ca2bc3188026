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

	mu         sync.Mutex // protects the fields below
	next, last int64
}

// take returns the first of n consecutive keys that no other row gets; n is at most keyBlock.
// If the current block has too few left, they are skipped.
func (k *keys) take(ctx context.Context, d *db, n int) (first int64, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.next == 0 || k.next+int64(n)-1 > k.last {
		var v int64
		err := d.read(ctx, func(ctx context.Context, q querier) error { // wasting a value does no harm
			return q.QueryRow(ctx, "SELECT nextval('parley."+k.sequence+"')").Scan(&v)
		})
		if err != nil {
			return 0, err
		}
		k.next, k.last = (v-1)*keyBlock+1, v*keyBlock
	}
	first = k.next
	k.next += int64(n)
	return first, nil
}

// drop skips the rest of the block, because one of its keys was already in use. This happens
// if a standby takes over without the last commits, and so repeats values of the sequence.
func (k *keys) drop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.next = 0
}
