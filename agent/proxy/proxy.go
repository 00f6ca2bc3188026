package proxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/agent"
)

// Agent is an agent.Agent whose work another A2A agent does. It may be used by
// many goroutines at once.
type Agent struct {
	// set by New, then constant
	ref    string
	opts   *Options
	client *a2aclient.Options
	hooks  *hooks // nil without Options.Push

	contexts contexts

	dialing  chan struct{} // holds a token while somebody dials; protects dialed
	mu       sync.Mutex    // protects dialed for who only looks, and resolver
	dialed   *a2aclient.Client
	resolver *a2aclient.Resolver
}

var (
	_ agent.Agent = (*Agent)(nil)
	_ io.Closer   = (*Agent)(nil)
)

// New makes an agent of the one that ref refers to, as a2aclient.Resolve takes it:
// the URL of its card, its address, or a file. Nothing is asked of it yet, so that it
// need not be there. The error says which option is wrong.
func New(ref string, o *Options) (*Agent, error) {
	o = cmp.Or(o, new(Options))
	if ref == "" {
		return nil, errors.New("proxy: no agent to be called")
	}
	a := &Agent{ref: ref, opts: o, client: o.client(), dialing: make(chan struct{}, 1), contexts: contexts{of: map[string]string{}}}
	if _, err := a2aclient.New(nowhere, a.client); err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	a.resolver = a2aclient.NewResolver(a.client)
	if o.Push {
		u, err := url.Parse(o.PushURL)
		if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
			return nil, errors.New("proxy: Options.PushURL is no absolute URL without a query")
		}
		if o.PushSecret == "" {
			return nil, errors.New("proxy: Options.Push needs a PushSecret")
		}
		a.hooks = newHooks(u, o.PushSecret)
	}
	return a, nil
}

// nowhere is a card to try options with: no request is made.
var nowhere = &a2a.AgentCard{Name: "none", SupportedInterfaces: []*a2a.AgentInterface{
	{URL: "http://127.0.0.1:9", ProtocolBinding: a2a.BindingJSONRPC},
}}

// Handler takes what the agent posts when Options.Push is set, and has to be served
// at PushURL and below, with PushURL's own path taken away. It lets in by
// itself: by addresses that nobody can guess. Without Push nothing is there.
func (a *Agent) Handler() http.Handler {
	if a.hooks == nil {
		return http.NotFoundHandler()
	}
	return a.hooks
}

// Close lets go of idle connections. It is called after the last Run has ended.
func (a *Agent) Close() error {
	a.client.HTTPClient.CloseIdleConnections()
	return nil
}

// dial returns the client of the agent, whose card it looks for if there is none.
func (a *Agent) dial(ctx context.Context) (*a2aclient.Client, error) {
	if c := a.known(); c != nil {
		return c, nil
	}
	select {
	case a.dialing <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-a.dialing }()
	if c := a.known(); c != nil {
		return c, nil
	}
	a.mu.Lock()
	resolver := a.resolver
	a.mu.Unlock()
	c, err := resolver.Dial(ctx, a.ref)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	a.dialed = c
	a.mu.Unlock()
	return c, nil
}

func (a *Agent) known() *a2aclient.Client {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.dialed
}

// forget has the next dial look at the card again, which may have changed: the
// agent cannot be reached where c looks for it.
func (a *Agent) forget(c *a2aclient.Client) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dialed == c {
		a.dialed = nil
		a.resolver = a2aclient.NewResolver(a.client) // the one before may still keep the card
	}
}
