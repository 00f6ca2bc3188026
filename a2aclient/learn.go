package a2aclient

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

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
		Code: e.Code, Peer: true, Cause: refused, Meta: e.Meta,
		Message: fmt.Sprintf("%s; the agent speaks none of the versions that were tried: %s", e.Message, strings.Join(tried, ", ")),
	}
}

func triedAs(f *face) string {
	return f.version + " over " + f.iface.ProtocolBinding + " at " + hostOf(f)
}
