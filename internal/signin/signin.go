// Package signin uses the result of parley auth login: the tokens for one agent. It renews them
// shortly before they expire, in whichever process needs them first.
package signin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/contexts"
	"github.com/parley-a2a/parley/internal/failure"
)

// Tokens are the tokens for one agent. The exported fields are set before the first call, then
// constant. Its methods may be called concurrently.
type Tokens struct {
	Dir            contexts.SignIns
	Agent, Context string          // the key of the sign-in; without an agent there is none
	Client         *http.Client    // to issuers
	Hide           func(...string) // receives every secret
	Warn           func(error)     // receives the reason, once, why a sign-in cannot be used
	Again          string          // the command that signs in
	Log            *slog.Logger

	used atomic.Bool // a request had a token

	made    sync.Once
	turn    chan struct{} // held by a call that uses the fields below, and while it renews
	looked  bool
	kept    *contexts.SignIn // as last read from or written to the file; nil: no sign-in
	session *auth.OAuthSession
	warned  bool
}

const (
	// renewBefore is how long before its end a token is renewed.
	renewBefore = 30 * time.Second
	// lastAnswer is how long the issuer may take to answer after the request has ended.
	lastAnswer = 2 * time.Second
)

// Used reports whether a request had a token.
func (t *Tokens) Used() bool { return t.used.Load() }

// Token returns the token for a request to an address of a card's agent; "" if the
// user has not signed in there.
func (t *Tokens) Token(ctx context.Context, card *a2a.AgentCard, to *url.URL) (string, error) {
	t.made.Do(func() { t.turn = make(chan struct{}, 1) })
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	if err := t.look(); err != nil || t.session == nil {
		return "", err
	}
	if err := t.session.For(card, to); err != nil {
		if !t.warned {
			t.warned = true
			t.Warn(err)
		}
		return "", nil
	}
	if !t.session.Good(renewBefore) {
		if err := t.renew(ctx); err != nil {
			return "", err
		}
	}
	t.used.Store(true)
	return t.session.Access, nil
}

// look reads the sign-in once. If it cannot be read, every request fails: without its token the
// agent would take the user for somebody else.
func (t *Tokens) look() (err error) {
	if t.looked || t.Agent == "" {
		return nil
	}
	kept, err := t.Dir.Load(t.Agent, t.Context)
	if err == nil && kept != nil {
		err = t.take(kept)
	}
	t.looked = err == nil
	return err
}

func (t *Tokens) take(kept *contexts.SignIn) error {
	s := new(auth.OAuthSession)
	if err := json.Unmarshal(kept.Session, s); err != nil {
		return failure.Usagef("what you signed in with cannot be read").WithHint("sign in again: %s", t.Again)
	}
	t.Hide(Secrets(s)...)
	t.kept, t.session = kept, s
	return nil
}

// Secrets returns the secret texts of a session.
func Secrets(s *auth.OAuthSession) []string { return []string{s.Access, s.Refresh, s.ClientSecret} }

// renew gets another token, unless another process has just done so.
func (t *Tokens) renew(ctx context.Context) error {
	unlock, err := t.Dir.Lock(ctx, t.kept)
	if err != nil {
		return err
	}
	defer unlock()
	kept, err := t.Dir.Load(t.kept.Agent, t.kept.Context)
	if err != nil {
		return err
	}
	if kept == nil {
		return t.over(errors.New("another process signed out"))
	}
	// If the file is unchanged, this process has its content, or newer tokens that could not be
	// stored.
	if !bytes.Equal(kept.Session, t.kept.Session) {
		if err := t.take(kept); err != nil || t.session.Good(renewBefore) {
			return err
		}
	}
	// The answer has the next refresh token; the one that was sent is then used up.
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(lastAnswer, cancel) })()
	s, err := t.session.Renew(bounded, t.Client)
	var refused *auth.OAuthError
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &refused) && refused.Status < http.StatusInternalServerError && refused.Status != http.StatusTooManyRequests:
		return t.over(err) // an issuer that is overloaded or down has not refused
	case t.session.Good(0):
		t.Log.Debug("the token has not been renewed yet", "error", err)
		return nil
	case t.session.Refresh == "" && t.session.Grant != auth.GrantClient:
		return t.over(err)
	default:
		// For the client this is like an unreachable agent: nothing was sent, and it may try
		// again.
		lost := &a2aclient.TransportError{Host: t.session.TokenURL, Unreachable: true, Err: err}
		return failure.New(failure.CodeUnreachable, fmt.Sprintf("your token has expired, and its issuer did not renew it: %v", err), lost).WithHint("try again later")
	}
	t.Hide(Secrets(s)...)
	doc, err := json.Marshal(s)
	if err != nil {
		return err
	}
	t.session = s
	next := &contexts.SignIn{Agent: kept.Agent, Context: kept.Context, Session: doc}
	if err := t.Dir.Save(next); err != nil {
		return err
	}
	t.kept = next
	return nil
}

func (t *Tokens) over(err error) error {
	return failure.New(failure.CodeAuthFailed, "your sign-in at this agent has ended: "+err.Error(), err).WithHint("sign in again: %s", t.Again)
}
