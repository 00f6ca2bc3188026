package a2aclient

import (
	"context"
	"errors"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
)

// verdict is what a probe found out about a face.
type verdict uint8

const (
	foreign verdict = iota // its version is not spoken there
	unclear                // nobody can tell: out of reach, or closed to us
	likely                 // what it shares with another version is known there
	spoken                 // its version is spoken there
)

// probeTime bounds one request of a probe.
const probeTime = 10 * time.Second

// probe finds out whether a face's version is spoken at its address. It asks
// for a task that nobody has, which changes nothing anywhere: an agent that
// says so knows the question. The error is what an unclear verdict is for.
func (c *Client) probe(ctx context.Context, f *face) (verdict, error) {
	id := newID()
	v, err := c.asked(ctx, f, dialect.GetTask, &a2a.GetTaskRequest{Tenant: f.iface.Tenant, ID: id})
	if v != spoken || f.dialect >= dialect.V10 || !isJSONRPC(f) {
		return v, err
	}
	// tasks/get is a name of 0.1 and of 0.3. Each has a name of its own for
	// this, which agents know also where they have no webhooks.
	if v, _ := c.asked(ctx, f, dialect.GetTaskPushNotificationConfig,
		&a2a.GetTaskPushNotificationConfigRequest{TaskID: id, ID: id}); v == spoken {
		return spoken, nil
	}
	return likely, nil
}

// asked makes one request of a probe.
func (c *Client) asked(ctx context.Context, f *face, op dialect.Op, req any) (verdict, error) {
	_, err := try(f, op, req, func(k *call) (any, error) { return c.roundTrip(ctx, k, probeTime) })
	if err == nil {
		return spoken, nil
	}
	if e := said(err); e != nil {
		v := judge(f, e)
		if v == spoken && errors.Is(err, errNoEnvelope) {
			v = foreign // any page of any server
		}
		return v, err
	}
	if t, ok := errors.AsType[*TransportError](err); ok && !t.Unreachable && isGRPC(f) {
		return foreign, err // what does not speak HTTP/2 hangs up
	}
	return unclear, err
}

// judge says what an answer to a probe means.
func judge(f *face, e *a2a.Error) verdict {
	switch e.Code {
	case a2a.CodeTaskNotFound, a2a.CodePushNotificationNotSupported:
		return spoken
	case a2a.CodeMethodNotFound, a2a.CodeMethodNotAllowed, a2a.CodeInvalidRequest, a2a.CodeParse,
		a2a.CodeVersionNotSupported, a2a.CodeInvalidAgentResponse, a2a.CodeUnsupportedMedia:
		return foreign
	case a2a.CodeUnauthenticated, a2a.CodePermissionDenied, a2a.CodeRateLimited, a2a.CodeUnavailable, a2a.CodeTooLarge:
		return unclear
	case a2a.CodeUnsupportedOperation:
		if isGRPC(f) {
			return foreign // UNIMPLEMENTED
		}
		return spoken
	}
	if !isJSONRPC(f) && e.Code == a2a.CodeInternal {
		return unclear // perhaps it was no answer to this
	}
	return spoken // it understood the question, though it has no answer
}
