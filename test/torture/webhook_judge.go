package torture

import (
	"context"
	"fmt"
	"sync"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
)

// hookClaim is a promise about webhooks.
type hookClaim int

const (
	hookMissing hookClaim = iota
	hookOrder
	hookIDs
	hookProof
	hookContent
	hookAfter
	hookKept
	hookService
	hookClaims
)

var hookClaimNames = [hookClaims]string{
	"every event comes", "in order", "an id for each delivery", "all is signed", "what comes is in the log", "nothing after an end", "kept as long as said", "the server serves",
}

// judge compares what came with the logs. It returns how many tasks there are,
// and how many events they have.
func (w *hookWorld) judge(ctx context.Context, url string) (tasks int, events int64, err error) {
	cl, err := a2aclient.Dial(ctx, url, &a2aclient.Options{Version: "1.1", Bindings: []string{a2a.BindingJSONRPC}})
	if err != nil {
		return 0, 0, fmt.Errorf("look at the result: %w", err)
	}
	all, err := list(ctx, cl)
	if err != nil {
		return 0, 0, err
	}
	of := map[string][]*hook{}
	for _, h := range w.hooks {
		of[h.task] = append(of[h.task], h)
	}
	for _, h := range of[""] {
		if !h.unknown {
			w.violate(hookMissing, "%s got nothing", h)
		}
	}
	delete(of, "")
	w.oneConfigEach(of)
	work := make(chan *a2a.Task)
	var judges sync.WaitGroup
	var mu sync.Mutex // protects what is returned
	for range 4 {
		judges.Go(func() {
			for t := range work {
				log, bad := recall(ctx, cl, t)
				mu.Lock()
				if bad != nil {
					err = bad
				} else {
					events += int64(len(log.events))
				}
				mu.Unlock()
				if bad != nil {
					continue
				}
				for _, h := range of[t.ID] {
					w.compare(h, log)
				}
			}
		})
	}
	for _, t := range all {
		work <- t
	}
	close(work)
	judges.Wait()
	known, bad := w.judgeBrief(ctx, cl, of)
	if bad != nil {
		return 0, 0, bad
	}
	for _, t := range all {
		known[t.ID] = true
	}
	for id, hooks := range of {
		// A task may wear out, and then be over age, that its client does not know of.
		if !known[id] && (w.o.Retain == 0 || !hooks[0].unknown) {
			w.violate(hookContent, "there is no task %s", id)
		}
	}
	for _, text := range w.log.signs() {
		w.violate(hookService, "the server's log has: %s", text)
	}
	return len(all), events, err
}

// oneConfigEach checks that no two configurations share an id of a delivery.
func (w *hookWorld) oneConfigEach(of map[string][]*hook) {
	owner := map[string]*hook{}
	for _, hooks := range of {
		for _, h := range hooks {
			for _, p := range h.posts {
				if o := owner[p.id]; o != nil && o != h || p.id == "" {
					w.violate(hookIDs, "%q came for %s and for %s", p.id, o, h)
				}
				owner[p.id] = h
			}
		}
	}
}

// step is what a log has for a hook.
type step struct {
	seq int64
	key string
}

// steps returns what a version's receivers are to hear of a log.
func steps(h *hook, log *history) (all []step) {
	task := *log.first
	for _, el := range log.events {
		was := task.Status.State
		task.ApplyEvent(el)
		switch {
		case !h.whole():
			all = append(all, step{el.Seq, keyOfEvent(el)})
		case el.StatusUpdate != nil && task.Status.State != was:
			all = append(all, step{el.Seq, keyOfTask(&task)})
		}
	}
	return all
}

// at returns the position at which the task came to a generation: the first is
// its beginning, each event and each message makes one more.
func (h *history) at(generation int64) int64 {
	all := h.log()
	if n := generation - 2; n >= 0 && n < int64(len(all)) {
		return all[n].Seq
	}
	return 0
}

// compare judges one hook by its task's log.
func (w *hookWorld) compare(h *hook, log *history) {
	before, bound := log.at(h.before), log.at(h.bound)
	said := func(c hookClaim, format string, args ...any) {
		w.violate(c, "%s: %s\nlog, of which all behind %d is to come:\n%sposts:\n%s", h, fmt.Sprintf(format, args...), bound, log, h.history())
	}
	all := steps(h, log)
	seqOf := map[string]int64{}
	for _, s := range all {
		seqOf[s.key] = s.seq
	}
	if h.unknown && !h.along && len(h.posts) > 0 { // when it was made, nobody knows
		bound = max(seqOf[h.posts[0].key]-1, bound)
	}
	idOf, of := map[int64]string{}, map[string]int64{}
	accepted := map[int64]bool{}
	first, last := int64(0), before
	for _, p := range h.posts {
		if p.key == "" {
			continue
		}
		seq := seqOf[p.key]
		switch {
		case seq == 0:
			said(hookContent, "%s is not in the log", p.id)
			return
		case idOf[seq] != "" && idOf[seq] != p.id, of[p.id] != 0 && of[p.id] != seq:
			said(hookIDs, "position %d came as %s and as %s, which was %d, too", seq, idOf[seq], p.id, of[p.id])
			return
		case seq <= before:
			said(hookOrder, "position %d came, which was before it", seq)
			return
		case seq < last && w.many() && accepted[seq]:
			continue // from a server that was stopped in the middle of it while another went on
		case seq < last:
			said(hookOrder, "position %d came after %d had", seq, last)
			return
		}
		idOf[seq], of[p.id], last = p.id, seq, seq
		if first == 0 {
			first = min(seq, bound+1) // it begins somewhere between before and bound
		}
		for _, s := range all {
			if s.seq >= first && s.seq < seq && !accepted[s.seq] {
				said(hookOrder, "position %d came before %d was accepted", seq, s.seq)
				return
			}
		}
		accepted[seq] = accepted[seq] || p.accepted
	}
	if h.unknown && len(h.posts) == 0 || h.refused != "" || !h.deleted.IsZero() {
		return
	}
	for _, s := range all {
		if s.seq > bound && !accepted[s.seq] {
			said(hookMissing, "position %d did not come", s.seq)
			return
		}
	}
}
