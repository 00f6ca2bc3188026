package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent/httpagent"
	"github.com/parley-a2a/parley/agent/mcp"
	"github.com/parley-a2a/parley/agent/openai"
	"github.com/parley-a2a/parley/agent/proxy"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/flagvalue"
	"github.com/parley-a2a/parley/internal/keyfile"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/internal/wake"
)

// http makes an agent from an HTTP service.
func (m *factory) http(n *instance, c *config.HTTP, log *slog.Logger) error {
	client, err := plainClient(c.Egress, log)
	if err != nil {
		return err
	}
	o := &httpagent.Options{Client: client, Headers: c.Headers, Timeout: c.Timeout, Retries: retries(c.Retries), Concurrency: c.Concurrency, Logger: log, Body: c.Body, Answer: c.Answer}
	if c.Callbacks {
		at, err := m.callbackURL(c.CallbackURL, n.from.Name)
		if err != nil {
			return err
		}
		own, err := httpagent.NewCallbacks(at, m.secret)
		if err != nil {
			return err
		}
		// Later agents of this name share it: services call back, for messages under
		// way, at the address that they were given.
		if o.Callbacks = m.callbacks[n.from.Name]; o.Callbacks == nil {
			o.Callbacks = own
			m.callbacks[n.from.Name] = own
		}
		n.callbacks = o.Callbacks.Handler()
	}
	a, err := httpagent.New(c.URL, o)
	if err != nil {
		return err
	}
	n.agent = a
	n.card, n.madeUp = httpagent.Card(cmp.Or(n.from.Name, hostOf(c.URL))), true
	if c.Body != "" {
		n.card.DefaultInputModes = []string{"text/plain", "text/*", "application/json"}
	}
	n.what = "service at " + hostOf(c.URL)
	return nil
}

// retries converts the file's number for agents' Options, where 0 means the default and
// a negative number none.
func retries(n *int) int {
	switch {
	case n == nil:
		return 0
	case *n == 0:
		return -1
	}
	return *n
}

// openai makes an agent from a model, with its tools.
func (m *factory) openai(n *instance, c *config.OpenAI, log *slog.Logger) error {
	client, err := plainClient(c.Egress, log)
	if err != nil {
		return err
	}
	o := &openai.Options{
		APIKey: c.APIKey, Headers: c.Headers, System: c.System, SystemFile: c.SystemFile, Temperature: c.Temperature, MaxTokens: c.MaxTokens,
		Extra: c.Extra, History: c.History, Images: c.Images, Files: c.Files, FlushEvery: c.FlushEvery, Timeout: c.Timeout, Retries: retries(c.Retries),
		Concurrency: c.Concurrency, MaxToolCalls: c.MaxToolCalls, Client: client, Logger: log, MeterProvider: m.meters,
	}
	var boxes closers
	for i := range c.Tools {
		box, err := m.tools(&c.Tools[i], log)
		if err != nil {
			return errors.Join(err, boxes.close())
		}
		boxes = append(boxes, box)
		o.Tools = append(o.Tools, box)
	}
	a, err := openai.New(c.URL, c.Model, o)
	if err != nil {
		return errors.Join(err, boxes.close())
	}
	n.agent, n.close, n.models = a, append(boxes, a).close, a.Models
	n.card, n.madeUp = openai.Card(c.Model, o), true
	n.what = "model " + c.Model + " at " + hostOf(c.URL)
	return nil
}

// closers are closed from last to first.
type closers []io.Closer

