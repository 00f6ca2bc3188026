package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/net/http/httpguts"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/queue"
	"github.com/parley-a2a/parley/internal/telemetry/metrics"
)

// Agent is an agent whose work a model does. It is safe for many turns at once.
type Agent struct {
	// set by New, then constant
	endpoint string // with /chat/completions
	model    string
	opts     Options
	client   *http.Client
	turns    *queue.Queue    // the turns at the endpoint; nil: no bound
	tokens   *metrics.Spread // nil: not counted

	// Features that the endpoint has refused, and that are no longer used.
	noStreamOptions, newMaxTokens, noSchema, noObject atomic.Bool
}

var _ agent.Agent = (*Agent)(nil)

// New returns an agent for a model behind an endpoint. base is the URL without
// /chat/completions, such as https://api.openai.com/v1 or http://localhost:11434/v1.
// New makes no requests. An error is a mistake in an argument, such as a file that
// cannot be read.
func New(base, model string, o *Options) (*Agent, error) {
	o = cmp.Or(o, new(Options))
	endpoint, err := join(base)
	if err != nil {
		return nil, err
	}
	if model == "" {
		return nil, errors.New("openai: no model is named")
	}
	for _, name := range []string{"model", "messages", "stream", "tools"} {
		if _, has := o.Extra[name]; has {
			return nil, fmt.Errorf("openai: Extra must not have %s, which the agent sets itself", name)
		}
	}
	if _, err := json.Marshal([]any{o.Extra, o.Temperature}); err != nil {
		return nil, fmt.Errorf("openai: Extra or Temperature cannot be sent as JSON: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Headers)) {
		if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(o.Headers[name].Reveal()) {
			return nil, fmt.Errorf("openai: header %q has an invalid name or value", name)
		}
	}
	if !httpguts.ValidHeaderFieldValue(o.APIKey.Reveal()) {
		return nil, errors.New("openai: the API key has a character that no header may have, such as a line break")
	}
	a := &Agent{endpoint: endpoint, model: model, opts: *o, tokens: metrics.New(o.MeterProvider).Histogram(metrics.TokenUsage)}
	if _, err := a.system(); err != nil {
		return nil, fmt.Errorf("openai: %w", err)
	}
	client := o.Client
	if client == nil {
		client = newClient()
	}
	still := *client
	still.Timeout = 0 // it would cut streams
	still.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	a.client = &still
	if n := a.opts.Concurrency; n > 0 {
		a.turns = queue.New(n)
	}
	return a, nil
}

// join appends the path of the API to base; a query, such as Azure's api-version,
// stays.
func join(base string) (string, error) {
	u := a2a.WebURL(base)
	if u == nil {
		return "", errors.New("openai: the base has to be a URL such as https://api.openai.com/v1")
	}
	if u.User != nil {
		return "", errors.New("openai: the base must not hold credentials: use Options.APIKey or Headers")
	}
	u.Fragment = ""
	if !strings.HasSuffix(u.Path, "/chat/completions") {
		u = u.JoinPath("chat", "completions")
	}
	return u.String(), nil
}

// Kind is for agent.KindOf.
func (a *Agent) Kind() string { return "openai" }

// Run implements agent.Agent.
func (a *Agent) Run(ctx context.Context, t *agent.Turn) error {
	if a.turns != nil {
		if err := a.turns.Enter(ctx); err != nil {
			return err
		}
		defer a.turns.Leave()
	}
	return (&run{a: a, t: t}).run(ctx)
}

// Close closes idle connections. Other users of the same Options.Client then open new
// ones.
func (a *Agent) Close() error {
	a.client.CloseIdleConnections()
	return nil
}
