package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// refusal says why credentials are not good. The caller gets its text, which is written
// here, has nothing of the credentials in it, and is the same for callers who must not
// know the difference.
type refusal struct {
	text string
	once bool // they were good once: nobody is guessing
}

func (r *refusal) Error() string { return ErrCredentials.Error() + ": " + r.text }

func (r *refusal) Is(target error) bool { return target == ErrCredentials }

// refuse returns an error about credentials that are malformed or made up.
func refuse(format string, args ...any) error {
	return &refusal{text: fmt.Sprintf(format, args...)}
}

// outdated returns an error about credentials that were good once.
func outdated(text string) error { return &refusal{text: text, once: true} }

// slowDown says why a password is not even looked at.
type slowDown struct{ wait time.Duration }

func (*slowDown) Error() string { return "auth: too many wrong credentials before these" }

// refusal returns the error that a caller gets, and counts wrong credentials.
func (g *Guard) refusal(r *http.Request, from origin, err error) error {
	if slow, ok := errors.AsType[*slowDown](err); ok {
		return rateLimited(slow.wait, err)
	}
	if !errors.Is(err, ErrCredentials) {
		if r.Context().Err() != nil {
			return context.Cause(r.Context())
		}
		return &a2a.Error{Code: a2a.CodeUnavailable, Message: "your credentials cannot be checked at the moment: try again shortly", Cause: err}
	}
	e := &a2a.Error{Code: a2a.CodeUnauthenticated, Message: "your credentials are not valid, or have expired: get new ones", Cause: err}
	if why, ok := errors.AsType[*refusal](err); ok {
		e.Message = "your credentials are not valid: " + why.text
		if why.once {
			return e // a caller that has to wait would not learn that it needs new ones
		}
	}
	if from.address == "" {
		from.address = g.address(r)
	}
	if wait := g.failures.wait(from); wait > 0 {
		return rateLimited(wait, err)
	}
	g.failures.fail(from)
	return e
}

// expired returns the error for a caller who was let in before.
func expired(r *http.Request, _ origin, err error) error {
	var why *refusal
	switch {
	case !errors.Is(err, ErrCredentials) && r.Context().Err() != nil:
		return context.Cause(r.Context())
	case !errors.Is(err, ErrCredentials):
		return &a2a.Error{Code: a2a.CodeUnavailable, Message: "your credentials cannot be checked at the moment", Cause: err}
	case errors.As(err, &why):
		return &a2a.Error{Code: a2a.CodeUnauthenticated, Message: "your credentials are no longer valid: " + why.text, Cause: err}
	}
	return &a2a.Error{Code: a2a.CodeUnauthenticated, Message: "your credentials are no longer valid: get new ones", Cause: err}
}

func rateLimited(wait time.Duration, cause error) *a2a.Error {
	return &a2a.Error{
		Code: a2a.CodeRateLimited, RetryAfter: wait, Cause: cause,
		Message: "too many wrong credentials came from your address or for this user: wait, then try again with valid ones",
	}
}

// Challenges returns the values of WWW-Authenticate for an answer with e, one
// for each scheme, in the order of the methods.
func (g *Guard) Challenges(e *a2a.Error) []string {
	var list []string
	seen := map[string]bool{}
	for _, m := range g.methods {
		scheme, params, _ := strings.Cut(m.Challenge(), " ")
		if scheme == "" || seen[scheme] {
			continue
		}
		seen[scheme] = true
		if !strings.HasPrefix(params, "realm=") {
			params = strings.TrimSuffix(fmt.Sprintf("realm=%q, %s", g.opts.Realm, params), ", ")
		}
		bearer := scheme == "Bearer"
		switch {
		case e.Code == a2a.CodePermissionDenied && (!bearer || e.Meta["scope"] == ""):
			continue // other schemes have no parameter for it
		case e.Code == a2a.CodePermissionDenied:
			params += fmt.Sprintf(`, error="insufficient_scope", scope=%q`, e.Meta["scope"])
		case bearer && errors.Is(e.Cause, ErrCredentials):
			params += `, error="invalid_token"`
		}
		list = append(list, scheme+" "+params)
	}
	return list
}
