package serve

import (
	"context"
	"reflect"
	"sync"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// The card of some agents comes from another process: an A2A agent or an MCP server. It
// is fetched at the start, retried until there is an answer, and then fetched
// regularly.
const (
	fetchTime  = 5 * time.Second // limit of one fetch
	fetchFirst = time.Second     // pause after the first fetch without an answer; it doubles with each
	fetchLast  = time.Minute     // longest such pause
	fetchEvery = 10 * time.Minute
)

// fetched is the outcome of a fetch.
type fetched struct {
	of   *instance
	card a2a.AgentCard
	err  error
}

// fetchCards fetches the cards of newly started agents, all at once. Host.fetch retries
// those that got no answer.
func (r *revision) fetchCards(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	var work sync.WaitGroup
	for _, n := range r.started {
		if n.fetch == nil {
			continue
		}
		work.Go(func() {
			card, err := n.fetch(ctx)
			if n.unknown = err; err == nil {
				n.card = card
			}
		})
	}
	work.Wait()
}

// fetch asks endpoints for their models, and keeps fetching the cards of the revision
// in force until stop is called, which waits for it.
func (h *Host) fetch(ctx context.Context, answers chan<- fetched) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	for _, n := range h.now.agents {
		if n.models != nil && !n.known {
			work.Go(func() { h.askModels(ctx, n) })
		}
		if n.fetch == nil {
			continue
		}
		known, changed := n.unknown == nil, n.changed
		work.Go(func() {
			pause := fetchFirst
			for {
				wait := pause
				if known {
					wait = fetchEvery
				}
				select {
				case <-ctx.Done():
					return
				case <-changed:
				case <-time.After(wait):
				}
				asking, done := context.WithTimeout(ctx, fetchTime)
				card, err := n.fetch(asking)
				done()
				if err == nil {
					known = true
				} else if pause *= 2; pause > fetchLast {
					pause = fetchLast
				}
				select {
				case <-ctx.Done():
					return
				case answers <- fetched{n, card, err}:
				}
			}
		})
	}
	return func() {
		cancel()
		work.Wait()
	}
}

// takeCard handles the outcome of a fetch: a new card replaces the previous one.
func (h *Host) takeCard(c fetched) {
	n := c.of
	switch {
	case c.err != nil:
		h.log.Debug("the card of a service behind an agent could not be fetched", "agent", n.label(), "error", c.err)
		return
	case n.unknown == nil && reflect.DeepEqual(n.card, c.card):
		return
	}
	before, unknown := n.card, n.unknown
	n.card, n.unknown = c.card, nil
	r := *h.now
	err := r.host()
	if err == nil {
		err = h.replace(&r)
	}
	if err != nil { // such as a card with a wrong signature; the next answer may be better
		n.card, n.unknown = before, unknown
		h.log.Warn("the new card of a service behind an agent cannot be used; the last one stays in use", "agent", n.label(), "error", err)
		return
	}
	h.log.Info("the card of a service behind an agent has changed", "agent", n.label(), "name", c.card.Name)
	h.printFindings(&r)
}
