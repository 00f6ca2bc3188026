package proxy

import (
	"context"
	"errors"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/egress"
)

// said returns what the agent reports with err, or nil.
func said(err error) *a2a.Error {
	e, _ := errors.AsType[*a2a.Error](err)
	return e
}

func unreachable(err error) bool {
	t, ok := errors.AsType[*a2aclient.TransportError](err)
	return ok && t.Unreachable && !misled(err)
}

// misled reports whether the agent named an address that is not allowed, or is itself
// at one that Options.Client refuses.
func misled(err error) bool {
	_, named := errors.AsType[*a2aclient.AddressError](err)
	_, refused := errors.AsType[*egress.Refused](err)
	return named || refused
}

// verdict says what an error means for a request to the agent.
type verdict int

const (
	fine    verdict = iota // no error
	away                   // the agent cannot have taken the request, and may take it later
	lost                   // the agent may have taken it
	refused                // the agent refuses the message itself
	final                  // it is no use to ask again
	other                  // the agent answered with another error
)

func judge(err error) verdict {
	e := said(err)
	_, own := errors.AsType[*fault](err)
	card, ofCard := errors.AsType[*a2aclient.CardError](err)
	transport, ofTransport := errors.AsType[*a2aclient.TransportError](err)
	switch {
	case err == nil:
		return fine
	case own, misled(err), ofCard && card.Kind != a2aclient.CardUnreachable:
		return final
	case ofCard, ofTransport && transport.Unreachable:
		return away
	case ofTransport:
		return lost
	case e == nil:
		return final
	}
	switch e.Code {
	case a2a.CodeTaskNotFound, a2a.CodeUnauthenticated, a2a.CodePermissionDenied, a2a.CodeVersionNotSupported:
		return final
	}
	if !e.Peer {
		return other
	}
	switch e.Code {
	case a2a.CodeRateLimited:
		return away
	case a2a.CodeUnavailable:
		return lost
	case a2a.CodeUnsupportedOperation, a2a.CodeInvalidParams, a2a.CodeInvalidRequest, a2a.CodeContentTypeNotSupported,
		a2a.CodeTooLarge, a2a.CodeConflict:
		return refused
	}
	return other
}

// explain turns an error into a reason for callers, and ends the agent's task if this
// side cannot go on with it.
func (r *run) explain(ctx context.Context, err error) error {
	if own, ok := errors.AsType[*fault](err); ok {
		err = own.err
	}
	var public *agent.PublicError
	switch {
	case err == nil, errors.Is(err, agent.ErrEnded):
		return err
	case errors.Is(err, agent.ErrTooLarge), errors.As(err, &public):
		r.abandon(ctx)
		return err
	}
	if e := reason(err, r.task != ""); e != "" {
		return agent.Public(e, err)
	}
	return err
}

// maxReason caps the agent's text about an error that is passed on, in bytes.
const maxReason = 2 << 10

// reason returns the reason for an error, within a task or before there was one.
func reason(err error, within bool) string {
	var card *a2aclient.CardError
	var t *a2aclient.TransportError
	e := said(err)
	switch {
	case misled(err):
		return "the agent behind this one is at an address that this server may not call; its operator can allow it"
	case errors.As(err, &card) && card.Kind == a2aclient.CardForbidden:
		return notLetIn
	case errors.As(err, &card) && card.Kind == a2aclient.CardRefused:
		return "this server does not trust the card of the agent behind this one"
	case errors.As(err, &card) && card.Kind != a2aclient.CardUnreachable:
		return "there is no agent where this server looks for the one behind this one"
	case judge(err) == away && (e == nil || e.Code != a2a.CodeRateLimited):
		if within {
			return "the agent behind this one can no longer be reached"
		}
		return "the agent behind this one cannot be reached"
	case errors.As(err, &t), e != nil && e.Peer && e.Code == a2a.CodeUnavailable:
		if within {
			return "the connection to the agent behind this one broke and did not come back"
		}
		return "the connection to the agent behind this one broke before it said whether it accepted the message; the message was not sent again"
	case e == nil:
		return "" // an error of this side, not for callers
	}
	switch e.Code {
	case a2a.CodeUnauthenticated, a2a.CodePermissionDenied:
		return notLetIn
	case a2a.CodeTaskNotFound:
		if within {
			return "the agent behind this one no longer knows the task"
		}
	case a2a.CodeRateLimited:
		return "the agent behind this one has too much to do; try again later"
	case a2a.CodeInvalidAgentResponse, a2a.CodeParse:
		return "the agent behind this one answered with something that the protocol does not have"
	case a2a.CodeLoop:
		return "the message came through too many agents"
	}
	if !e.Peer || e.Message == "" {
		return "the agent behind this one cannot do this: " + e.Code.String()
	}
	text := e.Message
	if len(text) > maxReason {
		text = text[:maxReason]
	}
	return "the agent behind this one refused: " + strings.ToValidUTF8(text, "")
}

const notLetIn = "the agent behind this one refused this server's credentials; the server's operator must correct them"
