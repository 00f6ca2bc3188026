package a2aserver

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// newGRPC returns a server of the gRPC binding (§10) in all dialects that have
// it, with the health and reflection services beside it.
//
// Requests are limited to Options.MaxBody; grpc-go itself refuses larger ones,
// with RESOURCE_EXHAUSTED. A connection that is silent for Options.KeepAlive is
// pinged, and closed if it does not answer within Options.WriteTimeout. Between
// a stream's elements nothing else is sent.
//
// A client that sends last-event-id with a streaming call gets positions with
// its elements and can resume behind one; see dialect.SeqKey. Who activates the
// resume extension has them in the metadata of the elements.
func (s *Server) newGRPC() (*grpc.Server, error) {
	g := grpc.NewServer(
		grpc.Creds(handshaken{insecure.NewCredentials()}),
		grpc.ForceServerCodecV2(newRequestCodec()),
		grpc.MaxRecvMsgSize(int(s.opts.maxBody())),
		grpc.MaxHeaderListSize(64<<10),
		grpc.ConnectionTimeout(headerTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: s.opts.keepAlive(), Timeout: s.opts.writeTimeout()}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
		// Thousands of streams of one client may share a connection, but not
		// without end.
		grpc.MaxConcurrentStreams(1000),
		grpc.UnknownServiceHandler(unknownMethod),
	)
	for _, d := range dialect.GRPCServices {
		binding := dialect.GRPCOf(d)
		desc := grpc.ServiceDesc{ServiceName: binding.Service(), HandlerType: (*any)(nil), Metadata: dialect.GRPCFile(d)}
		for i := range dialect.Operations {
			op := &dialect.Operations[i]
			name := binding.Method(op.Op)
			switch {
			case name == "":
			case op.Streams:
				desc.Streams = append(desc.Streams, grpc.StreamDesc{StreamName: name, Handler: s.grpcStream(d, op.Op), ServerStreams: true})
			default:
				desc.Methods = append(desc.Methods, grpc.MethodDesc{MethodName: name, Handler: s.grpcUnary(d, op.Op)})
			}
		}
		g.RegisterService(&desc, s)
	}
	s.registerHealth(g)
	return g, s.registerReflection(g)
}

func unknownMethod(_ any, stream grpc.ServerStream) error {
	name, _ := grpc.MethodFromServerStream(stream)
	d := dialect.V10
	if strings.HasPrefix(name, "/"+dialect.GRPCServiceV03+"/") {
		d = dialect.V03
	}
	// A wrong service or version of it, too: the text helps both.
	return status.FromProto(dialect.ErrorToStatus(d, a2a.Errorf(a2a.CodeMethodNotAllowed,
		"method %.100q is not known; the services are %s and, for version 0.3, %s", name, dialect.GRPCService, dialect.GRPCServiceV03))).Err()
}

// rpc is one call with its answer. It belongs to the handler's goroutine.
type rpc struct {
	s         *Server
	op        dialect.Op
	dialect   dialect.Dialect
	binding   dialect.GRPC            // of the dialect
	ctx       context.Context         // the call's, with the caller
	md        http.Header             // the metadata that means something to us
	setHeader func(metadata.MD) error // sets the answer's header
	audit     call
	resumption
}

// newRPC returns a call of a method of d's service.
func (s *Server) newRPC(ctx context.Context, d dialect.Dialect, op dialect.Op) *rpc {
	x := &rpc{s: s, op: op, dialect: d, binding: dialect.GRPCOf(d), ctx: ctx}
	x.audit.is(d, op)
	return x
}

