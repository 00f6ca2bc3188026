package topic

import (
	"context"
	"time"

	"github.com/parley-a2a/parley/store"
)

// alone is the others of a process that has the store to itself: the store is asked.
type alone struct{ ts *Topics }

func (alone) joined(*Topic)        {}
func (alone) left(*Topic)          {}
func (alone) every() time.Duration { return poll }

func (a alone) entries(ctx context.Context, t *Topic, cursor int64) ([]Entry, <-chan struct{}, error) {
	if err := a.ts.read.MakeRoomFor(ctx, t.Key); err != nil {
		return nil, nil, err
	}
	some, err := a.ts.behind(ctx, t.Key, cursor)
	return t.published(some), nil, err
}

func (a alone) row(ctx context.Context, t *Topic) (*store.Row, error) {
	rec, err := a.ts.store.Get(ctx, t.Key, store.RowOnly)
	if err != nil {
		return nil, a.ts.read.Unread(ctx, err, t.Key)
	}
	return &rec.Row, nil
}
