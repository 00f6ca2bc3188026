package serve

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/http"
	"slices"

	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/egress"
	"github.com/parley-a2a/parley/internal/plain"
)

// neverAgents are addresses that no redirect or host name may lead to: those at which
// clouds keep credentials, in link-local networks and elsewhere.
var neverAgents = []string{
	"169.254.0.0/16", "fe80::/10", "100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::/32", "fd20:ce::/32", "fd00:42::42",
}

// agentPolicy returns the policy for the requests of an agent. The operator names their
// targets, which may be on this machine and in its network; so without rules everything
// but neverAgents is allowed.
func agentPolicy(c *config.Egress, log *slog.Logger) (*egress.Policy, error) {
	c = cmp.Or(c, new(config.Egress))
	allow, deny := c.Allow, c.Deny
	if len(allow) == 0 {
		allow = []string{"http://*", "http://0.0.0.0/0", "http://::/0"} // host names, and the addresses behind them
		deny = slices.Concat(neverAgents, deny)
	}
	p := &egress.Policy{Logger: log, Patient: true}
	var err error
	if p.Allow, err = egressRules(allow); err != nil {
		return nil, fmt.Errorf("egress.allow: %w", err)
	}
	if p.Deny, err = egressRules(deny); err != nil {
		return nil, fmt.Errorf("egress.deny: %w", err)
	}
	if c.Proxy != "" {
		if p.Proxy, err = egress.ParseProxy(c.Proxy); err != nil {
			return nil, fmt.Errorf("egress.proxy: %w", err)
		}
	}
	return p, nil
}

func egressRules(hosts []string) ([]egress.Rule, error) {
	var rules []egress.Rule
	for _, s := range hosts {
		rule, err := egress.ParseRule(s)
		if err != nil {
			return nil, fmt.Errorf("%s %w", plain.Quote(s), err)
		}
		rules = append(rules, rule)
	}
	return rules, nil
}

// plainClient returns the client for an agent's requests.
func plainClient(c *config.Egress, log *slog.Logger) (*http.Client, error) {
	p, err := agentPolicy(c, log)
	if err != nil {
		return nil, err
	}
	return p.Client(), nil
}

// streamClient returns a client for a2aclient, which copies its transport to speak
// gRPC and follows redirects by rules of its own; the transport checks each address.
func streamClient(c *config.Egress, log *slog.Logger) (*http.Client, error) {
	p, err := agentPolicy(c, log)
	if err != nil {
		return nil, err
	}
	t := p.Transport()
	t.MaxIdleConnsPerHost = 64
	t.ReadBufferSize, t.WriteBufferSize = 4<<10, 4<<10 // there may be a thousand streams
	return &http.Client{Transport: t}, nil
}