func (s *Server) grpcUnary(d dialect.Dialect, op dialect.Op) grpc.MethodHandler {
	return func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (res any, err error) {
		x := s.newRPC(ctx, d, op)
		s.calls.Add(1)
		defer func() {
			s.calls.Add(-1)
			if v := recover(); v != nil {
				err = panicError(v)
			}
			if err != nil {
				res, err = nil, x.fail(err)
			}
		}()
		setHeader := func(md metadata.MD) error { return grpc.SetHeader(ctx, md) }
		if err := x.enter(setHeader); err != nil {
			return nil, err
		}
		if err := x.serviceParameters(setHeader); err != nil {
			return nil, err
		}
		req, err := x.request(decode)
		if err != nil {
			return nil, err
		}
		x.audit.asks(req)
		if err := takeKey(x.md, req); err != nil {
			return nil, err
		}
		callCtx := x.ctx
		if op == dialect.SendMessage {
			if s.draining.Err() != nil {
				return nil, errClosing
			}
			// It waits for the agent, which may take longer than we live.
			var cancel context.CancelFunc
			callCtx, cancel = s.untilDrain(x.ctx)
			defer cancel()
		}
		out, err := dialect.Call(callCtx, s.svc, op, req)
		if err != nil {
			return nil, dialect.ErrorOf(x.dialect, op, cause(callCtx, err))
		}
		if card, ok := out.(*a2a.AgentCard); ok {
			if out, err = x.extendedCard(card); err != nil {
				return nil, err
			}
		}
		if res, err = x.binding.Result(op, req, out); err == nil {
			x.audit.gives(out)
			x.audit.succeeds(x.ctx)
		}
		return res, err
	}
}

func (s *Server) grpcStream(d dialect.Dialect, op dialect.Op) grpc.StreamHandler {
	return func(_ any, stream grpc.ServerStream) (err error) {
		x := s.newRPC(stream.Context(), d, op)
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
		if err := x.enter(stream.SetHeader); err != nil {
			return err
		}
		if err := x.serviceParameters(stream.SetHeader); err != nil {
			return err
		}
		req, err := x.request(stream.RecvMsg)
		if err != nil {
			return err
		}
		x.audit.asks(req)
		if s.draining.Err() != nil {
			return errClosing
		}
		if err := takeKey(x.md, req); err != nil {
			return err
		}
		if x.resumption, err = s.resumption(x.dialect, x.md, a2a.CallerFrom(x.ctx).Extensions, req, nil, nil); err != nil {
			return err
		}
		if x.byBody {
			if err := stream.SetHeader(metadata.Pairs(dialect.ExtensionsHeader(x.dialect), dialect.ResumeURI)); err != nil {
				return err
			}
		}
		return x.named(x.stream(stream, req, x.md.Get(cursorHeader) != ""))
	}
}

// stream sends the elements, as fast as the client takes them: its flow control
// holds up this goroutine and nobody else.
func (x *rpc) stream(to grpc.ServerStream, req any, positions bool) error {
	ctx, cancel := x.s.untilDrain(x.ctx)
	defer cancel()
	some, events := false, x.binding.Events(x.op, req)
	for res, err := range dialect.Stream(ctx, x.s.svc, x.op, req) {
		if err != nil {
			return cause(ctx, err)
		}
		some = true
		x.audit.gives(res)
		x.audit.succeeds(x.ctx)
		list, err := events.Messages(x.element(res))
		if err != nil {
			return err
		}
		for i, m := range list {
			if positions && i == len(list)-1 { // whoever got the last one has got all of it
				m = dialect.WithSeq(m, res.Seq)
			}
			if err := to.SendMsg(m); err != nil {
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

// enter finds out who calls. setHeader is for the challenge to who may not.
func (x *rpc) enter(setHeader func(metadata.MD) error) (err error) {
	x.setHeader = setHeader
	r := requestOf(x.ctx)
	x.audit.begin(x.s, a2a.BindingGRPC, r)
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
		if info, ok := p.AuthInfo.(credentials.TLSInfo); ok {
			r.TLS = &info.State
		}
	}
	return r.WithContext(ctx)
}

// serviceParameters keeps the metadata that means something to us, reads
// a2a-version and a2a-extensions (§10.2), by either of its names, puts the
// latter into the context's caller and says in the answer which are active.
func (x *rpc) serviceParameters(setHeader func(metadata.MD) error) error {
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
	asked := requestedExtensions(x.md)
	if active := x.s.activeExtensions(asked); len(active) > 0 {
		if err := setHeader(metadata.Pairs(dialect.ExtensionsHeader(d), strings.Join(active, ", "))); err != nil {
			return err
		}
	}
	caller := a2a.CallerFrom(x.ctx)
	caller.Extensions = asked
	x.ctx = a2a.WithCaller(x.ctx, caller)
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
		_ = x.setHeader(metadata.MD{"www-authenticate": h["Www-Authenticate"]})
	}
	return status.FromProto(dialect.ErrorToStatus(x.dialect, e)).Err()
}
