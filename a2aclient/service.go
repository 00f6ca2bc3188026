package a2aclient

import (
	"context"
	"iter"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
)

// SendMessage implements a2a.Service. It has no time limit except that of ctx.
//
// After a *TransportError that is not Unreachable the agent may have taken the message.
// If the agent's card promises to recognize messages that this client repeats, by the
// retry extension (docs/extensions/retry-v1.md), the message is sent again, byte for
// byte, in the ways and within the limits in which streams are resumed (see
// SubscribeToTask): after a *TransportError, HTTP 502, 503 and 504, Unavailable over
// any binding, and RateLimited if it says when (Retry-After, up to a minute). The
// promise holds for clients with credentials that the card asks for, and for all
// clients if the card says so. A message without an id gets one. Without the promise a
// message is never repeated.
//
// The request's IdempotencyKey is sent to every agent. In a stream, After is sent, too.
func (c *Client) SendMessage(ctx context.Context, req *a2a.SendMessageRequest) (*a2a.SendMessageResponse, error) {
	r, err := c.sendRequest(req)
	if err != nil {
		return nil, err
	}
	return c.sendTraced(ctx, r)
}

func (c *Client) sendTraced(ctx context.Context, r *sending) (*a2a.SendMessageResponse, error) {
	ctx, span := c.trace(ctx, dialect.SendMessage, r.SendMessageRequest)
	r.span = span
	res, err := c.sendMessage(ctx, r, nil)
	if err == nil {
		span.answered(res)
	}
	span.end(err)
	return res, err
}

// sendMessage sends a message until it gets an answer. If at is given, it sends only to
// that face: if the agent turns out to speak another version the error is
// errOtherVersion, and nothing was sent in that version.
func (c *Client) sendMessage(ctx context.Context, r *sending, at *face) (*a2a.SendMessageResponse, error) {
	for n := failures(0); ; n++ {
		res, err := answered(tryFaces(ctx, c, dialect.SendMessage, r, func(k *call) (any, error) {
			if at != nil && k.face != at {
				return nil, errOtherVersion
			}
			return c.roundTrip(ctx, k, 0)
		}))
		if err == nil || !c.repeatable(ctx, r, err) {
			return res, err
		}
		if err := c.again(ctx, r, dialect.SendMessage, n, err); err != nil {
			return nil, err
		}
	}
}

// answered returns the answer to a message.
func answered(res any, err error) (*a2a.SendMessageResponse, error) {
	if err != nil {
		return nil, err
	}
	r := res.(*a2a.SendMessageResponse)
	if r.Task == nil && r.Message == nil {
		return nil, a2a.Errorf(a2a.CodeInvalidAgentResponse, "the agent's answer to SendMessage has neither a task nor a message")
	}
	if r.Task != nil && r.Task.ID == "" && !rests(r.Task.Status.State) { // what is over can be read without
		return nil, a2a.Errorf(a2a.CodeInvalidAgentResponse, "the agent's answer to SendMessage is a task that cannot be followed: it has no id")
	}
	return r, nil
}

// GetTask implements a2a.Service.
func (c *Client) GetTask(ctx context.Context, req *a2a.GetTaskRequest) (*a2a.Task, error) {
	return unary[a2a.Task](ctx, c, dialect.GetTask, req)
}

// ListTasks implements a2a.Service.
func (c *Client) ListTasks(ctx context.Context, req *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
	return unary[a2a.ListTasksResponse](ctx, c, dialect.ListTasks, req)
}

// CancelTask implements a2a.Service.
func (c *Client) CancelTask(ctx context.Context, req *a2a.CancelTaskRequest) (*a2a.Task, error) {
	return unary[a2a.Task](ctx, c, dialect.CancelTask, req)
}

// CreateTaskPushNotificationConfig implements a2a.Service. If the card does not offer
// push notifications, this method and the three others for configurations return
// PushNotificationNotSupported without a request.
func (c *Client) CreateTaskPushNotificationConfig(ctx context.Context, req *a2a.TaskPushNotificationConfig) (*a2a.TaskPushNotificationConfig, error) {
	if err := c.wantPush(); err != nil {
		return nil, err
	}
	return unary[a2a.TaskPushNotificationConfig](ctx, c, dialect.CreateTaskPushNotificationConfig, req)
}

