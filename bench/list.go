package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// list is scenario (g): ListTasks of 50 tasks, of stores that differ by a factor
// of 100 in size.
type list struct{}

// ways to list.
const (
	listFirst   = "first page"
	listDeep    = "page in the middle"
	listContext = "of a context"
	listState   = "of a state"
)

var listWays = []string{listFirst, listDeep, listContext, listState}

func (list) about() about {
	a := about{key: "g", title: "ListTasks, 50 a page", unit: "calls/s", done: "call"}
	for _, what := range listWays {
		a.bars = append(a.bars, compared(listLabel(what, 1_000_000), listLabel(what, 10_000), 0.5))
	}
	return a
}

func (list) cases(p *plan) []setting {
	sizes, conns := []int{10_000, 100_000, 1_000_000}, 64
	if p.short {
		sizes, conns = []int{500, 5000}, 4
	}
	var all []setting
	for _, what := range listWays {
		for _, n := range sizes {
			all = append(all, setting{label: listLabel(what, n), conns: conns, n: n, what: what})
		}
	}
	return all
}

func listLabel(what string, n int) string { return what + ", " + thousands(n) + " tasks" }

// mostForPeers are the tasks that servers in memory are filled with, which goes
// over the network, at some hundreds a second with some.
const mostForPeers = 10_000

func (list) open(ctx context.Context, b *bench, of *contender, k setting) (bout, error) {
	var srv *server
	var err error
	switch {
	case of.data:
		var dir string
		if dir, err = b.stocked(ctx, k.n); err == nil {
			srv, err = of.startOn(ctx, dir)
		}
	case k.n > mostForPeers:
		return nil, lacks(fmt.Sprintf("servers in memory are filled with up to %s tasks", thousands(mostForPeers)))
	default:
		srv, _, err = b.filled(ctx, of, k.n)
	}
	if err != nil {
		return nil, err
	}
	l, err := newLister(ctx, b, srv, k)
	if err != nil {
		err = srv.blame(err)
		if of.data {
			srv.stop()
		}
		return nil, err
	}
	return &loadBout{kept: srv, shared: !of.data, load: func(srv *server) *load {
		return b.load(k, func(ctx context.Context, i int, until time.Time) (worker, error) {
			c, err := dial(ctx, srv.addr, wide, until)
			if err != nil {
				return nil, err
			}
			own := *l
			own.c, own.ids = c, newIDs(i)
			return &own, nil
		})
	}}, nil
}

// lister asks for one page again and again.
type lister struct {
	c      *conn
	d      *dialect
	ids    ids
	q      call
	params string
	least  int    // tasks that the page has
	each   string // what the JSON of each of them has
}

// page is what is read of an answer.
type page struct {
	Tasks         []task
	NextPageToken string
	TotalSize     int
}

const (
	pageSize = 50
	walked   = 100 // tasks a page on the way to one in the middle: the most there can be
)

// newLister finds the page to ask for.
func newLister(ctx context.Context, b *bench, srv *server, k setting) (*lister, error) {
	// A page in the middle is found by asking for all before it, even if each
	// takes what a list of 1,000,000 tasks takes that are counted for it.
	limit := b.plan.limit + time.Duration(k.n/2/walked)*250*time.Millisecond
	c, err := dial(ctx, srv.addr, wide, time.Now().Add(limit))
	if err != nil {
		return nil, err
	}
	defer c.close()
	defer context.AfterFunc(ctx, c.close)()
	l := &lister{c: c, d: srv.of.dialect, ids: newIDs(0), params: fmt.Sprintf(`{"pageSize":%d}`, pageSize), least: pageSize}
	first, err := l.page()
	if err != nil {
		return nil, err
	}
	if len(first.Tasks) != pageSize {
		return nil, fmt.Errorf("the first page has %d tasks", len(first.Tasks))
	}
	switch k.what {
	case listDeep:
		token := first.NextPageToken
		for seen := pageSize; seen < k.n/2; {
			l.params = fmt.Sprintf(`{"pageSize":%d,"pageToken":%q}`, walked, token)
			p, err := l.page()
			if err != nil {
				return nil, err
			}
			if len(p.Tasks) == 0 || p.NextPageToken == "" || ctx.Err() != nil {
				return nil, fmt.Errorf("the pages end after %d of %d tasks", seen, k.n)
			}
			seen, token = seen+len(p.Tasks), p.NextPageToken
		}
		l.params = fmt.Sprintf(`{"pageSize":%d,"pageToken":%q}`, pageSize, token)
	case listContext:
		in := first.Tasks[pageSize/2].ContextID
		l.params = fmt.Sprintf(`{"pageSize":%d,"contextId":%q}`, pageSize, in)
		l.least, l.each = 1, `"contextId":"`+in+`"`
	case listState:
		// Servers in memory are filled with completed tasks only.
		state := "TASK_STATE_FAILED"
		if !srv.of.data {
			state = "TASK_STATE_COMPLETED"
		}
		l.params = fmt.Sprintf(`{"pageSize":%d,"status":%q}`, pageSize, state)
		l.each = `"state":"` + state + `"`
	}
	p, err := l.page()
	if err == nil && len(p.Tasks) < l.least {
		err = fmt.Errorf("a page of %d tasks", len(p.Tasks))
	}
	return l, err
}

func (l *lister) page() (*page, error) {
	id := l.ids.next()
	l.d.listing(&l.q, id, l.params)
	answer, err := l.c.do(&l.q)
	if err != nil {
		return nil, err
	}
	var a struct {
		ID     string
		Result *page
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return nil, fmt.Errorf("%w: %.200q", err, answer)
	}
	if a.Result == nil || a.ID != id {
		return nil, fmt.Errorf("the answer to %s is no page: %.400q", id, answer)
	}
	return a.Result, nil
}

func (l *lister) do(_ context.Context, n int) (int, error) {
	if n%thorough == 0 {
		p, err := l.page()
		if err == nil && len(p.Tasks) < l.least {
			err = fmt.Errorf("a page of %d tasks", len(p.Tasks))
		}
		return 1, err
	}
	id := l.ids.next()
	l.d.listing(&l.q, id, l.params)
	answer, err := l.c.do(&l.q)
	if err != nil {
		return 0, err
	}
	text := string(answer)
	// Every task has one status, and its context at least once.
	if !has(answer, `"id":"`, id, `"`) || strings.Count(text, `"status":{`) < l.least || l.each != "" && strings.Count(text, l.each) < l.least {
		return 0, fmt.Errorf("the answer to %s is not the page that was asked for: %.400q", id, answer)
	}
	return 1, nil
}

func (l *lister) close() { l.c.close() }
