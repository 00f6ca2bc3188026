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
	listFirst      = "first page"
	listDeep       = "page in the middle"
	listContext    = "of a context"
	listLarge      = "of a large context"
	listState      = "of a state"
	listLargeState = "of a large context and a state"
	listSince      = "since half of them"
	listSinceState = "since half of them and of a state"
)

var listWays = []string{listFirst, listDeep, listContext, listLarge, listState, listLargeState, listSince, listSinceState}

func (list) about() about {
	a := about{key: "g", title: "ListTasks, 50 a page", unit: "calls/s", done: "call"}
	for _, what := range listWays {
		a.bars = append(a.bars, compared(listLabel(what, 1_000_000), listLabel(what, 10_000), 0.5))
	}
	for _, what := range listWays {
		large, small := listLabel(what, 1_000_000), listLabel(what, 10_000)
		a.bars = append(a.bars, between("on PostgreSQL, "+large+" × "+small, need{parleyShared, large}, need{parleyShared, small}, 0.5))
	}
	return a
}

func (list) cases(p *plan) []setting {
	sizes, conns := []int{10_000, 100_000, 1_000_000}, 64
	if p.short {
		sizes, conns = []int{2000, 5000}, 4
	}
	var all []setting
	for _, what := range listWays {
		for _, n := range sizes {
			all = append(all, setting{label: listLabel(what, n), conns: conns, n: n, what: what, turn: what})
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
		srv, err = b.stockServer(ctx, of, k.n)
	case k.n > mostForPeers:
		return nil, lacks(fmt.Sprintf("servers in memory are filled with up to %s tasks", thousands(mostForPeers)))
	case k.what == listLarge, k.what == listLargeState:
		return nil, lacks("servers in memory are filled with small contexts only")
	default:
		srv, _, err = b.filled(ctx, of, k.n)
	}
	if err != nil {
		return nil, err
	}
	l, err := b.newLister(ctx, srv, k)
	if err != nil {
		return nil, srv.blame(err)
	}
	return &loadBout{kept: srv, shared: true, load: func(srv *server) *load {
		return b.load(k, func(ctx context.Context, i int, until time.Time) (worker, error) {
			c, err := dial(ctx, srv.addr, wide, until)
			if err != nil {
				return nil, err
			}
			own := *l
			own.c, own.ids, own.q = c, newIDs(i), call{} // the buffer of q would be shared
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
	least  int       // tasks that the page has
	each   []string  // what the JSON of each of them has
	since  time.Time // none of them is older
	total  int       // tasks there are, that the answer names
}

// page is what is read of an answer.
type page struct {
	Tasks         []task
	NextPageToken string
	TotalSize     int
}

const pageSize = 50

// page asks for one and reads all of it.
func (l *lister) page(params string) (*page, error) {
	id := l.ids.next()
	l.d.listing(&l.q, id, params)
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

// check looks at a page that was read.
func (l *lister) check(p *page) error {
	if len(p.Tasks) < l.least {
		return fmt.Errorf("a page of %d tasks", len(p.Tasks))
	}
	if p.TotalSize != l.total {
		return fmt.Errorf("a page that says %d tasks where there are %d", p.TotalSize, l.total)
	}
	for _, t := range p.Tasks {
		if at, err := time.Parse(time.RFC3339, t.Status.Timestamp); err != nil || at.Before(l.since) {
			return fmt.Errorf("task %s is of %s, and asked for were those since %s", t.ID, t.Status.Timestamp, l.since)
		}
	}
	return nil
}

func (l *lister) do(_ context.Context, n int) (int, error) {
	if n%thorough == 0 {
		p, err := l.page(l.params)
		if err == nil {
			err = l.check(p)
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
	right := has(answer, `"id":"`, id, `"`) && strings.Count(text, `"status":{`) >= l.least
	for _, each := range l.each {
		right = right && strings.Count(text, each) >= l.least
	}
	if !right {
		return 0, fmt.Errorf("the answer to %s is not the page that was asked for: %.400q", id, answer)
	}
	return 1, nil
}

func (l *lister) close() { l.c.close() }
