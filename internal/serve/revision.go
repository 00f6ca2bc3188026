package serve

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"time"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/config"
)

// revision is the part of a host that can be replaced while it runs: its agents,
// their cards, who may call, and limits.
type revision struct {
	read     time.Time // when its settings were read
	settings *Settings
	local    bool
	public   string
	guard    *auth.Guard // nil: callers need no credentials
	cardKeys []*auth.Key

	agents  []*instance
	started []*instance // agents that the previous revision did not have; none once it is in force
	hosted  []parley.Hosted
}

// revise makes a revision from settings. again starts commands again even if their
// description is the same.
func (h *Host) revise(ctx context.Context, f *Settings, agents []config.Agent, again bool) (*revision, error) {
	r := &revision{read: time.Now(), settings: f, local: f.local(h.addr)}
	var err error
	if r.public, err = publicURL(f.publicURL); err != nil {
		return nil, err
	}
	if err := f.admit(r.local, h.addr); err != nil {
		return nil, err
	}
	if !r.local || f.auth.any() {
		f.limits.settle(f.set)
	}
	files := openFiles()
	if f.limits.fit(f.set, files) && h.now == nil {
		h.log.Warn("the process may open few files, half of which are for connections: raise the limit (ulimit -n, LimitNOFILE=)", "files", files, "connections", f.limits.connections)
	}
	if old := h.now; old != nil && reflect.DeepEqual(old.settings.auth, f.auth) && reflect.DeepEqual(old.settings.proxies, f.proxies) {
		r.guard = old.guard // it still knows callers that guessed too often
	} else if r.guard, err = f.auth.guard(h.store, f.proxies, h.log); err != nil {
		return nil, f.inFile(err)
	}
	if r.cardKeys, err = f.card.signing(); err != nil {
		return nil, err
	}
	h.factory.public = r.public
	for i := range agents {
		n, isNew, err := h.factory.make(&agents[i], f.lost(&agents[i]), again)
		if err != nil {
			r.discard(h.log)
			return nil, err
		}
		if isNew {
			r.started = append(r.started, n)
		}
		r.agents = append(r.agents, n)
	}
	r.fetchCards(ctx)
	if err := r.host(); err != nil {
		r.discard(h.log)
		return nil, err
	}
	return r, nil
}

// host sets the agents in the server's form.
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

func (r *revision) hostOne(n *instance) (parley.Hosted, error) {
	f := r.settings
	schemes, _ := f.auth.methods()
	slices.Sort(schemes)
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
	extended, err := extendedCard(file, &card, extended)
	if err != nil {
		return parley.Hosted{}, err
	}
	return parley.Hosted{
		Name: n.from.Name, Default: n.from.Default, Card: card, ExtendedCard: extended,
		Agent: n.agent, Callbacks: n.callbacks, Close: n.close,
	}, nil
}

// discard closes the agents that were started for a revision that is not used.
func (r *revision) discard(log *slog.Logger) {
	for _, n := range r.started {
		if n.close == nil {
			continue
		}
		if err := n.close(); err != nil {
			log.Warn("an agent that is not used could not be closed", "agent", n.from.Name, "error", err)
		}
	}
	r.started = nil
}

// front returns the index of the agent at /, or else of the first agent.
func (r *revision) front() int {
	return max(0, slices.IndexFunc(r.agents, func(n *instance) bool { return n.from.Default }))
}

// path returns the path of the front agent.
func (r *revision) path() string {
	if n := r.agents[r.front()]; !n.from.Default {
		return "/agents/" + n.from.Name
	}
	return ""
}

// commit makes the agents of a revision in force the current ones of the factory.
func (r *revision) commit(m *factory) {
	m.current = map[string]*instance{}
	for _, n := range r.agents {
		m.current[n.from.Name] = n
		if c := n.from.HTTP; c != nil && c.Callbacks { // the description may name no address while public_url has changed
			if at, err := m.callbackURL(c.CallbackURL, n.from.Name); err == nil {
				_ = m.callbacks[n.from.Name].Move(at) // it was checked with the agent, or with the address on the cards
			}
		}
	}
	r.started = nil
}

// options returns the server's options for a revision. Some of them only take effect
// when the server is made; see untilRestart.
func (h *Host) options(r *revision) *parley.Options {
	f := r.settings
	front := ""
	if h.pages != nil {
		front = ConsolePath
	}
	return &parley.Options{
		Beside: h.beside, Front: front,
		Store: h.store, PublicURL: r.public, TrustedProxies: f.proxies, CardProfile: cardFor(f.profile), Logger: h.log,
		CardKeys: r.cardKeys, CardKeysURL: f.card.keysURL, CardStrict: f.card.strict,
		DeadAfter: f.dead, DrainWait: f.drain, Retries: f.retries, Retention: f.retention, Cache: f.cache,
		Egress: f.egress.policy(r.local, h.log),
		Auth:   r.guard, Limits: f.limits.requests(), TaskLimits: f.limits.tasks(), Capacity: f.limits.capacity, MaxBody: f.limits.body,
		Audit: h.audit.log, Requests: h.requests(f), Origins: f.browser.origins, Hosts: h.hosts(r),
		TracerProvider: h.telemetry.TracerProvider, MeterProvider: h.telemetry.MeterProvider, TraceContent: f.telemetry.captures(h.env), Traceability: f.telemetry.traceability,
	}
}

// hosts returns the host names that requests may have; none: any.
func (h *Host) hosts(r *revision) []string {
	return r.settings.browser.allowed(r.local && (r.guard == nil || r.guard.Anonymous()), h.addr)
}