func (list closers) close() error {
	var errs []error
	for _, c := range slices.Backward(list) {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// mcpServer converts the description of an MCP server for package mcp.
func mcpServer(c *config.MCP, log *slog.Logger) (mcp.Server, *mcp.Options, error) {
	s := mcp.Server{Command: c.Command, Dir: c.Dir, Env: environment(c.Env), URL: c.URL, Headers: c.Headers}
	o := &mcp.Options{Tools: c.Tools, Timeout: c.Timeout, Logger: log}
	if len(c.Command) > 0 {
		return s, o, commandFailure(c.Command[0], c.Dir, hasPath(c.Env))
	}
	var err error
	o.Client, err = plainClient(c.Egress, log)
	return s, o, err
}

func (m *factory) tools(c *config.MCP, log *slog.Logger) (*mcp.Tools, error) {
	if c.Name != "" {
		log = log.With("tools", c.Name)
	}
	s, o, err := mcpServer(c, log)
	if err != nil {
		return nil, err
	}
	return mcp.NewTools(s, o)
}

// mcp makes an agent from an MCP server's tools.
func (m *factory) mcp(n *instance, c *config.MCP, log *slog.Logger) error {
	s, o, err := mcpServer(c, log)
	if err != nil {
		return err
	}
	changed := make(chan struct{}, 1)
	o.Changed = func() { wake.Nudge(changed) }
	a, err := mcp.New(s, o)
	if err != nil {
		return err
	}
	n.agent, n.changed, n.fetch = a, changed, a.Card
	n.what = "MCP server " + QuoteAll(c.Command)
	if c.URL != "" {
		n.what = "MCP server at " + hostOf(c.URL)
	}
	n.card = standIn(n, "An MCP server whose tools are not known yet, because it does not answer.")
	return nil
}

// proxy makes an agent from another agent.
func (m *factory) proxy(n *instance, c *config.Proxy, log *slog.Logger) error {
	client, err := streamClient(c.Egress, log)
	if err != nil {
		return err
	}
	o := &proxy.Options{
		Client: client, Version: c.Version, Bearer: c.Bearer, APIKey: c.APIKey, Headers: c.Headers, Metadata: c.Metadata, Poll: c.Poll, Logger: log,
		AnyAddress: c.Egress != nil && len(c.Egress.Allow) > 0, // the client allows these addresses, and public ones over https
	}
	for _, b := range c.Bindings {
		names, err := flagvalue.ParseBindings(b)
		if err != nil {
			return err
		}
		o.Bindings = append(o.Bindings, names...)
	}
	if c.Basic != "" {
		user, password, ok := strings.Cut(c.Basic.Reveal(), ":")
		if !ok {
			return errors.New("basic: must be user:password")
		}
		o.User, o.Password = user, a2a.Secret(password)
	}
	if len(c.Verify) > 0 {
		o.CheckCard = func(ctx context.Context, doc []byte) ([]byte, error) {
			signed, _, err := n.trust.Check(ctx, doc)
			return signed, err
		}
	}
	if c.Push {
		o.Push, o.PushSecret = true, m.secret
		if o.PushURL, err = m.callbackURL(c.PushURL, n.from.Name); err != nil {
			return err
		}
	}
	a, err := proxy.New(c.Agent, o)
	if err != nil {
		return err
	}
	n.agent, n.fetch = a, a.Card
	if c.Push {
		n.callbacks = a.Handler()
	}
	n.what = "agent at " + hostOf(c.Agent)
	n.card = standIn(n, "Another agent, whose card is not known yet, because it does not answer.")
	return nil
}

// trustOf reads the keys in files.
func trustOf(files []string) (*keyfile.Trust, error) {
	trust := new(keyfile.Trust)
	for _, file := range files {
		if err := trust.Add(file); err != nil {
			return nil, fmt.Errorf("verify: %w", err)
		}
	}
	return trust, nil
}

// standIn returns a card for an agent whose own card is not known yet.
func standIn(n *instance, description string) a2a.AgentCard {
	return a2a.AgentCard{
		Name: cmp.Or(n.from.Name, n.what), Description: description, Version: "0.0.0", DefaultInputModes: []string{"*/*"}, DefaultOutputModes: []string{"*/*"},
	}
}

// hostOf returns the host of a URL, without credentials.
func hostOf(s string) string {
	if u, err := url.Parse(s); err == nil && u.Host != "" {
		return u.Host
	}
	return plain.Quote(s)
}

// callbackURL returns the URL for an agent's callbacks: below the address that the
// operator gives, or else the one on the cards, or else, for services on this machine,
// the server's own.
func (m *factory) callbackURL(base, name string) (string, error) {
	if base = cmp.Or(base, m.public, m.own); base == "" {
		return "", errors.New("callbacks need public_url, or an address of their own")
	}
	return strings.TrimRight(base, "/") + "/callbacks/" + cmp.Or(name, "default") + "/", nil
}
