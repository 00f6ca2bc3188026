package a2aclient

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
)

// said returns the error that an agent reported, or sent in place of sense.
func said(err error) *a2a.Error {
	e, _ := errors.AsType[*a2a.Error](err)
	return e
}

// doubtful reports whether an answer may come from an agent that does not know
// the face's version. Such an agent has not done what it was asked.
func doubtful(f *face, op dialect.Op, err error) bool {
	e := said(err)
	if e == nil || !e.Peer {
		return false
	}
	switch e.Code {
	case a2a.CodeVersionNotSupported:
		return true
	case a2a.CodeMethodNotFound, a2a.CodeMethodNotAllowed:
		// Nobody lacks these three; others are found to be missing in their
		// own version, too. Some refuse a stream by HTTP alone.
		if op == dialect.SubscribeToTask && errors.Is(err, errNoEnvelope) {
			return false
		}
		return !f.known.Load() || op == dialect.SendMessage || op == dialect.GetTask || op == dialect.CancelTask
	case a2a.CodeInvalidRequest: // a server of 0.1, to methods of others
		return !f.known.Load() && isJSONRPC(f) && !optional(op)
	case a2a.CodeUnsupportedOperation: // gRPC has no other word for it
		return !f.known.Load() && isGRPC(f)
	}
	return false
}

func isJSONRPC(f *face) bool { return strings.EqualFold(f.iface.ProtocolBinding, a2a.BindingJSONRPC) }
func isGRPC(f *face) bool    { return strings.EqualFold(f.iface.ProtocolBinding, a2a.BindingGRPC) }

// learn finds the version to be spoken where the agent does not seem to know
// the one of used. It returns nil if that is known after all, or if there was
// something learnt before; another face if it is spoken there, to be used once
// more for the call that was refused; and otherwise an error that says what
// was tried.
func (c *Client) learn(ctx context.Context, used *face, op dialect.Op, refused error) (*face, error) {
	if c.opts.Version != "" {
		return nil, nil
	}
	select {
	case c.learning <- struct{}{}:
		defer func() { <-c.learning }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if now := c.face.Load(); now != used {
		return now, nil // somebody else has learnt it meanwhile
	}
	if c.learnt {
		return nil, nil
	}
	code := said(refused).Code
	unseen := code == a2a.CodeVersionNotSupported // it is certain that this version is not known
	if !unseen {
		v, _ := c.probe(ctx, used)
		send := op == dialect.SendMessage || op == dialect.SendStreamingMessage
		if v == spoken || v == unclear || v == likely && !send {
			used.known.Store(v != unclear)
			return nil, nil
		}
		if v == likely && op == dialect.SendStreamingMessage {
			return nil, nil // it may just not stream: the message without a stream decides
		}
		unseen = v == foreign || code == a2a.CodeMethodNotFound || code == a2a.CodeMethodNotAllowed
	}
	others, err := c.alternatives(used, refused)
	if err != nil {
		return nil, err
	}
	var second *face
	for _, f := range others {
		switch v, _ := c.probe(ctx, f); v {
		case spoken:
			c.learnt = true
			return c.adopt(ctx, used, f), nil
		case likely:
			if second == nil {
				second = f
			}
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	switch {
	case !unseen: // it understood, and means what it said
		used.known.Store(true)
		return nil, nil
	case second != nil: // it is this or the other one with the same names
		c.learnt = c.guess
		c.guess = true
		return c.adopt(ctx, used, second), nil
	}
	return nil, noneKnown(used, others, refused)
}

func (c *Client) adopt(ctx context.Context, used, f *face) *face {
	c.face.Store(f)
	c.log.InfoContext(ctx, "the agent does not speak the version of its card: another one is used",
		slog.String("host", hostOf(f)), slog.String("card", used.version+" over "+used.iface.ProtocolBinding),
		slog.String("used", f.version+" over "+f.iface.ProtocolBinding))
	return f
}

// alternatives lists what an agent may speak in place of used: what it says
// itself, then the other versions at the same address, then the card's other
// interfaces.
func (c *Client) alternatives(used *face, refused error) ([]*face, error) {
	var list []*face
	add := func(in *a2a.AgentInterface, version string) error {
		if !speaks(version, in.ProtocolBinding) || in == used.iface && sameDialect(version, used.version) ||
			slices.ContainsFunc(list, func(f *face) bool { return f.iface == in && sameDialect(f.version, version) }) {
			return nil
		}
		f, err := newFace(c, c.named, in, version)
		if err == nil {
			list = append(list, f)
		}
		return err
	}
	versions := dialect.Forms
	if e := said(refused); e.Code == a2a.CodeVersionNotSupported && e.Meta["supportedVersions"] != "" {
		versions = nil
		for v := range strings.SplitSeq(e.Meta["supportedVersions"], ",") {
			if v = dialect.Minor(v); rank(v) >= 0 {
				versions = append(versions, v)
			}
		}
		slices.SortFunc(versions, func(a, b string) int { return rank(a) - rank(b) })
	}
	for _, v := range versions {
		if err := add(used.iface, v); err != nil {
			return nil, err
		}
	}
	for _, f := range c.faces {
		if err := add(f.iface, f.version); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// sameDialect reports whether two versions look the same on the wire. That 1.1
// has more than 1.0 does not show in what a probe asks for.
func sameDialect(a, b string) bool {
	x, _ := dialect.ParseVersion(a)
	y, _ := dialect.ParseVersion(b)
	return x == y
}

// noneKnown is the error where no version is spoken.
func noneKnown(used *face, others []*face, refused error) error {
	tried := []string{triedAs(used)}
	for _, f := range others {
		tried = append(tried, triedAs(f))
	}
	e := said(refused)
	return &a2a.Error{
		Code: e.Code, Peer: true, PeerCode: e.PeerCode, Cause: refused, Meta: e.Meta,
		Message: fmt.Sprintf("%s; the agent speaks none of the versions that were tried: %s", e.Message, strings.Join(tried, ", ")),
	}
}

func triedAs(f *face) string {
	return f.version + " over " + f.iface.ProtocolBinding + " at " + hostOf(f)
}

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
