package postgres

import (
	"context"
	"sync"
)

// keyBlock is how many keys a value of a sequence stands for: with v come those
// from (v-1)*keyBlock+1 to v*keyBlock. Unused ones are left out.
const keyBlock = 1024

// keys gives out the keys of new rows of a table.
type keys struct {
	sequence string

	mu         sync.Mutex // protects the fields below
	next, last int64
}

// take returns n keys that nobody else gets, n at most keyBlock: the first of
// them, and so on. The rest of a block that is too short is left out.
func (k *keys) take(ctx context.Context, d *db, n int) (first int64, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.next == 0 || k.next+int64(n)-1 > k.last {
		var v int64
		err := d.read(ctx, func(ctx context.Context, q querier) error { // one more value does no harm
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

// drop leaves the rest of a block out: a key of it was somebody else's. A standby that
// takes over without the last commits gives them out again.
func (k *keys) drop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.next = 0
}
