package httpagent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/queue"
	"github.com/parley-a2a/parley/internal/wake"
)

// Agent is an agent whose work an HTTP service does. It may be used concurrently.
type Agent struct {
	// set by New, then constant
	url    *url.URL
	opts   *Options
	client *http.Client
	body   *template                                  // nil: the request of docs/http.md
	answer *answerPath                                // nil: the answers of docs/http.md
	pause  func(context.Context, time.Duration) error // between two tries

	queue *queue.Queue // for requests
}

var _ agent.Agent = (*Agent)(nil)

// reserved are the headers that this package sets.
var reserved = []string{
	"Accept", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Expect", "Host", "Idempotency-Key", "Last-Event-Id",
	"Parley-Attempt", "Te", "Traceparent", "Trailer", "Transfer-Encoding", "Upgrade",
}

// New returns an agent for the service at rawURL, an absolute URL of http or
// https. An error names no value of a header.
func New(rawURL string, o *Options) (*Agent, error) {
	u := a2a.WebURL(rawURL)
	if u == nil {
		return nil, errors.New("httpagent: the service needs an absolute URL of http or https") // the URL may have a password in it, so err is not shown
	}
	u.Fragment = ""
	o = cmp.Or(o, new(Options))
	for name, value := range o.Headers {
		if slices.Contains(reserved, textproto.CanonicalMIMEHeaderKey(name)) {
			return nil, fmt.Errorf("httpagent: the header %s cannot be set", name)
		}
		if !isHeader(name, value.Reveal()) {
			return nil, fmt.Errorf("httpagent: the header %q has an invalid name or value", name)
		}
	}
	a := &Agent{url: u, opts: o, client: o.client(), pause: wake.Pause, queue: queue.New(o.concurrency())}
	if s := o.Body; s != "" {
		if o.Callbacks != nil {
			return nil, errors.New("httpagent: a Body has no address to call back; leave Callbacks out")
		}
		var err error
		if a.body, err = parseTemplate(s); err != nil {
			return nil, fmt.Errorf("httpagent: the body %w", err)
		}
	}
	if s := o.Answer; s != "" {
		var err error
		if a.answer, err = parsePath(s); err != nil {
			return nil, fmt.Errorf("httpagent: the answer %w", err)
		}
	}
	return a, nil
}

// isHeader reports whether a header can have this name and value.
func isHeader(name, value string) bool {
	return httpguts.ValidHeaderFieldName(name) && httpguts.ValidHeaderFieldValue(value)
}

// Close closes idle connections. Call it after the last Run has returned.
func (a *Agent) Close() error {
	a.client.CloseIdleConnections()
	return nil
}

// Card returns a card for an agent whose service accepts and returns any media type.
// With Options.Body the service gets text only: set DefaultInputModes.
func Card(name string) a2a.AgentCard {
	return a2a.AgentCard{
		Name:               name,
		Description:        "Answers messages through an HTTP service.",
		Version:            "1.0.0",
		Capabilities:       a2a.AgentCapabilities{Streaming: new(true)},
		DefaultInputModes:  []string{"text/plain", "application/json", "*/*"},
		DefaultOutputModes: []string{"text/plain", "application/json", "*/*"},
		Skills: []*a2a.AgentSkill{{
			ID:          "answer",
			Name:        name,
			Description: "Hands the message to the service and its answer to you.",
			Tags:        []string{"http"},
		}},
	}
}

// run is one run of a turn.
type run struct {
	a         *Agent
	t         *agent.Turn
	task      *a2a.Task // as it was at the start
	log       *slog.Logger
	id        string // of the turn, the same on every run
	before    string // the id that earlier releases gave the turn
	artifacts artifacts
	room      room
}

// Kind is for agent.KindOf.
func (a *Agent) Kind() string { return "http" }

