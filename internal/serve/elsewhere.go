package serve

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	web "github.com/parley-a2a/parley/internal/console"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/plain"
)

// elsewhere calls agents of other servers for the console, under the rules of webhooks:
// an operator chooses the address, and must not reach services that only the server
// can.
type elsewhere struct {
	h      *Host
	client *http.Client
}

// Time limits for looking at an agent.
const (
	elsewhereTime = 20 * time.Second // for its card, and for a call
	tryTime       = 8 * time.Second  // for all versions and bindings
)

func newElsewhere(h *Host) *elsewhere {
	policy := h.now.settings.egress.policy(h.now.local, h.log)
	policy.Patient = true
	t := policy.Transport()
	t.MaxIdleConnsPerHost = 4
	return &elsewhere{h, &http.Client{Transport: t}}
}

func (e *elsewhere) options() *a2aclient.Options {
	return &a2aclient.Options{HTTPClient: e.client, UnaryTimeout: elsewhereTime, Retries: 2}
}

// find implements console.Options.Elsewhere. It refuses references to files of this
// machine.
func (e *elsewhere) find(ctx context.Context, ref string) (*web.Foreign, error) {
	at := a2a.WebURL(ref)
	if at == nil {
		return nil, errors.New("expected the https or http URL of an agent or of its card, such as https://agent.example.org")
	}
	ctx, cancel := context.WithTimeout(ctx, elsewhereTime)
	defer cancel()
	c, err := a2aclient.Dial(ctx, ref, e.options())
	if err != nil {
		return nil, errors.New(plain.Line(err.Error()))
	}
	card := c.Card()
	return &web.Foreign{
		Card: card, Service: &audited{Service: c, h: e.h, agent: at.Host}, Findings: messages(cardFindings(card, false)),
		Try: func(ctx context.Context) []web.Attempt { return e.try(ctx, card) },
	}, nil
}

// try makes a request in every version and binding at once.
func (e *elsewhere) try(ctx context.Context, card *a2a.AgentCard) []web.Attempt {
	ctx, cancel := context.WithTimeout(ctx, tryTime)
	defer cancel()
	var list []web.Attempt
	for _, binding := range []string{a2a.BindingJSONRPC, a2a.BindingHTTPJSON, a2a.BindingGRPC} {
		for _, version := range dialect.Versions {
			list = append(list, web.Attempt{Version: version, Binding: binding})
		}
	}
	var work sync.WaitGroup
	for i := range list {
		work.Go(func() { e.attempt(ctx, card, &list[i]) })
	}
	work.Wait()
	return list
}

func (e *elsewhere) attempt(ctx context.Context, card *a2a.AgentCard, a *web.Attempt) {
	d, ok := dialect.ParseVersion(a.Version)
	if !ok || !d.Speaks(a.Binding) {
		return
	}
	o := e.options()
	o.Version, o.Bindings, o.Retries, o.UnaryTimeout = a.Version, []string{a.Binding}, -1, tryTime
	c, err := a2aclient.New(card, o)
	if err != nil || c.Interface().ProtocolBinding != a.Binding {
		return
	}
	a.Offered = true
	began := time.Now()
	_, err = c.GetTask(ctx, &a2a.GetTaskRequest{ID: uuid.NewString()})
	a.Took = time.Since(began)
	switch said, ok := errors.AsType[*a2a.Error](err); {
	case err == nil, errors.Is(err, a2a.ErrTaskNotFound):
		a.Answers, a.Words = true, "answers"
	case ok && said.Peer && said.Code == a2a.CodeUnauthenticated:
		a.Answers, a.Words = true, "asks for credentials"
	case errors.Is(err, context.DeadlineExceeded):
		a.Words = "no answer in time"
	case ok:
		a.Words = plain.Line(said.Message)
	default:
		a.Words = plain.Line(err.Error())
	}
	if r := []rune(a.Words); len(r) > 80 {
		a.Words = string(r[:80]) + "…"
	}
}
