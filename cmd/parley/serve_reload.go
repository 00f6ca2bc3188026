package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/parley-a2a/parley/a2aserver"
)

// beside does what there is to do beside serving, until stop is called, which
// waits for it: SIGHUP, files that change, cards of others. All that replaces
// the revision in force does so in one goroutine.
func (s *serving) beside(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	hangups, changes, cards := make(chan struct{}, 1), make(chan string), make(chan fetched)
	signals := func() {}
	if s.now.flags.path != "" || s.audit.file != nil {
		signals = onHangup(func() {
			s.audit.reopen(s.log)
			select {
			case hangups <- struct{}{}:
			default: // it will read what is there when it comes to that
			}
		})
	}
	work.Go(func() {
		watch := s.watch(ctx, changes)
		fetch := s.fetch(ctx, cards)
		for {
			done := false
			select {
			case <-ctx.Done():
				watch()
				fetch()
				return
			case <-hangups:
				if s.now.flags.path != "" {
					done = s.reload(ctx, "SIGHUP", false)
				}
			case name := <-changes:
				done = s.reload(ctx, name+" changed", name != s.now.flags.path)
			case c := <-cards:
				s.heard(c)
			}
			if done { // there may be others to look at
				watch()
				fetch()
				watch, fetch = s.watch(ctx, changes), s.fetch(ctx, cards)
			}
		}
	})
	if public := s.now.public; public != "" {
		name := s.now.hosted[s.now.front()].Card.Name
		work.Go(func() {
			if err := reach(ctx, &http.Client{}, public+s.now.path(), name); err != nil {
				s.app.note("Card", "callers do not find the agent at --public-url %s: %v", quote(public), err)
			}
		})
	}
	return func() {
		signals()
		cancel()
		work.Wait()
	}
}

// reload puts what flags and file say now in the place of the revision in force,
// or leaves that one and says why. again begins commands anew even where nothing
// is said that is new.
func (s *serving) reload(ctx context.Context, why string, again bool) bool {
	f, err := s.app.setUp(s.line, len(s.argv) > 0)
	if err == nil {
		var r *revision
		if r, err = s.revise(ctx, f, f.agents(s.app, s.argv), again); err == nil {
			if err = s.replace(r); err == nil {
				s.log.Info("reloaded", "because", why, "agents", len(r.agents), "begun", names(r.begun))
				s.audit.event(a2aserver.AuditConfigReloaded, slog.String("because", why), slog.Int("agents", len(r.agents)))
				r.settle(s.maker)
				s.stale(f)
				s.tell(r)
				return true
			}
			r.discard(s.log)
		}
	}
	s.log.Error("not reloaded: what ran before goes on", "because", why, "err", reloadReason(err))
	s.audit.event(a2aserver.AuditConfigReloaded, slog.String("because", why), slog.String("error", reloadReason(err)))
	return false
}

// replace hands a revision to the server.
func (s *serving) replace(r *revision) error {
	if err := s.server.Reload(r.hosted, s.options(r)); err != nil {
		return err
	}
	s.now = r
	return nil
}

// reloadReason is an error in one line, with all that a file has wrong.
func reloadReason(err error) string {
	text := err.Error()
	if f := (*failure)(nil); errors.As(err, &f) {
		if text = f.Message; len(f.Lines) > 0 {
			text += ": " + strings.Join(f.Lines, "; ")
		}
	}
	return cleanLine(strings.ReplaceAll(text, "\n", "; "))
}

func names(agents []*made) string {
	var list []string
	for _, n := range agents {
		list = append(list, n.words())
	}
	return strings.Join(list, ", ")
}

// untilRestart are the flags that a server that runs does not take notice of.
func (f *serveSetup) untilRestart() map[string]any {
	return map[string]any{
		"listen": f.listen, "store": f.storeFlags, "store.ephemeral": f.ephemeral, "store.dead_after": f.dead, "store.cache": f.cache, "tls": f.tls,
		"drain_timeout": f.drain, "retries": f.retries, "retention": f.retention, "push": f.egress, "logs": [2]any{f.audit, f.logLevel},
		"limits.capacity": f.limits.capacity, "limits.connections": [2]int{f.limits.connections, f.limits.connectionsOfAddress},
	}
}

// stale says which settings have changed that count from the next start on. Only
// what the server was started with is compared: it may be changed back.
func (s *serving) stale(f *serveSetup) {
	var changed []string
	for name, value := range f.untilRestart() {
		if !reflect.DeepEqual(s.begun[name], value) {
			changed = append(changed, name)
		}
	}
	if len(changed) > 0 {
		slices.Sort(changed)
		s.log.Warn("some of the settings that have changed count from the next start on", "settings", strings.Join(changed, ", "))
	}
}

// watch looks at the files of the revision in force, if it is to.
func (s *serving) watch(ctx context.Context, changes chan<- string) (stop func()) {
	f := s.now.flags
	if !f.reload {
		return func() {}
	}
	w := new(watcher)
	if f.path != "" {
		w.files = append(w.files, f.path)
	}
	for _, n := range s.now.agents {
		if c := n.from.Exec; c != nil {
			w.add(c.Dir, c.Command)
		}
		if c := n.from.MCP; c != nil && len(c.Command) > 0 {
			w.add(c.Dir, c.Command)
		}
	}
	if w.empty() {
		s.log.Warn("--reload: the command names no file that could change")
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.run(ctx, func(name string) {
			select {
			case changes <- name:
			case <-ctx.Done():
			}
		})
	}()
	return func() {
		cancel()
		<-ended
	}
}
