package a2aserver

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// rpc is one call with its answer. It belongs to the handler's goroutine.
type rpc struct {
	s       *Server
	op      dialect.Op
	dialect dialect.Dialect
	binding dialect.GRPC    // of the dialect
	ctx     context.Context // the call's, with the caller
	md      http.Header     // the metadata that means something to us
	to      grpc.ServerStream
	box     *outbox
	audit   call
	asked   []string // extensions
	resumption
}

// newRPC returns a call of a method of d's service.
func (s *Server) newRPC(to grpc.ServerStream, d dialect.Dialect, op dialect.Op) *rpc {
	x := &rpc{s: s, op: op, dialect: d, binding: dialect.GRPCOf(d), ctx: to.Context(), to: to}
	x.box = newOutbox(lineOf(x.ctx), s.opts.writeTimeout())
	x.audit.is(d, op)
	return x
}

func grpcHandler(to Site, d dialect.Dialect, op dialect.Op) grpc.StreamHandler {
	return func(_ any, stream grpc.ServerStream) (err error) {
		// Whoever opens streams and resets them at once may have a hundred of them
		// over before the first has its turn: they cost no more than that.
		if err := stream.Context().Err(); err != nil {
			return status.FromContextError(err).Err()
		}
		s := to.front()
		x := s.newRPC(stream, d, op)
		defer x.box.begin()()
		s.calls.Add(1)
		defer func() {
			s.calls.Add(-1)
			if v := recover(); v != nil {
				err = panicError(v)
			}
			if err != nil {
				err = x.fail(err)
			}
			x.audit.ends(x.ctx)
		}()
		if err := x.enter(); err != nil {
			return err
		}
		if err := x.serviceParameters(); err != nil {
			return err
		}
		req, err := x.request()
		if err != nil {
			return err
		}
		if err := x.goTo(to, req); err != nil {
			return err
		}
		if err := x.perform(req); err != nil {
			return err
		}
		return x.box.flush(x.ctx)
	}
}

// perform calls the service and answers.
func (x *rpc) perform(req any) error {
	x.audit.asks(req)
	if err := x.s.opts.limits().check(req); err != nil {
		return err
	}
	switch x.op {
	case dialect.SendMessage, dialect.SendStreamingMessage, dialect.SubscribeToTask:
		if x.s.draining.Err() != nil {
			return errClosing
		}
	}
	if err := takeKey(x.md, req); err != nil {
		return err
	}
	if !dialect.Get(x.op).Streams {
		return x.unary(req)
	}
	if x.s.streams != nil {
		key := x.s.keyOf(x.ctx, requestOf(x.ctx))
		if err := x.s.streams.begin(key); err != nil {
			return err
		}
		defer x.s.streams.end(key)
	}
	var err error
	if x.resumption, err = x.s.resumption(x.dialect, x.md, a2a.CallerFrom(x.ctx).Extensions, req, nil, nil); err != nil {
		return err
	}
	if x.byBody {
		if err := x.to.SetHeader(metadata.Pairs(dialect.ExtensionsHeader(x.dialect), dialect.ResumeURI)); err != nil {
			return err
		}
	}
	return x.named(x.stream(req, x.md.Get(cursorHeader) != ""))
}

func (x *rpc) unary(req any) error {
	ctx := x.ctx
	if x.op == dialect.SendMessage {
		// It waits for the agent, which may take longer than we live.
		var cancel context.CancelFunc
		ctx, cancel = x.untilLeft()
		defer cancel()
	}
	out, err := dialect.Call(ctx, x.s.svc, x.op, req)
	if err != nil {
		return dialect.ErrorOf(x.dialect, x.op, cause(ctx, err))
	}
	if card, ok := out.(*a2a.AgentCard); ok {
		if out, err = x.extendedCard(card); err != nil {
			return err
		}
	}
	if err := dialect.CheckProtoResult(out); err != nil {
		return err
	}
	res, err := x.binding.Result(x.op, req, out)
	if err != nil {
		return err
	}
	x.audit.gives(out)
	x.audit.succeeds(x.ctx)
	return x.send(res)
}

func (x *rpc) untilLeft() (context.Context, context.CancelFunc) {
	if x.s.opts.identity() == nil {
		return x.s.untilLeft(x.ctx, nil)
	}
	return x.s.untilLeft(x.ctx, requestOf(x.ctx))
}

// send sends a message, as fast as the client takes them: its flow control holds
// up this goroutine and nobody else, and not for long if it does not read.
func (x *rpc) send(m proto.Message) error {
	if err := x.box.room(x.ctx); err != nil {
		return err
	}
	return x.to.SendMsg(&outgoing{m, x.box})
}

// stream sends the elements.
func (x *rpc) stream(req any, positions bool) error {
	ctx, cancel := x.untilLeft()
	defer cancel()
	some, events := false, x.binding.Events(x.op, req)
	for res, err := range dialect.Stream(ctx, x.s.svc, x.op, req) {
		if err != nil {
			return cause(ctx, err)
		}
		if ctx.Err() != nil {
			break // more than is there already, nobody is to get
		}
		some = true
		x.audit.gives(res)
		x.audit.succeeds(x.ctx)
		if err := dialect.CheckProtoResult(res); err != nil {
			return err
		}
		list, err := events.Messages(x.element(res))
		if err != nil {
			return err
		}
		for i, m := range list {
			if positions && i == len(list)-1 { // whoever got the last one has got all of it
				m = dialect.WithSeq(m, res.Seq)
			}
			if err := x.send(m); err != nil {
				return err // the client is gone
			}
		}
		if events.Ended() {
			x.audit.outcome = auditOK
			return nil
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx) // no proper end: clients subscribe again
	}
	if !some {
		return errNothing
	}
	x.audit.outcome = auditOK
	return nil
}

