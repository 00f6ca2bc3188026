package serve

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/internal/wake"
)

// background does the work beside serving until stop is called, which waits for it: it
// handles SIGHUP, changed files, cards of other agents, and the memory limit. One
// goroutine replaces the revision in force.
func (h *Host) background(ctx context.Context) (stop func()) {
	var work sync.WaitGroup
	f := h.now.settings
	draining, drained := context.WithCancel(context.WithoutCancel(ctx))
	work.Go(func() { keepMemory(draining, memoryFor(f.limits.bodies, f.cache), h.log) })
	work.Go(func() { h.admin.feed.run(draining) })
	work.Go(func() { h.pages.sample(draining) })
	ctx, cancel := context.WithCancel(ctx)
	hangups, cards := make(chan struct{}, 1), make(chan fetched)
	signals := make(chan os.Signal, 1) // one is enough: files are read after it
	if h.now.settings.path != "" || h.audit.file != nil {
		signal.Notify(signals, syscall.SIGHUP)
	}
	work.Go(func() {
		for range signals {
			h.audit.reopen(h.log)
			wake.Nudge(hangups) // a pending reload will read the newest file
		}
	})
	work.Go(func() {
		files, fetch := h.watch(new(watcher)), h.fetch(ctx, cards)
		var looks <-chan time.Time // never without --reload
		if h.now.settings.Reload {
			tick := time.NewTicker(watchPause)
			defer tick.Stop()
			looks = tick.C
		}
		for {
			done := false
			select {
			case <-ctx.Done():
				fetch()
				return
			case <-hangups:
				if h.now.settings.path != "" {
					done = h.reload(ctx, "SIGHUP", false)
				}
			case <-looks:
				if name := files.poll(); name != "" {
					done = h.reload(ctx, name+" changed", name != h.now.settings.path)
				}
			case c := <-cards:
				h.takeCard(c)
			}
			if done { // files and agents to watch may have changed
				fetch()
				files, fetch = h.watch(files), h.fetch(ctx, cards)
			}
		}
	})
	if public := h.now.public; public != "" {
		name := h.now.hosted[h.now.front()].Card.Name
		work.Go(func() {
			if err := reach(ctx, &http.Client{}, public+h.now.path(), name); err != nil {
				h.env.Stderr.Note("Card", "callers do not find the agent at --public-url %s: %v", plain.Quote(public), err)
			}
		})
	}
	return func() {
		signal.Stop(signals)
		close(signals)
		cancel()
		drained()
		work.Wait()
	}
}

// reload loads the settings again and replaces the revision in force. On an error it
// keeps that revision and logs why. again starts commands again even if their
// description is the same.
func (h *Host) reload(ctx context.Context, why string, again bool) bool {
	err := h.reloadOrFail(ctx, why, again)
	h.notReloaded.Store(err != nil)
	if err == nil {
		return true
	}
	h.log.Error("not reloaded: the previous settings stay in force", "because", why, "error", reloadReason(err))
	reason := h.env.Stderr.Redact(reloadReason(err))
	h.audit.Event(a2aserver.AuditConfigReloaded, slog.String("because", why), slog.String("error", reason))
	h.admin.feed.reloaded(why, reason)
	return false
}

func (h *Host) reloadOrFail(ctx context.Context, why string, again bool) error {
	f, err := h.env.Load(h.line, len(h.command) > 0)
	if err != nil {
		return err
	}
	r, err := h.revise(ctx, f, f.agents(h.env, h.command), again)
	if err != nil {
		return err
	}
	if err := h.replace(r); err != nil {
		r.discard(h.log)
		return err
	}
	h.log.Info("reloaded", "because", why, "agents", len(r.agents), "begun", names(r.started))
	h.audit.Event(a2aserver.AuditConfigReloaded, slog.String("because", why), slog.Int("agents", len(r.agents)))
	h.admin.feed.reloaded(why, "")
	r.commit(h.factory)
	h.stale(f)
	h.printFindings(r)
	return nil
}

// replace gives a revision to the server.
func (h *Host) replace(r *revision) error {
	if err := h.server.Reload(r.hosted, h.options(r)); err != nil {
		return err
	}
	h.now = r
	h.show()
	return nil
}

// reloadReason returns an error in one line, with all mistakes of a file.
func reloadReason(err error) string {
	text := err.Error()
	if f, ok := errors.AsType[*failure.Error](err); ok {
		if text = f.Message; len(f.Lines) > 0 {
			text += ": " + strings.Join(f.Lines, "; ")
		}
	}
	return plain.Line(strings.ReplaceAll(text, "\n", "; "))
}

func names(agents []*instance) string {
	var list []string
	for _, n := range agents {
		list = append(list, n.label())
	}
	return strings.Join(list, ", ")
}

// untilRestart returns the settings that take effect at the next start.
func (f *Settings) untilRestart() map[string]any {
	login := [2]string{f.auth.oidcClient}
	if f.auth.oidcClient != "" {
		login[1] = f.auth.oidcIssuer
	}
	return map[string]any{
		"listen": f.listen, "store": f.store, "store.ephemeral": f.ephemeral, "store.dead_after": f.dead, "store.allow_async_commit": f.async, "store.cache": f.cache, "tls": f.tls,
		"console": f.noConsole, "console_elsewhere": f.elsewhere, "auth.oidc (the console's login)": login, "drain_timeout": f.drain, "retries": f.retries, "retention": f.retention, "push": f.egress, "logs": [4]any{f.audit, f.audit.Path == "" && f.auth.any(), f.logLevel, f.logFormat}, "telemetry": f.telemetry,
		"limits.body (over gRPC and in the console)": f.limits.body, "limits.bodies (whether there is a limit)": f.limits.bodies == 0,
		"limits.capacity": f.limits.capacity, "limits.connections": [2]int{f.limits.connections, f.limits.connectionsOfAddress},
	}
}

// stale logs which changed settings take effect at the next start. They are
// compared with those of the start, so that a change back is no change.
func (h *Host) stale(f *Settings) {
	var changed []string
	for name, value := range f.untilRestart() {
		if !reflect.DeepEqual(h.atStart[name], value) {
			changed = append(changed, name)
		}
	}
	if len(changed) > 0 {
		slices.Sort(changed)
		h.log.Warn("some changed settings take effect at the next start", "settings", strings.Join(changed, ", "))
	}
}

// watch returns a watcher of the files of the revision in force, with --reload. A file that
// was saved again during a reload, after the previous watcher had seen it, counts as changed.
func (h *Host) watch(previous *watcher) *watcher {
	w, f := new(watcher), h.now.settings
	if !f.Reload {
		return w
	}
	if f.path != "" {
		w.files = append(w.files, f.path)
	}
	for _, n := range h.now.agents {
		if c := n.from.Exec; c != nil {
			w.add(c.Dir, c.Command)
		}
		if c := n.from.MCP; c != nil && len(c.Command) > 0 {
			w.add(c.Dir, c.Command)
		}
	}
	if len(w.files) == 0 {
		h.log.Warn("--reload: the command names no file that could change")
	}
	w.follow(previous)
	return w
}