// Run implements agent.Agent.
func (a *Agent) Run(ctx context.Context, t *agent.Turn) error {
	r := &run{a: a, t: t, task: t.Task(), artifacts: artifacts{t: t, named: map[string]*artifact{}}, room: room(a.opts.maxOutput())}
	r.log = t.Log(a.opts.logger())
	r.id, r.before = turnIDs(t, r.task)
	err := r.converse(ctx)
	if b, ok := errors.AsType[badAnswer](err); ok {
		var hint error
		if a.answer == nil {
			hint = errors.New("if the service has a format of its own, say where its answer is: answer: .reply (docs/http.md)")
		}
		return agent.Public("the service's answer cannot be used: "+b.Error(), hint)
	}
	if errors.Is(err, errTooMuch) {
		return agent.Public(fmt.Sprintf("the service sent more than the limit of %d bytes", a.opts.maxOutput()), nil)
	}
	return err
}

// converse makes a request for the message and one for each answer to a question, until
// the turn ends.
func (r *run) converse(ctx context.Context) error {
	x := r.exchange(0)
	x.heard = func(context.Context) (*a2a.Message, error) { return r.t.Message(), nil }
	for {
		q, err := r.ask(ctx, x)
		if err != nil || q == nil {
			return err
		}
		next := r.exchange(x.n + 1)
		next.state = q.State
		if q.Type == "authenticate" {
			// This runs within the next step, because credentials are never recorded.
			// If that step has a recorded result, the client is not asked for them
			// again.
			next.secret = true
			next.heard = func(ctx context.Context) (*a2a.Message, error) { return r.t.AuthenticateParts(ctx, q.Parts...) }
		} else {
			m, err := r.t.AskParts(ctx, q.Parts...)
			if err != nil {
				return err
			}
			next.heard = func(context.Context) (*a2a.Message, error) { return m, nil }
		}
		x = next
	}
}

// exchange is one request with all that follows from it.
type exchange struct {
	n      int
	key    string   // the same on every run
	state  a2a.JSON // of the question that it answers
	secret bool     // its message is credentials
	heard  func(context.Context) (*a2a.Message, error)
}

// record is the recorded outcome of a request after which the turn goes on.
type record struct {
	Asks      *event   `json:"asks,omitempty"`
	Accepted  bool     `json:"accepted,omitempty"` // the service calls back
	Key       string   `json:"key,omitempty"`      // of the exchange, if Accepted; earlier releases left it out
	Location  string   `json:"location,omitempty"` // URL at which the service can be told to stop
	Artifacts []string `json:"artifacts,omitempty"`
}

// errOver ends an exchange that is the turn's last. Nothing is recorded, because the
// task has ended.
var errOver = errors.New("the turn is over")

// ask makes a request and returns the question that its answer ends with, or nil at the
// end of the turn.
func (r *run) ask(ctx context.Context, x *exchange) (q *event, err error) {
	inbox := r.a.opts.Callbacks.join(x.key, r.a.opts.maxAnswer()) // before the service may call
	defer func() { r.a.opts.Callbacks.leave(inbox, err == nil || !goesOn(ctx, err)) }()
	r.artifacts.anew()
	live := false
	rec, err := agent.Step(ctx, r.t, "request", func(ctx context.Context) (record, error) {
		live = true
		m, err := x.heard(ctx)
		if err != nil {
			return record{}, err
		}
		return r.post(ctx, x, m)
	})
	switch {
	case errors.Is(err, errOver):
		return nil, nil
	case err != nil:
		return nil, err
	case !live:
		for _, name := range rec.Artifacts { // the answer was read in an earlier run
			if _, err := r.artifacts.get(name); err != nil {
				return nil, err
			}
		}
	}
	if !rec.Accepted {
		return rec.Asks, nil
	}
	if rec.Key == "" { // the service has an address made by an earlier release
		r.a.opts.Callbacks.leave(inbox, true)
		inbox = r.a.opts.Callbacks.join(keyOf(r.before, x.n), r.a.opts.maxAnswer())
	}
	q, err = r.listen(ctx, inbox)
	if err != nil && rec.Location != "" && !goesOn(ctx, err) {
		r.stop(ctx, rec.Location)
	}
	return q, err
}

// goesOn reports whether a turn that ends with err runs again, here or elsewhere.
func goesOn(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return errors.Is(err, agent.ErrDraining) || errors.Is(err, agent.ErrEnded) || errors.Is(err, context.Canceled)
}