// enter finds out who calls.
func (x *rpc) enter() (err error) {
	if x.s.openDoor && len(metadata.ValueFromIncomingContext(x.ctx, hopsKey)) == 0 && len(metadata.ValueFromIncomingContext(x.ctx, traceKey)) == 0 {
		return nil // the request would tell nobody anything
	}
	r := requestOf(x.ctx)
	x.audit.begin(x.s, a2a.BindingGRPC, r)
	if !x.s.servesHost(r.Host) {
		return a2a.Errorf(a2a.CodeInvalidRequest, "this server does not answer for the host that the call names: call it by its own name")
	}
	x.ctx, err = x.s.enter(x.ctx, r)
	return err
}

// requestOf returns what is known of a call as a request over HTTP: metadata,
// TLS state and address.
func requestOf(ctx context.Context) *http.Request {
	md, _ := metadata.FromIncomingContext(ctx)
	method, _ := grpc.Method(ctx)
	r := &http.Request{Method: http.MethodPost, URL: &url.URL{Path: method}, Proto: "HTTP/2.0", ProtoMajor: 2, Header: make(http.Header, len(md)), Body: http.NoBody}
	for name, values := range md {
		r.Header[http.CanonicalHeaderKey(name)] = values
	}
	r.Host = r.Header.Get(":authority")
	if p, ok := peer.FromContext(ctx); ok {
		if p.Addr != nil {
			r.RemoteAddr = p.Addr.String()
		}
		if info, ok := tlsOf(p); ok {
			r.TLS = &info.State
		}
	}
	return r.WithContext(ctx)
}

// serviceParameters keeps the metadata that means something to us, reads
// a2a-version and a2a-extensions (§10.2), by either of its names, and puts the
// latter into the context's caller.
func (x *rpc) serviceParameters() error {
	md, _ := metadata.FromIncomingContext(x.ctx)
	x.md = http.Header{}
	for _, name := range []string{"A2A-Version", "A2A-Extensions", "X-A2A-Extensions", cursorHeader, dialect.KeyHeader} {
		if vs := md.Get(name); len(vs) > 0 {
			x.md[http.CanonicalHeaderKey(name)] = vs
		}
	}
	d, err := dialect.DetectGRPC(x.binding.Service(), headerVersion(x.md), x.s.opts.strictVersions())
	if err != nil {
		x.dialect = dialect.V10 // which has a word for it
		return err
	}
	if d != x.dialect {
		x.dialect, x.binding = d, dialect.GRPCOf(d)
		x.audit.is(d, x.op)
	}
	x.asked = requestedExtensions(x.md)
	caller := a2a.CallerFrom(x.ctx)
	caller.Extensions = x.asked
	x.ctx = a2a.WithCaller(x.ctx, caller)
	return nil
}

// goTo finds the agent that a request is for, and says in the answer which
// extensions are active there.
func (x *rpc) goTo(to Site, req any) error {
	if _, one := to.(*Server); !one {
		tenant := tenantOf(req)
		if tenant == nil {
			tenant = new(string)
		}
		s, rest := to.of(*tenant)
		if s == nil {
			return a2a.Errorf(a2a.CodeMethodNotFound, "there is no such agent; its card says with which tenant it is called over gRPC")
		}
		x.s, *tenant, x.audit.agent = s, rest, s.name
	}
	if active := x.s.activeExtensions(x.asked); len(active) > 0 {
		return x.to.SetHeader(metadata.Pairs(dialect.ExtensionsHeader(x.dialect), strings.Join(active, ", ")))
	}
	return nil
}

// tenantOf returns where a request has its tenant.
func tenantOf(req any) *string {
	switch q := req.(type) {
	case *a2a.SendMessageRequest:
		return &q.Tenant
	case *a2a.GetTaskRequest:
		return &q.Tenant
	case *a2a.ListTasksRequest:
		return &q.Tenant
	case *a2a.CancelTaskRequest:
		return &q.Tenant
	case *a2a.SubscribeToTaskRequest:
		return &q.Tenant
	case *a2a.TaskPushNotificationConfig:
		return &q.Tenant
	case *a2a.GetTaskPushNotificationConfigRequest:
		return &q.Tenant
	case *a2a.ListTaskPushNotificationConfigsRequest:
		return &q.Tenant
	case *a2a.DeleteTaskPushNotificationConfigRequest:
		return &q.Tenant
	case *a2a.GetExtendedAgentCardRequest:
		return &q.Tenant
	}
	return nil
}

// fail logs an error and returns it as the client may know it.
func (x *rpc) fail(err error) error {
	var e *a2a.Error
	if st, ok := status.FromError(err); ok && !errors.As(err, &e) {
		x.audit.fails(x.ctx, ofStatus(st))
		return st.Err() // of grpc-go
	}
	e = x.s.report(x.ctx, err, slog.String("method", x.op.String()), slog.String("path", "/"+x.binding.Service()+"/"+x.binding.Method(x.op)))
	x.audit.fails(x.ctx, e)
	h := http.Header{}
	if x.s.challenge(h, e); len(h) > 0 {
		// A stream that has begun is past its header, and has a caller.
		_ = x.to.SetHeader(metadata.MD{"www-authenticate": h["Www-Authenticate"]})
	}
	return status.FromProto(dialect.ErrorToStatus(x.dialect, e)).Err()
}
