package serve

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"net/http"
	"net/url"
	"slices"

	"github.com/google/uuid"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/auth"
	web "github.com/parley-a2a/parley/internal/console"
)

// ConsolePath is the path of the web console.
const ConsolePath = "/console"

// pages joins the web console to a host.
type pages struct {
	// set by Open, then constant
	h     *Host
	token string // in the link that is printed; "": no link

	recent *recent
}

// openConsole makes the handler of the console; nil if it is off.
func (h *Host) openConsole(ctx context.Context) (http.Handler, error) {
	f := h.now.settings
	if f.noConsole {
		return nil, nil
	}
	h.pages = &pages{h: h, recent: new(recent)}
	o := web.Options{
		Agents: func() []web.Agent { return h.view.Load().console },
		Log:    h.pages.log, Published: h.pages.published, Recent: h.pages.recent.samples, Admin: h.admin, Viewer: h.pages.viewer,
		Name: "Parley", Version: h.env.Version, MaxUpload: f.limits.body, Logger: h.log,
	}
	// The reader of a server's start is its operator, if the server is for its own machine. For
	// other servers, the output ends up in log collections.
	if h.now.local || h.now.guard == nil {
		h.pages.token = uuid.NewString()
		o.Token = h.pages.token
		h.env.Stderr.Hide(o.Token)
		o.Local = a2a.Caller{Scopes: slices.Concat(a2a.OwnScopes, []string{a2a.ScopeAdminRead, a2a.ScopeAdminWrite}), Via: "console"}
		if h.now.guard != nil {
			o.Local.Subject = "console:local"
		}
	}
	o.Trace = f.telemetry.traceAddress()
	if f.auth.oidcClient != "" {
		o.Login = &signIn{hostOf(f.auth.oidcIssuer), auth.NewWebLogin(f.auth.oidcIssuer, f.auth.oidcClient, nil)}
	}
	if h.now.local || f.elsewhere {
		o.Elsewhere = newElsewhere(h).find
	}
	var err error
	if o.Secret, err = h.store.Secret(ctx, "console"); err != nil {
		return nil, storeFailure(h.location, err)
	}
	c, err := web.New(o)
	if err != nil {
		return nil, err
	}
	at := c.At(ConsolePath, func(r *http.Request) *url.URL { return a2aserver.AskedFor(h.view.Load().of.settings.proxies)(r) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A foreign page may have its host name resolve to this machine.
		if hosts := h.view.Load().consoleHosts; len(hosts) > 0 && !slices.Contains(hosts, (&url.URL{Host: r.Host}).Hostname()) {
			http.Error(w, "The console does not answer for the host that the request names.", http.StatusMisdirectedRequest)
			return
		}
		at.ServeHTTP(w, r)
	}), nil
}

// shownAgents returns the agents of a revision for the console, the one at / first.
func (p *pages) shownAgents(r *revision) (list []web.Agent) {
	for i := range r.hosted {
		hosted := &r.hosted[i]
		a := web.Agent{Name: hosted.Name, Card: web.CalmCard(&hosted.Card), Model: r.agents[i].models != nil}
		if hosted.Default {
			a.Name = "" // as in the keys of its tasks
		}
		a.Service = &audited{Service: p.h.server.Engine().Agent(a.Name), h: p.h, agent: hosted.Name}
		if hosted.Default {
			list = slices.Insert(list, 0, a)
		} else {
			list = append(list, a)
		}
	}
	return list
}

// published returns an agent's card as callers get it at the address of a request.
func (p *pages) published(r *http.Request, agent string) []byte {
	path := ""
	if agent != "" {
		path = a2aserver.AgentsPath + "/" + agent
	}
	return p.h.admin.cardAt(r.Context(), a2aserver.AskedFor(p.h.view.Load().of.settings.proxies)(r), path)
}

// audited records changes by viewers of the console, which are no network calls, so
// that the server does not record them itself.
type audited struct {
	a2a.Service
	h     *Host
	agent string
}

func (a *audited) SendMessage(ctx context.Context, req *a2a.SendMessageRequest) (*a2a.SendMessageResponse, error) {
	res, err := a.Service.SendMessage(ctx, req)
	task := ""
	switch {
	case req.Message != nil && req.Message.TaskID != "":
		task = req.Message.TaskID
	case res != nil && res.Task != nil:
		task = res.Task.ID
	}
	a.record(ctx, "SendMessage", task, err)
	return res, err
}

func (a *audited) CancelTask(ctx context.Context, req *a2a.CancelTaskRequest) (*a2a.Task, error) {
	t, err := a.Service.CancelTask(ctx, req)
	a.record(ctx, "CancelTask", req.ID, err)
	return t, err
}

func (a *audited) record(ctx context.Context, op, task string, err error) {
	caller := a2a.CallerFrom(ctx)
	outcome := "ok"
	if err != nil {
		outcome = "InternalError"
		if e, ok := errors.AsType[*a2a.Error](err); ok {
			outcome = e.Code.String()
		}
	}
	list := []slog.Attr{slog.String("outcome", outcome), slog.String("op", op), slog.String("binding", "console")}
	about := Known(slog.String("agent", a.agent), slog.String("subject", caller.Subject), slog.String("tenant", caller.Tenant), slog.String("via", caller.Via), slog.String("task", task))
	a.h.audit.Event(a2aserver.AuditCall, append(list, about...)...)
}

// viewer identifies a viewer by credentials. The request is the browser's.
func (p *pages) viewer(r *http.Request, c web.Credentials, again bool) (a2a.Caller, error) {
	guard := p.h.view.Load().of.guard
	if guard == nil {
		return a2a.Caller{}, errors.New("nobody needs credentials here")
	}
	asks := &http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/"}, Host: r.Host, RemoteAddr: r.RemoteAddr, Header: http.Header{}}
	for _, name := range []string{"Forwarded", "X-Forwarded-For"} {
		if v := r.Header.Values(name); len(v) > 0 {
			asks.Header[name] = v
		}
	}
	asks.Header.Set("Authorization", "Bearer "+c.Bearer)
	asks = asks.WithContext(r.Context())
	if again {
		return guard.Again(asks)
	}
	return p.h.authenticate(guard, asks, "console")
}

// log reads a task's log for the context's caller. An operator may read every log.
func (p *pages) log(ctx context.Context, agent, task string, after int64, follow bool) iter.Seq2[[]*a2a.Entry, error] {
	who := a2a.CallerFrom(ctx)
	if who.Tenant == "" && who.May(a2a.ScopeAdminRead) {
		who.Scopes = append(slices.Clip(who.Scopes), a2a.ScopeTasksReadAll)
		ctx = a2a.WithCaller(ctx, who)
	}
	return p.h.server.Engine().Log(ctx, agent, task, after, follow)
}
