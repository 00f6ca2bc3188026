package main

import (
	"context"
	"reflect"
	"sync"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// What an agent can do may be for somebody else to say: another agent, an MCP
// server. They are asked at the start, again while they do not answer, and now and
// then whether it is still so.
const (
	fetchTime  = 5 * time.Second // of one question
	fetchFirst = time.Second     // pause after the first that had no answer; then twice as long each time
	fetchLast  = time.Minute     // at most
	fetchEvery = 10 * time.Minute
)

// fetched is an answer.
type fetched struct {
	of   *made
	card a2a.AgentCard
	err  error
}

// ask asks for the cards of agents that are new, all at once. Who does not answer
// is asked again by fetch.
func (r *revision) ask(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	var work sync.WaitGroup
	for _, n := range r.begun {
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

// fetch goes on asking for the cards of the revision in force, until stop is
// called, which waits for it.
func (s *serving) fetch(ctx context.Context, answers chan<- fetched) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	for _, n := range s.now.agents {
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

// heard takes an answer: a card that is new takes the place of the one before.
func (s *serving) heard(c fetched) {
	n := c.of
	switch {
	case c.err != nil:
		s.log.Debug("the card of an upstream could not be fetched", "agent", n.words(), "err", c.err)
		return
	case n.unknown == nil && reflect.DeepEqual(n.card, c.card):
		return
	}
	before, unknown := n.card, n.unknown
	n.card, n.unknown = c.card, nil
	r := *s.now
	err := r.host()
	if err == nil {
		err = s.replace(&r)
	}
	if err != nil { // as when it is not signed as it should be; the next answer may be better
		n.card, n.unknown = before, unknown
		s.log.Warn("the card of an upstream cannot be used: the one before stays", "agent", n.words(), "err", err)
		return
	}
	s.log.Info("the card of an upstream has changed", "agent", n.words(), "name", c.card.Name)
	s.tell(&r)
}
