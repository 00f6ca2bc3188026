package auth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// Method is one way to authenticate. Its methods are called by many goroutines
// at once.
type Method interface {
	// Scheme returns the card's description of the method, under a name that no other
	// method of a Guard has.
	Scheme() (name string, s *a2a.SecurityScheme)
	// Authenticate looks for credentials of this kind in a request. If there are none
	// it returns nil and nil. If they are wrong, errors.Is with ErrCredentials holds
	// for the error; its text is logged for operators, and has no secret in it. Any
	// other error means that the credentials cannot be checked at the moment.
	//
	// Subjects must be different from those of all other methods, even by accident:
	// each method prepends its own word.
	Authenticate(r *http.Request) (*a2a.Caller, error)
	// Challenge returns the value of WWW-Authenticate that asks for such credentials,
	// or "" if the header has no scheme for them.
	Challenge() string
}

// Runner is a Method that has work to do beside requests. Run returns when ctx
// ends and all is quiet.
type Runner interface {
	Run(ctx context.Context) error
}

// ErrCredentials says that the credentials of a request are wrong.
var ErrCredentials = errors.New("auth: wrong credentials")

// GuardOptions adjusts a Guard. A nil *GuardOptions means all defaults.
type GuardOptions struct {
	// Anonymous lets in callers without any credentials. They share all tasks that
	// they make. Callers with wrong credentials are refused all the same.
	Anonymous bool
	// Realm is the realm in challenges. Empty means "a2a".
	Realm string
	// Failures is how many wrong credentials may come from one address, or for one
	// user, in a minute; after that each further attempt has to wait, longer each time.
	// Zero means 10; negative, no limit.
	Failures int
	// Address returns where a request comes from. Nil takes the connection's address,
	// which is that of a proxy if there is one in front.
	Address func(*http.Request) string
	// Now is the clock. Nil means time.Now.
	Now func() time.Time
}

// Guard identifies the caller of a request. Its methods are alternatives, but all
// credentials in a request have to be good: of several good ones those of the first
// method count. Wrong ones are refused even beside good ones, because their sender does
// not mean to be identified by the others. Credentials that no method knows matter only
// if there are no others: then the caller is refused, even by a guard that lets in
// callers without any.
//
// It is the Identity of a server (package a2aserver), and declares on the card what it
// checks.
type Guard struct {
	methods  []Method
	opts     GuardOptions
	failures failures
}

// NewGuard returns a Guard of one or more methods. Put client certificates last: a key
// or a token says more about the caller than the connection.
func NewGuard(methods []Method, o *GuardOptions) (*Guard, error) {
	if len(methods) == 0 {
		return nil, errors.New("auth: a guard needs a method")
	}
	g := &Guard{methods: slices.Clone(methods)}
	if o != nil {
		g.opts = *o
	}
	g.opts.Realm = cmp.Or(g.opts.Realm, "a2a")
	if strings.ContainsFunc(g.opts.Realm, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) {
		return nil, errors.New("auth: a realm is made of printable characters of ASCII other than \" and \\") // it is written between two quotes
	}
	if g.opts.Address == nil {
		g.opts.Address = func(r *http.Request) string { return r.RemoteAddr }
	}
	g.failures.init(g.opts.Failures, clockOf(g.opts.Now))
	names := map[string]bool{}
	for _, m := range methods {
		name, _ := m.Scheme()
		if names[name] {
			return nil, fmt.Errorf("auth: there are two methods called %s: give one of them another name", name)
		}
		names[name] = true
	}
	return g, nil
}

// Anonymous reports whether callers without credentials are let in.
func (g *Guard) Anonymous() bool { return g.opts.Anonymous }

// Declare writes on a card what the guard checks (specification §4.5, §7.3). A card
// that has security schemes already is an error: nothing would enforce them.
func (g *Guard) Declare(card *a2a.AgentCard) error {
	if len(card.SecuritySchemes) > 0 || len(card.SecurityRequirements) > 0 {
		return errors.New("auth: the card has security schemes of its own; those of the guard are added by itself")
	}
	card.SecuritySchemes = map[string]*a2a.SecurityScheme{}
	for _, m := range g.methods {
		name, s := m.Scheme()
		card.SecuritySchemes[name] = s
		card.SecurityRequirements = append(card.SecurityRequirements, a2a.SecurityRequirement{name: {}})
	}
	if g.opts.Anonymous {
		card.SecurityRequirements = append(card.SecurityRequirements, a2a.SecurityRequirement{})
	}
	return nil
}

