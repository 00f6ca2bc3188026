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

// said returns the error that an agent reported, or that its invalid answer caused.
func said(err error) *a2a.Error {
	e, _ := errors.AsType[*a2a.Error](err)
	return e
}

// doubtful reports whether an error may come from an agent that does not know the
// face's version. Such an agent has not performed the operation.
func doubtful(f *face, op dialect.Op, err error) bool {
	e := said(err)
	if e == nil || !e.Peer {
		return false
	}
	switch e.Code {
	case a2a.CodeVersionNotSupported:
		return true
	case a2a.CodeMethodNotFound, a2a.CodeMethodNotAllowed:
		// No agent lacks these three; a missing other operation is noticed in the
		// agent's own version, too. Some agents refuse a stream with HTTP alone.
		if op == dialect.SubscribeToTask && errors.Is(err, errNoEnvelope) {
			return false
		}
		return !f.known.Load() || op == dialect.SendMessage || op == dialect.GetTask || op == dialect.CancelTask
	case a2a.CodeInvalidRequest: // a server of 0.1, for methods of other versions
		return !f.known.Load() && isJSONRPC(f) && !optional(op)
	case a2a.CodeUnsupportedOperation: // over gRPC an unknown method has no other code
		return !f.known.Load() && isGRPC(f)
	}
	return false
}

func isJSONRPC(f *face) bool { return strings.EqualFold(f.iface.ProtocolBinding, a2a.BindingJSONRPC) }
func isGRPC(f *face) bool    { return strings.EqualFold(f.iface.ProtocolBinding, a2a.BindingGRPC) }

// learn finds the version to speak if the agent does not seem to know that of used. It
// returns nil if the agent knows it after all, or if learn has already replaced a
// version. It returns another face if the agent speaks that one; the refused call is
// then repeated there. Otherwise its error says what was tried.
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
		return now, nil // another call has learnt it meanwhile
	}
	if c.learnt {
		return nil, nil
	}
	code := said(refused).Code
	unseen := code == a2a.CodeVersionNotSupported // this version is certainly not known
	if !unseen {
		v, _ := c.probe(ctx, used)
		send := op == dialect.SendMessage || op == dialect.SendStreamingMessage
		if v == spoken || v == unclear || v == likely && !send {
			used.known.Store(v != unclear)
			return nil, nil
		}
		if v == likely && op == dialect.SendStreamingMessage {
			return nil, nil // it may only not stream; SendMessage decides
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
	case !unseen: // it knew the version, and the refusal stands
		used.known.Store(true)
		return nil, nil
	case second != nil: // this version, or the other with the same names
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

// alternatives lists what an agent may speak in place of used: the versions that it
// names in its refusal, then the other versions at the same address, then the card's
// other interfaces.
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

// sameDialect reports whether two versions look the same on the wire. 1.1 and 1.0 do
// for a probe, which uses nothing that only 1.1 has.
func sameDialect(a, b string) bool {
	x, _ := dialect.ParseVersion(a)
	y, _ := dialect.ParseVersion(b)
	return x == y
}

// noneKnown returns the error if the agent speaks none of the versions.
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

// verdict is the result of a probe of a face.
type verdict uint8

const (
	foreign verdict = iota // its version is not spoken there
	unclear                // unknown: unreachable, or access denied
	likely                 // the agent knows a name that the version shares with another
	spoken                 // its version is spoken there
)

// probeTime bounds one request of a probe.
const probeTime = 10 * time.Second

// probe finds out whether a face's version is spoken at its address. It asks for a task
// that does not exist, which changes nothing anywhere: an agent that answers so knows
// the operation. The error is the reason for an unclear verdict.
func (c *Client) probe(ctx context.Context, f *face) (verdict, error) {
	id := newID()
	v, err := c.asked(ctx, f, dialect.GetTask, &a2a.GetTaskRequest{Tenant: f.iface.Tenant, ID: id})
	if v != spoken || f.dialect >= dialect.V10 || !isJSONRPC(f) {
		return v, err
	}
	// tasks/get is a name in both 0.1 and 0.3. They have different names for this
	// operation, which agents know even if they have no webhooks.
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
			v = foreign // any web page of any server
		}
		return v, err
	}
	if t, ok := errors.AsType[*TransportError](err); ok && !t.Unreachable && isGRPC(f) {
		return foreign, err // a server that does not speak HTTP/2 closes the connection
	}
	return unclear, err
}

// judge returns what an answer to a probe means.
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
		return unclear // perhaps it did not answer this request
	}
	return spoken // it understood the request, though it cannot perform it
}
