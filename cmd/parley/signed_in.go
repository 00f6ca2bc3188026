package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/contexts"
	"github.com/parley-a2a/parley/internal/failure"
)

// signedIn is what parley auth login left for the agent of this invocation.
type signedIn struct {
	mu      sync.Mutex // protects the fields below; held while a token is renewed
	looked  bool
	kept    *contexts.SignIn // nil: there is nothing
	session *auth.OAuthSession
	said    bool // why it is of no use
	used    bool
}

// renewBefore is how long before its end a token is renewed.
const renewBefore = 30 * time.Second

// token returns the token for a request to an address of a card's agent; "" if the
// user has not signed in there.
func (a *app) token(ctx context.Context, card *a2a.AgentCard, to *url.URL) (string, error) {
	in := &a.signedIn
	in.mu.Lock()
	defer in.mu.Unlock()
	if err := a.lookSignIn(); err != nil || in.session == nil {
		return "", err
	}
	if err := in.session.For(card, to); err != nil {
		if !in.said {
			in.said = true
			a.stderr.Note("Warning", "you are not signed in: %v; %s", err, a.commands.Line("auth login"))
		}
		return "", nil
	}
	if !in.session.Good(renewBefore) {
		if err := a.renew(ctx); err != nil {
			return "", err
		}
	}
	in.used = true
	return in.session.Access, nil
}

// lookSignIn reads the sign-in once. An agent that nobody named gets none: anybody may
// be at its address.
func (a *app) lookSignIn() error {
	in := &a.signedIn
	if in.looked {
		return nil
	}
	in.looked = true
	if a.unnamed {
		return nil
	}
	kept, err := a.around.contexts.SignIns().Load(a.signInName(), a.signInContext())
	if err != nil || kept == nil {
		return err
	}
	return a.takeSignIn(kept)
}

func (a *app) takeSignIn(kept *contexts.SignIn) error {
	s := new(auth.OAuthSession)
	if err := json.Unmarshal(kept.Session, s); err != nil {
		return failure.Usagef("what you signed in with cannot be read").WithHint("sign in again: %s", a.commands.Line("auth login"))
	}
	a.hideSession(s)
	a.signedIn.kept, a.signedIn.session = kept, s
	return nil
}

func (a *app) hideSession(s *auth.OAuthSession) { a.stderr.Hide(s.Access, s.Refresh, s.ClientSecret) }

// renew gets another token, unless another process has just done so.
func (a *app) renew(ctx context.Context) error {
	in := &a.signedIn
	dir := a.around.contexts.SignIns()
	unlock, err := dir.Lock(ctx, in.kept)
	if err != nil {
		return err
	}
	defer unlock()
	kept, err := dir.Load(in.kept.Agent, in.kept.Context)
	if err != nil {
		return err
	}
	if kept == nil {
		return a.signedOut(errors.New("another process signed out"))
	}
	if err := a.takeSignIn(kept); err != nil || in.session.Good(renewBefore) {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	s, err := in.session.Renew(bounded, &http.Client{Transport: a.issuerClient().Transport})
	var refused *auth.OAuthError
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &refused) || in.session.Refresh == "":
		return a.signedOut(err)
	case in.session.Good(0):
		a.log.Debug("the token is not renewed yet", "err", err)
		return nil
	default:
		return failure.New(failure.CodeUnreachable, fmt.Sprintf("your token has expired, and its issuer does not answer: %v", err), err).WithHint("try again later")
	}
	a.hideSession(s)
	doc, err := json.Marshal(s)
	if err != nil {
		return err
	}
	in.session, in.kept = s, &contexts.SignIn{Agent: kept.Agent, Context: kept.Context, Session: doc}
	return dir.Save(in.kept)
}

func (a *app) signedOut(err error) error {
	return failure.New(failure.CodeAuthFailed, "your sign-in at this agent has ended: "+err.Error(), err).WithHint("sign in again: %s", a.commands.Line("auth login"))
}
