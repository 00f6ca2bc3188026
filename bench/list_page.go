package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// newLister finds the page to ask for, and asks for it once.
func (b *bench) newLister(ctx context.Context, srv *server, k setting) (*lister, error) {
	c, err := dial(ctx, srv.addr, wide, time.Now().Add(b.plan.limit+walkLimit))
	if err != nil {
		return nil, err
	}
	defer c.close()
	defer context.AfterFunc(ctx, c.close)()
	l := &lister{c: c, d: srv.of.dialect, ids: newIDs(0), least: pageSize}
	first, err := l.page(fmt.Sprintf(`{"pageSize":%d}`, pageSize))
	if err != nil {
		return nil, err
	}
	if len(first.Tasks) != pageSize || first.TotalSize < k.n {
		return nil, fmt.Errorf("the first page has %d tasks, of %d", len(first.Tasks), first.TotalSize)
	}
	// Servers in memory are filled with completed tasks only, and within minutes.
	f, state := &facts{Since: time.Now().Add(-24 * time.Hour).UTC().Truncate(time.Millisecond)}, "TASK_STATE_COMPLETED"
	if srv.of.data {
		state = "TASK_STATE_FAILED"
		if f, err = b.factsOf(srv.of, k.n); err != nil {
			return nil, err
		}
	}
	filter := ""
	inContext := func(id string) {
		filter += fmt.Sprintf(`,"contextId":%q`, id)
		l.each = append(l.each, `"contextId":"`+id+`"`)
	}
	inState := func() {
		filter += fmt.Sprintf(`,"status":%q`, state)
		l.each = append(l.each, `"state":"`+state+`"`)
	}
	since := func() {
		filter += fmt.Sprintf(`,"statusTimestampAfter":%q`, f.Since.Format("2006-01-02T15:04:05.000Z"))
		l.since = f.Since
	}
	switch k.what {
	case listDeep:
		if err := b.middle(ctx, l, srv, k.n, f, first); err != nil {
			return nil, err
		}
		filter = fmt.Sprintf(`,"pageToken":%q`, f.Middle)
	case listContext:
		for _, t := range first.Tasks { // any but the large one
			if t.ContextID != f.Large {
				inContext(t.ContextID)
				break
			}
		}
		l.least = 1
	case listLarge:
		inContext(f.Large)
	case listState:
		inState()
	case listLargeState:
		inContext(f.Large)
		inState()
	case listSince:
		since()
	case listSinceState:
		since()
		inState()
	}
	l.params = fmt.Sprintf(`{"pageSize":%d%s}`, pageSize, filter)
	p, err := l.page(l.params)
	if err != nil {
		return nil, err
	}
	l.total = p.TotalSize
	return l, errors.Join(l.check(p), plausible(srv, k, p.TotalSize))
}

// plausible judges how many tasks a list of a stock says there are. Tasks that were
// sent since the stock was made have completed.
func plausible(srv *server, k setting, total int) error {
	if !srv.of.data {
		return nil
	}
	const sent = 1000 // by (h), one for each start
	want, more := k.n, sent
	switch k.what {
	case listContext:
		want, more = 1, 3
	case listLarge:
		want, more = k.n/10, 4
	case listState:
		want, more = k.n/4, 0
	case listLargeState:
		want, more = k.n/40, 1
	case listSince:
		want = k.n / 2
	case listSinceState:
		want, more = k.n/8, 1
	}
	if total < want || total > want+more {
		return fmt.Errorf("%s: it says %d tasks, and there should be %d to %d", k.what, total, want, want+more)
	}
	return nil
}

const (
	walked    = 100             // tasks a page on the way to one in the middle: the most there can be
	walkLimit = 5 * time.Minute // for that way
)

// middle finds the token of the page in the middle: by asking for all pages before
// it, once for each stock.
func (b *bench) middle(ctx context.Context, l *lister, srv *server, n int, f *facts, first *page) error {
	if f.Middle != "" {
		return nil
	}
	fmt.Fprintf(b.say, "    the page in the middle of %s tasks is looked for\n", thousands(n))
	began := time.Now()
	token := first.NextPageToken
	for seen := pageSize; seen < n/2; {
		p, err := l.page(fmt.Sprintf(`{"pageSize":%d,"pageToken":%q}`, walked, token))
		if err != nil {
			return err
		}
		if len(p.Tasks) == 0 || p.NextPageToken == "" || ctx.Err() != nil {
			return fmt.Errorf("the pages end after %d of %d tasks", seen, n)
		}
		if time.Since(began) > walkLimit {
			return lacks(fmt.Sprintf("the page in the middle was not reached in %v, but %s tasks of %s", walkLimit, thousands(seen), thousands(n)))
		}
		seen, token = seen+len(p.Tasks), p.NextPageToken
	}
	f.Middle = token
	if srv.of.data {
		return b.note(srv.of, n, f) // the key of tokens is in the database
	}
	return nil
}
