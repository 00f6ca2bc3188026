package main

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"slices"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/config"
)

// revision is what a server can be told anew while it runs: its agents, their
// cards, who may call, and limits. Nothing of it changes once it is made.
type revision struct {
	flags    *serveSetup
	local    bool
	public   string
	guard    *auth.Guard
	cardKeys []*auth.Key

	agents []*made
	begun  []*made // of agents, those that were not there before
	hosted []parley.Hosted
}

// revise makes a revision of what flags and file say. again makes new agents of
// commands even where nothing is said that is new.
func (s *serving) revise(ctx context.Context, f *serveSetup, agents []config.Agent, again bool) (*revision, error) {
	r := &revision{flags: f, local: f.local(s.addr)}
	var err error
	if r.public, err = publicURL(f.publicURL); err != nil {
		return nil, err
	}
	if err := f.auth.admit(r.local, s.addr); err != nil {
		return nil, err
	}
	if !r.local || f.auth.any() {
		f.limits.settle(f.set)
	}
	if old := s.now; old != nil && reflect.DeepEqual(old.flags.auth, f.auth) && reflect.DeepEqual(old.flags.proxies, f.proxies) {
		r.guard = old.guard // who has guessed too often is still known
	} else if r.guard, err = f.auth.guard(s.store, f.proxies, s.log); err != nil {
		return nil, err
	}
	if r.cardKeys, err = f.card.signing(); err != nil {
		return nil, err
	}
	s.maker.public = r.public
	for i := range agents {
		n, isNew, err := s.maker.make(ctx, &agents[i], lost{f.onLost, f.maxRuns}, again)
		if err != nil {
			r.discard(s.log)
			return nil, err
		}
		if isNew {
			r.begun = append(r.begun, n)
		}
		r.agents = append(r.agents, n)
	}
	r.ask(ctx)
	if err := r.host(); err != nil {
		r.discard(s.log)
		return nil, err
	}
	return r, nil
}

// host makes of the agents what the server gets.
func (r *revision) host() error {
	r.hosted = nil
	for _, n := range r.agents {
		h, err := r.hostOne(n)
		if err != nil {
			return err
		}
		r.hosted = append(r.hosted, h)
	}
	return nil
}

func (r *revision) hostOne(n *made) (parley.Hosted, error) {
	f := r.flags
	schemes := r.schemes()
	if slices.ContainsFunc(n.from.Card.Skills, func(s config.Skill) bool { return len(s.Scopes) > 0 }) && len(schemes) == 0 {
		return parley.Hosted{}, agentFailure(n.from.Name, errors.New("card.skills: there are scopes that callers need, and nobody says who calls: see auth"))
	}
	card, scoped := withCard(n.card, &n.from, schemes)
	f.egress.declare(&card)
	card, extended := profile(f.profile, card)
	if scoped != nil {
		f.egress.declare(scoped)
		extended = scoped
	}
	file := n.from.Card.Extended
	if f.card.extended != "" && n.from.Default {
		file = f.card.extended
	}
	extended, err := moreCard(file, &card, extended)
	if err != nil {
		return parley.Hosted{}, err
	}
	return parley.Hosted{
		Name: n.from.Name, Default: n.from.Default, Card: card, ExtendedCard: extended,
		Agent: n.agent, Callbacks: n.callbacks, Close: n.close,
	}, nil
}

// schemes are the names of the ways to authenticate.
func (r *revision) schemes() []string {
	var card a2a.AgentCard
	if r.guard == nil || r.guard.Declare(&card) != nil {
		return nil
	}
	names := make([]string, 0, len(card.SecuritySchemes))
	for name := range card.SecuritySchemes {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// discard closes what a revision began that does not come into being.
func (r *revision) discard(log *slog.Logger) {
	for _, n := range r.begun {
		if n.close == nil {
			continue
		}
		if err := n.close(); err != nil {
			log.Warn("an agent that was not begun could not be closed", "agent", n.from.Name, "err", err)
		}
	}
	r.begun = nil
}

// front is the index of the agent at /, or else of the first.
func (r *revision) front() int {
	return max(0, slices.IndexFunc(r.agents, func(n *made) bool { return n.from.Default }))
}

// path is where that is.
func (r *revision) path() string {
	if n := r.agents[r.front()]; !n.from.Default {
		return "/agents/" + n.from.Name
	}
	return ""
}

// settle has the maker know the agents of a revision that is in force.
func (r *revision) settle(m *maker) {
	m.made = map[string]*made{}
	for _, n := range r.agents {
		m.made[n.from.Name] = n
	}
	r.begun = nil
}

// options are what the server gets with a revision. Of some it takes notice only
// when it is made.
func (s *serving) options(r *revision) *parley.Options {
	f := r.flags
	return &parley.Options{
		Store: s.store, PublicURL: r.public, TrustedProxies: f.proxies, CardProfile: cardFor(f.profile), Logger: s.log,
		CardKeys: r.cardKeys, CardKeysURL: f.card.keysURL, CardStrict: f.card.strict,
		DeadAfter: f.deadAfter(), DrainWait: f.drain, Retries: f.retries, Retention: f.retention, Cache: int64(f.cache),
		Egress: f.egress.policy(r.local, s.log),
		Auth:   r.guard, Limits: f.limits.requests(), TaskLimits: f.limits.tasks(), Capacity: f.limits.capacity, MaxBody: int64(f.limits.body),
		Audit: s.audit.log, Origins: f.browser.origins, Hosts: f.browser.allowed(r.local && (r.guard == nil || r.guard.Anonymous()), s.addr),
	}
}

// banner is what a server says of itself when it runs.
func (s *serving) banner(r *revision) *banner {
	f := r.flags
	b := &banner{
		addr: s.addr, tls: f.tls.given(), public: r.public, keeps: !s.place.memory(), shared: s.place.shared(), tasks: s.place.String(),
		callers: f.auth.who(r.local), first: f.auth.first(s.place),
	}
	for _, n := range r.agents {
		b.agents = append(b.agents, bannerAgent{n.from.Name, n.what, n.from.Default})
		b.demo = b.demo || n.from.Default && n.from.Builtin == "demo"
	}
	return b
}
