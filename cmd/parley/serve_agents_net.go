package main

import (
	"fmt"
	"log/slog"
	"net/http"

	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/egress"
)

// neverAgents are addresses that no agent is at, and that a redirect or a name
// must not lead to: those of link-local networks, where clouds keep credentials,
// and their like elsewhere.
var neverAgents = []string{
	"169.254.0.0/16", "fe80::/10", "100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::/32", "fd20:ce::/32", "fd00:42::42",
}

// agentPolicy says where the requests of an agent may go. The operator names their
// targets, on this machine and in its network as well; so without rules all is
// open but what nobody means.
func agentPolicy(c *config.Egress, log *slog.Logger) (*egress.Policy, error) {
	p := &egress.Policy{Logger: log}
	var allow, deny egressRules
	if c == nil {
		c = new(config.Egress)
	}
	for _, s := range c.Allow {
		if err := allow.Set(s); err != nil {
			return nil, fmt.Errorf("egress.allow: %s %w", quote(s), err)
		}
	}
	if len(c.Allow) == 0 {
		for _, s := range []string{"http://*", "http://0.0.0.0/0", "http://::/0"} { // names, and where they lead
			if err := allow.Set(s); err != nil {
				return nil, err
			}
		}
		for _, s := range neverAgents {
			if err := deny.Set(s); err != nil {
				return nil, err
			}
		}
	}
	for _, s := range c.Deny {
		if err := deny.Set(s); err != nil {
			return nil, fmt.Errorf("egress.deny: %s %w", quote(s), err)
		}
	}
	p.Allow, p.Deny = allow, deny
	if c.Proxy != "" {
		var via proxyURL
		if err := via.Set(c.Proxy); err != nil {
			return nil, fmt.Errorf("egress.proxy: %w", err)
		}
		p.Proxy = via.URL
	}
	return p, nil
}

// unbounded leaves to agents how long answers take and how large they are.
var unbounded = &egress.Limits{Timeout: -1, Body: -1, PerHost: -1}

// plainClient makes the requests of an agent.
func plainClient(c *config.Egress, log *slog.Logger) (*http.Client, error) {
	p, err := agentPolicy(c, log)
	if err != nil {
		return nil, err
	}
	return p.Client(unbounded), nil
}

// streamClient is for the A2A client, which copies its transport to speak gRPC and
// follows redirects by rules of its own; the transport judges each address.
func streamClient(c *config.Egress, log *slog.Logger) (*http.Client, error) {
	p, err := agentPolicy(c, log)
	if err != nil {
		return nil, err
	}
	t := p.Transport(unbounded)
	t.MaxIdleConnsPerHost = 64
	t.ReadBufferSize, t.WriteBufferSize = 4<<10, 4<<10 // there may be a thousand streams
	return &http.Client{Transport: t}, nil
}