// GetTaskPushNotificationConfig implements a2a.Service.
func (c *Client) GetTaskPushNotificationConfig(ctx context.Context, req *a2a.GetTaskPushNotificationConfigRequest) (*a2a.TaskPushNotificationConfig, error) {
	if err := c.wantPush(); err != nil {
		return nil, err
	}
	return unary[a2a.TaskPushNotificationConfig](ctx, c, dialect.GetTaskPushNotificationConfig, req)
}

// ListTaskPushNotificationConfigs implements a2a.Service.
func (c *Client) ListTaskPushNotificationConfigs(ctx context.Context, req *a2a.ListTaskPushNotificationConfigsRequest) (*a2a.ListTaskPushNotificationConfigsResponse, error) {
	if err := c.wantPush(); err != nil {
		return nil, err
	}
	return unary[a2a.ListTaskPushNotificationConfigsResponse](ctx, c, dialect.ListTaskPushNotificationConfigs, req)
}

// DeleteTaskPushNotificationConfig implements a2a.Service.
func (c *Client) DeleteTaskPushNotificationConfig(ctx context.Context, req *a2a.DeleteTaskPushNotificationConfigRequest) error {
	err := c.wantPush()
	if err == nil {
		_, err = unary[struct{}](ctx, c, dialect.DeleteTaskPushNotificationConfig, req)
	}
	return err
}

// GetExtendedAgentCard implements a2a.Service. The extended card replaces the client's
// card, for Card and for the checks of capabilities. If the card does not offer one,
// the error is UnsupportedOperation without a request. If Options.CheckCard refuses it,
// the error is a *CardError, and the card is not replaced.
func (c *Client) GetExtendedAgentCard(ctx context.Context, req *a2a.GetExtendedAgentCardRequest) (*a2a.AgentCard, error) {
	if !offered(c.Card().Capabilities.ExtendedAgentCard) {
		return nil, a2a.Errorf(a2a.CodeUnsupportedOperation, "the agent's card does not offer an extended card")
	}
	card, err := unary[a2a.AgentCard](ctx, c, dialect.GetExtendedAgentCard, req)
	if err == nil {
		c.card.Store(card)
	}
	return card, err
}

// SendStreamingMessage implements a2a.Service. If the card does not offer streaming, it
// calls SendMessage, and the answer is the only element.
//
// Once the task is known, a stream that is cut is resumed as SubscribeToTask describes.
// A cut before the first element leaves open whether the agent took the message. The
// message is sent again if SendMessage would do so; otherwise the cut is an error,
// unless the message names its task and that task has it in its history.
//
// The stream ends with a Message, a terminal state, an error, or when the server closes
// it while the task waits for its client.
func (c *Client) SendStreamingMessage(ctx context.Context, req *a2a.SendMessageRequest) iter.Seq2[*a2a.StreamResponse, error] {
	return func(yield func(*a2a.StreamResponse, error) bool) {
		r, err := c.sendRequest(req)
		if err != nil {
			yield(nil, err)
			return
		}
		if !offered(c.Card().Capabilities.Streaming) {
			res, err := c.sendTraced(ctx, r)
			yieldAnswer(res, err, yield)
			return
		}
		ctx, span := c.trace(ctx, dialect.SendStreamingMessage, r.SendMessageRequest)
		r.span = span
		s := &stream{c: c, ctx: ctx, yield: yield, span: span, sent: r, at: cursor{last: r.After}}
		if r.Message != nil {
			s.taskID = r.Message.TaskID
		}
		s.run()
	}
}

// yieldAnswer yields an answer that is no stream.
func yieldAnswer(res *a2a.SendMessageResponse, err error, yield func(*a2a.StreamResponse, error) bool) {
	if err != nil {
		yield(nil, err)
		return
	}
	yield(&a2a.StreamResponse{Task: res.Task, Message: res.Message}, nil)
}

