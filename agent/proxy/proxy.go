package proxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync/atomic"

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

	dialing chan struct{} // held while dialing
	dialed  atomic.Pointer[a2aclient.Client]
}

var (
	_ agent.Agent = (*Agent)(nil)
	_ io.Closer   = (*Agent)(nil)
)

// New makes an agent from ref, which is the URL of an agent's card, its address, or a
// file, as for a2aclient.Resolve. New does not contact that agent, so it need not be
// there yet. The error says which option is wrong.
func New(ref string, o *Options) (*Agent, error) {
	o = cmp.Or(o, new(Options))
	if ref == "" {
		return nil, errors.New("proxy: no agent to be called")
	}
	a := &Agent{ref: ref, opts: o, client: o.client(), dialing: make(chan struct{}, 1), contexts: contexts{of: map[string]string{}}}
	if _, err := a2aclient.New(nowhere, a.client); err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	if o.Push {
		u, err := url.Parse(o.PushURL)
		if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
			return nil, errors.New("proxy: Options.PushURL is not an absolute URL without a query")
		}
		if o.PushSecret == "" {
			return nil, errors.New("proxy: Options.Push needs a PushSecret")
		}
		a.hooks = newHooks(u, o.PushSecret)
	}
	return a, nil
}

// nowhere is a card to test options with: no request is made.
var nowhere = &a2a.AgentCard{Name: "none", SupportedInterfaces: []*a2a.AgentInterface{
	{URL: "http://127.0.0.1:9", ProtocolBinding: a2a.BindingJSONRPC},
}}

// Handler receives the agent's posts if Options.Push is set. Serve it at PushURL and
// below, with PushURL's own path stripped. It needs no authentication in front: its
// addresses cannot be guessed. Without Push it answers 404.
func (a *Agent) Handler() http.Handler {
	if a.hooks == nil {
		return http.NotFoundHandler()
	}
	return a.hooks
}

// Close closes idle connections. Call it after the last Run has ended.
func (a *Agent) Close() error {
	a.client.HTTPClient.CloseIdleConnections()
	return nil
}

// dial returns the agent's client, and fetches the agent's card if there is none.
func (a *Agent) dial(ctx context.Context) (*a2aclient.Client, error) {
	if c := a.dialed.Load(); c != nil {
		return c, nil
	}
	select {
	case a.dialing <- struct{}{}:
		defer func() { <-a.dialing }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if c := a.dialed.Load(); c != nil {
		return c, nil
	}
	c, err := a2aclient.Dial(ctx, a.ref, a.client)
	if err == nil {
		a.dialed.Store(c)
	}
	return c, err
}

// forget makes the next dial fetch the card again, which may have changed, because c
// cannot reach the agent.
func (a *Agent) forget(c *a2aclient.Client) { a.dialed.CompareAndSwap(c, nil) }
