package serve

import (
	"context"
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/parley-a2a/parley/agent/openai"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/plain"
)

// upstreamTime is how long one upstream may take to answer.
const upstreamTime = 5 * time.Second

// upstreams contacts the services behind the agents, all at once, as the server does
// when it starts. A service of --http gets a HEAD, which asks it for no work.
func (d *doctor) upstreams(ctx context.Context, r *report) {
	ctx, cancel := context.WithTimeout(ctx, upstreamTime)
	defer cancel()
	own := make([]report, len(d.rev.agents))
	var work sync.WaitGroup
	for i, n := range d.rev.agents {
		own[i].check = r.check
		work.Go(func() { d.upstream(ctx, &own[i], n) })
	}
	work.Wait()
	for i := range own {
		r.found = append(r.found, own[i].found...)
	}
	if len(r.found) == 0 {
		r.ok("no agent needs another service")
	}
}

func (d *doctor) upstream(ctx context.Context, r *report, n *instance) {
	const look = "see whether it runs there, and whether this machine reaches it (a proxy, a firewall, egress: in parley.yaml)"
	switch {
	case n.models != nil:
		c := n.from.OpenAI
		names, err := n.models(ctx)
		switch {
		case errors.Is(err, openai.ErrNoList):
			r.ok("%s: reachable; it does not say which models it has", n.label())
		case err != nil:
			r.problem(look, "%s: not reachable: %s", n.label(), reachReason(err))
		case !hasModel(names, c.Model):
			r.problem("name one of them with --model, or load it there", "%s: %s is not there, but %s", n.label(), plain.Quote(c.Model), listModels(names))
		default:
			r.ok("%s: reachable, and has the model", n.label())
		}
	case n.fetch != nil:
		card, err := n.fetch(ctx)
		if n.unknown = err; err != nil {
			todo := look
			if m := n.from.MCP; m != nil && len(m.Command) > 0 {
				todo = "run the command yourself, and see what it prints"
			}
			r.problem(todo, "%s: %s", n.label(), reachReason(err))
			return
		}
		n.card = card
		r.ok("%s: answers as %s", n.label(), plain.Quote(card.Name))
	case n.from.HTTP != nil:
		status, _, err := head(ctx, n.from.HTTP.Egress, n.from.HTTP.URL)
		switch {
		case err != nil:
			r.problem(look, "%s: not reachable: %s", n.label(), reachReason(err))
		case status == http.StatusBadGateway || status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout:
			r.warn("look at the log of the proxy in front of it, and whether the service runs", "%s: answers %d", n.label(), status)
		default:
			r.ok("%s: reachable (HEAD is answered with %d)", n.label(), status)
		}
	}
}

// head sends a HEAD, and returns the status and how far the peer's clock is ahead.
func head(ctx context.Context, c *config.Egress, url string) (status int, ahead *time.Duration, err error) {
	client, err := plainClient(c, nil)
	if err != nil {
		return 0, nil, err
	}
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, url, nil)
	if err != nil {
		return 0, nil, err
	}
	asked := time.Now()
	resp, err := client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	_ = resp.Body.Close()
	took := time.Since(asked)
	if date, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		// The header counts whole seconds: on average it is half a second behind.
		by := date.Add(time.Second / 2).Sub(asked.Add(took / 2)).Round(time.Second)
		ahead = &by
	}
	return resp.StatusCode, ahead, nil
}

// issuer requests the keys of the token issuer.
func (d *doctor) issuer(ctx context.Context, r *report) {
	if d.auth.oidcIssuer == "" {
		r.ok("no token issuer is configured")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, upstreamTime)
	defer cancel()
	m, err := auth.NewOIDC(d.auth.oidcIssuer, d.auth.oidcAudiences, nil)
	if err == nil {
		err = m.Reach(ctx)
	}
	if err != nil {
		r.problem("open "+strings.TrimSuffix(d.auth.oidcIssuer, "/")+"/.well-known/openid-configuration from this machine; callers with tokens are refused until it answers", "%s: %s", plain.Quote(d.auth.oidcIssuer), reachReason(err))
		return
	}
	r.ok("%s has keys to verify tokens with", plain.Quote(d.auth.oidcIssuer))
}

// Differences between clocks: the largest that a network and whole seconds explain, and
// the smallest that makes tokens and certificates fail.
const (
	someSkew = 5 * time.Second
	muchSkew = time.Minute
	maxPeers = 3 // that are asked for the time
)

// clock compares the clock with those of the upstreams and the issuer, with the newest
// change in the database, and with the time that has passed.
func (d *doctor) clock(ctx context.Context, r *report) {
	now := time.Now()
	if by := jump(now.Round(0).Sub(d.began.Round(0)), now.Sub(d.began)); by != 0 {
		r.warn(timeService, "the clock was moved by %s during these checks", by)
	}
	if d.location.File != "" {
		if st, err := os.Stat(d.location.File); err == nil && st.ModTime().After(now.Add(someSkew)) {
			r.problem(timeService, "the database was changed on %s, and this machine's clock says %s", plain.Date(st.ModTime()), plain.Date(now))
		}
	}
	compared := 0
	for _, p := range d.peers() {
		asking, done := context.WithTimeout(ctx, upstreamTime/2)
		_, ahead, err := head(asking, p.egress, p.url)
		done()
		if err != nil || ahead == nil {
			continue
		}
		compared++
		judgeClock(r, hostOf(p.url), *ahead)
	}
	if len(r.found) > 0 {
		return
	}
	if compared == 0 {
		r.ok("%s; there is no other clock to compare it with", plain.Date(now))
		return
	}
	r.ok("%s, as %s says", plain.Date(now), plain.Count(compared, "other clock"))
}

const timeService = "have the system set the clock: timedatectl set-ntp true, or chrony; certificates, tokens and leases go by it"

func judgeClock(r *report, host string, ahead time.Duration) {
	word := "behind"
	if ahead < 0 {
		word = "ahead of"
	}
	switch by := ahead.Abs(); {
	case by > muchSkew:
		r.problem(timeService, "this machine's clock is %s %s that of %s", by, word, host)
	case by > someSkew:
		r.warn(timeService, "this machine's clock is %s %s that of %s", by, word, host)
	}
}

// jump returns by how much the clock was moved while the given time passed; 0 if it was
// not.
func jump(wall, passed time.Duration) time.Duration {
	if by := (wall - passed).Round(time.Second); by.Abs() >= 2*time.Second {
		return by
	}
	return 0
}

type peer struct {
	url    string
	egress *config.Egress
}

// peers returns the services whose clocks can be read, each host once.
func (d *doctor) peers() (list []peer) {
	add := func(url string, e *config.Egress) {
		known := slices.ContainsFunc(list, func(p peer) bool { return hostOf(p.url) == hostOf(url) })
		if url != "" && strings.Contains(url, "://") && !known && len(list) < maxPeers {
			list = append(list, peer{url, e})
		}
	}
	add(d.auth.oidcIssuer, nil)
	for _, c := range d.described {
		switch {
		case c.HTTP != nil:
			add(c.HTTP.URL, c.HTTP.Egress)
		case c.OpenAI != nil:
			add(c.OpenAI.URL, c.OpenAI.Egress)
		case c.Proxy != nil:
			add(c.Proxy.Agent, c.Proxy.Egress)
		case c.MCP != nil:
			add(c.MCP.URL, c.MCP.Egress)
		}
	}
	return list
}