// SubscribeToTask implements a2a.Service. If the card does not offer streaming, the
// error is UnsupportedOperation without a request.
//
// The first connection is not retried: if it fails, the stream fails. From then on, a
// stream that is cut is resumed. A cut is an end without a terminal state, a broken
// connection, the statuses 502, 503 and 504, or 45 s without a byte, keep-alives
// included (over gRPC they are not visible, so TCP must notice, which takes minutes).
// After Unauthenticated the stream is resumed once if Options.Token may return another
// token. Resuming waits from 250 ms up to 8 s between attempts, and gives up after
// Options.Retries attempts without progress, which is an element or a connection that
// lasted 5 s.
//
// With servers whose event ids are growing integers, as Parley's are, every element
// comes exactly once, and Seq is the id. If the card offers the resume extension
// (docs/extensions/resume-v1.md), this also holds behind intermediaries that drop ids
// or headers. With other servers, the task is fetched after a cut and comes as a Task
// element with Seq 0, which replaces what was known (as Task.ApplyEvent does) and so
// makes up for missed elements. It is left out if it is equal to the last Task and
// nothing came since. Nothing that a task holds is missed or counted twice; what a
// later event has replaced, such as a passing status, is not seen.
func (c *Client) SubscribeToTask(ctx context.Context, req *a2a.SubscribeToTaskRequest) iter.Seq2[*a2a.StreamResponse, error] {
	return func(yield func(*a2a.StreamResponse, error) bool) {
		if !offered(c.Card().Capabilities.Streaming) {
			yield(nil, a2a.Errorf(a2a.CodeUnsupportedOperation, "the agent's card does not offer streaming; poll with GetTask"))
			return
		}
		ctx, span := c.trace(ctx, dialect.SubscribeToTask, &a2a.SubscribeToTaskRequest{Tenant: c.tenant, ID: req.ID})
		s := &stream{c: c, ctx: ctx, yield: yield, span: span, taskID: req.ID, at: cursor{last: req.After, inside: req.After > 0}}
		s.run()
	}
}

// sendRequest returns a copy of req with the tenant of the interface, and with
// everything that must be the same in all attempts.
func (c *Client) sendRequest(req *a2a.SendMessageRequest) (*sending, error) {
	r := *req
	r.Tenant = c.tenant
	if r.IdempotencyKey != "" && !dialect.CheckKey(r.IdempotencyKey) {
		return nil, a2a.Invalid(dialect.KeyHeader, "must be up to 255 printable ASCII characters")
	}
	window := c.knows(c.creds.any() || c.opts.Token != nil) // send checks for the token
	if m := r.Message; m != nil && m.MessageID == "" {
		named := *m
		named.MessageID = newID()
		r.Message = &named
	}
	if r.Configuration != nil && r.Configuration.TaskPushNotificationConfig != nil {
		if err := c.wantPush(); err != nil {
			return nil, err
		}
		conf := *r.Configuration
		push := *conf.TaskPushNotificationConfig
		push.Tenant, push.TaskID = c.tenant, "" // the task does not exist yet (§3.2.2)
		conf.TaskPushNotificationConfig = &push
		r.Configuration = &conf
	}
	return &sending{SendMessageRequest: &r, taskID: newID(), contextID: newID(), window: window, since: time.Now()}, nil
}

func (c *Client) wantPush() error {
	if offered(c.Card().Capabilities.PushNotifications) {
		return nil
	}
	return a2a.Errorf(a2a.CodePushNotificationNotSupported, "the agent's card does not offer push notifications")
}

// offered reads a capability; a missing one is not offered.
func offered(b *bool) bool { return b != nil && *b }

// unary performs an operation that does not stream, with the tenant of the interface.
// Its result is a *T, or nothing.
func unary[T, R any](ctx context.Context, c *Client, op dialect.Op, req *R) (*T, error) {
	r := *req
	*dialect.SubjectOf(&r).Tenant = c.tenant
	ctx, span := c.trace(ctx, op, &r)
	res, err := tryFaces(ctx, c, op, &r, func(k *call) (any, error) {
		if op == dialect.GetExtendedAgentCard && c.opts.CheckCard != nil {
			k.card = func(doc []byte) (*a2a.AgentCard, error) { return c.opts.checkedExtendedCard(ctx, doc) }
		}
		return c.roundTrip(ctx, k, c.opts.unaryTimeout())
	})
	if t, ok := res.(*a2a.Task); ok && err == nil && t.ID == "" {
		err = a2a.Errorf(a2a.CodeInvalidAgentResponse, "the agent's answer to %s is not a task: it has no id", op)
	}
	span.answered(res)
	span.end(err)
	if err != nil {
		return nil, err
	}
	result, _ := res.(*T)
	return result, nil
}

// noSuchRoute reports whether the peer may know the operation by another route.
func noSuchRoute(err error) bool {
	e := said(err)
	return e != nil && e.Peer && (e.Code == a2a.CodeMethodNotAllowed || e.Code == a2a.CodeMethodNotFound)
}