// Inherit takes over the state of an earlier guard: who sent wrong credentials and has
// to wait, and the keys of the same issuers (NewOIDC), which are used until an issuer
// answers this guard, as the earlier one would have used them. Call it before the guard
// is used.
func (g *Guard) Inherit(before *Guard) {
	g.failures.inherit(&before.failures)
	for _, m := range g.methods {
		is, ok := m.(*OIDC)
		if !ok {
			continue
		}
		for _, m := range before.methods {
			if was, ok := m.(*OIDC); ok && was.issuer == is.issuer {
				is.keys.inherit(was.keys)
			}
		}
	}
}

// Run does the work that the methods have beside requests, until ctx ends.
func (g *Guard) Run(ctx context.Context) error {
	var all sync.WaitGroup
	errs := make([]error, len(g.methods))
	for i, m := range g.methods {
		if r, ok := m.(Runner); ok {
			all.Go(func() { errs[i] = r.Run(ctx) })
		}
	}
	<-ctx.Done()
	all.Wait()
	return errors.Join(errs...)
}

// Authenticate returns the caller of a request.
func (g *Guard) Authenticate(r *http.Request) (a2a.Caller, error) {
	return g.caller(r, g.ask, g.refusal)
}

// Again returns the caller of a request that was let in before and is still being
// answered: the same one or, if a key was revoked, a token has expired or a password
// has changed, an error. It counts nothing as guessing, and seldom compares a password.
func (g *Guard) Again(r *http.Request) (a2a.Caller, error) {
	return g.caller(r, askAgain, expired)
}

// caller asks all methods. tell turns an error into what the caller is told.
func (g *Guard) caller(r *http.Request, ask func(Method, *http.Request) (*a2a.Caller, origin, error), tell func(*http.Request, origin, error) error) (a2a.Caller, error) {
	var caller *a2a.Caller
	var foreign error // why credentials are for another method
	for _, m := range g.methods {
		c, from, err := ask(m, r)
		switch {
		case errors.Is(err, errElsewhere):
			foreign = err
		case err != nil:
			return a2a.Caller{}, tell(r, from, err)
		case c != nil && c.Subject == "":
			return a2a.Caller{}, nameless(m)
		case caller == nil:
			caller = c
		}
	}
	if caller != nil {
		return *caller, nil
	}
	if foreign == nil {
		foreign = unread(r)
	}
	switch {
	case foreign != nil:
		return a2a.Caller{}, tell(r, origin{address: g.address(r)}, foreign)
	case g.opts.Anonymous:
		return a2a.Caller{}, nil
	}
	return a2a.Caller{}, a2a.Errorf(a2a.CodeUnauthenticated, "credentials are needed; the agent's card says of which kinds")
}

// ask lets a method look for credentials. Before the method looks at a password, ask
// makes sure that the caller does not have to wait because of wrong guesses.
func (g *Guard) ask(m Method, r *http.Request) (*a2a.Caller, origin, error) {
	b, ok := m.(*Basic)
	if !ok {
		c, err := m.Authenticate(r)
		return c, origin{}, err
	}
	var from origin
	c, err := b.login(r, goodFor, func(user string) error {
		from = origin{g.address(r), user}
		if wait := g.failures.wait(from); wait > 0 {
			return &slowDown{wait}
		}
		return nil
	})
	if c != nil && err == nil {
		g.failures.succeed(from)
	}
	return c, from, err
}

// askAgain is ask for a caller that was let in before, and so does not guess.
func askAgain(m Method, r *http.Request) (c *a2a.Caller, _ origin, err error) {
	if b, ok := m.(*Basic); ok {
		c, err = b.login(r, math.MaxInt64, func(string) error { return nil })
	} else {
		c, err = m.Authenticate(r)
	}
	return c, origin{}, err
}

// nameless returns the error for a method that lets in a caller without a subject: what
// such callers make would belong to all who have no credentials.
func nameless(m Method) error {
	name, _ := m.Scheme()
	return &a2a.Error{Code: a2a.CodeInternal, Cause: fmt.Errorf("auth: the method %q lets in a caller without a subject", name)}
}

// unread returns what is wrong with an Authorization header that no method accepted as
// its own.
func unread(r *http.Request) error {
	scheme, _, err := authorization(r)
	if err == nil && scheme != "" {
		err = refuse("the agent does not accept credentials of this kind; its card says which it accepts")
	}
	return err
}

func (g *Guard) address(r *http.Request) string { return addressOf(g.opts.Address(r)) }

// clockOf returns the clock that options name; nil means time.Now.
func clockOf(now func() time.Time) func() time.Time {
	if now == nil {
		return time.Now
	}
	return now
}
