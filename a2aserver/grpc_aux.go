package a2aserver

import (
	"context"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/budget"
	"github.com/parley-a2a/parley/internal/dialect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

const (
	// watchTime is how long a health Watch lasts. Clients that use it to balance their
	// calls watch again at once.
	watchTime = time.Hour
	// watchTick is how often a Watch checks whether the server is ready: nothing
	// notifies it.
	watchTick = time.Second
	// reflectionTime is how long a stream of reflection lasts.
	reflectionTime = time.Minute
)

// auxStream is a stream of one of the two services that a gRPC server has beside its own:
// health and reflection. Its reads and writes have the limits of the agent's calls.
type auxStream struct {
	grpc.ServerStream
	s    *Server
	ctx  context.Context
	box  *outbox
	hold budget.Hold // of the message that is received
}

func (a *auxStream) Context() context.Context { return a.ctx }

func (a *auxStream) RecvMsg(m any) error {
	defer a.hold.Close()
	return a.s.receive(a.ServerStream, m, a.box.line, &a.hold)
}

func (a *auxStream) SendMsg(m any) error {
	if err := a.box.room(a.ctx); err != nil {
		return err
	}
	return a.ServerStream.SendMsg(&outgoing{m.(proto.Message), a.box})
}

// serveAux serves a stream until serve returns, the time limit passes or, if lasts is
// set, the server drains. Everybody may open such streams, so their number is limited by
// address. grpc-go waits in streams without a limit: serve runs in another goroutine,
// which ends soon after the handler has returned.
func serveAux(s *Server, stream grpc.ServerStream, limit time.Duration, lasts bool, serve func(*auxStream) error) error {
	q := ofGRPC(stream.Context(), 0)
	from := s.strangerAt(&q)
	if !s.strangers.Enter(from) {
		lineOf(stream.Context()).wasted()
		return status.FromProto(dialect.ErrorToStatus(dialect.V10, errStrangers)).Err()
	}
	defer s.strangers.Leave(from)
	ctx, stop := context.WithTimeoutCause(stream.Context(), limit, errAuxTime)
	defer stop()
	if lasts {
		var cancel func()
		ctx, cancel = s.untilCanceled(ctx, nil)
		defer cancel()
	}
	a := &auxStream{ServerStream: stream, s: s, ctx: ctx, box: newOutbox(lineOf(ctx), s.opts.writeTimeout())}
	s.memory.Init(&a.hold, callerKey{from: from})
	defer a.box.begin()()
	var err error
	select {
	case err = <-apart(func() error { return serve(a) }):
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	} else if err == nil {
		err = a.box.flush(ctx)
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	return status.FromProto(dialect.ErrorToStatus(dialect.V10, s.report(stream.Context(), err))).Err()
}

// errStrangers refuses a stream of an address that has too many.
var errStrangers = &a2a.Error{Code: a2a.CodeRateLimited, Message: "too many streams of health and reflection are open from your address: close one first", RetryAfter: streamsRetry}

var errAuxTime = a2a.Errorf(a2a.CodeUnavailable, "the stream reached its time limit: open another one")

// health is the service grpc.health.v1.Health, which says what /readyz says.
type health struct{ to Site }

func registerHealth(g *grpc.Server, to Site) {
	h := health{to}
	desc := healthpb.Health_ServiceDesc
	// All are streams to grpc-go, as the agent's methods are: see newGRPC.
	desc.HandlerType, desc.Methods = (*any)(nil), nil
	desc.Streams = []grpc.StreamDesc{
		{StreamName: "Check", Handler: h.handler(bodyTimeout, false, h.check)},
		{StreamName: "List", Handler: h.handler(bodyTimeout, false, h.list)},
		{StreamName: "Watch", Handler: h.handler(watchTime, true, h.watch), ServerStreams: true},
	}
	g.RegisterService(&desc, to)
}

func (h health) handler(limit time.Duration, lasts bool, answer func(a *auxStream, service string) error) grpc.StreamHandler {
	return func(_ any, stream grpc.ServerStream) error {
		return serveAux(h.to.front(), stream, limit, lasts, func(a *auxStream) error {
			req := new(healthpb.HealthCheckRequest) // that of List is empty
			if err := a.RecvMsg(req); err != nil {
				return err
			}
			return answer(a, req.GetService())
		})
	}
}

// of returns the health of a service; "" means all of them.
func (h health) of(service string) *healthpb.HealthCheckResponse {
	is := healthpb.HealthCheckResponse_SERVING
	switch {
	case service != "" && service != dialect.GRPCService && service != dialect.GRPCServiceV03:
		is = healthpb.HealthCheckResponse_SERVICE_UNKNOWN
	case h.to.front().ready() != nil:
		is = healthpb.HealthCheckResponse_NOT_SERVING
	}
	return &healthpb.HealthCheckResponse{Status: is}
}

func (h health) check(a *auxStream, service string) error {
	is := h.of(service)
	if is.Status == healthpb.HealthCheckResponse_SERVICE_UNKNOWN {
		return status.Error(codes.NotFound, "unknown service")
	}
	return a.SendMsg(is)
}

func (h health) list(a *auxStream, _ string) error {
	all := map[string]*healthpb.HealthCheckResponse{}
	for _, service := range []string{"", dialect.GRPCService, dialect.GRPCServiceV03} {
		all[service] = h.of(service)
	}
	return a.SendMsg(&healthpb.HealthListResponse{Statuses: all})
}

func (h health) watch(a *auxStream, service string) error {
	looks := time.NewTicker(watchTick)
	defer looks.Stop()
	for last := healthpb.HealthCheckResponse_UNKNOWN; ; {
		if is := h.of(service); is.Status != last {
			last = is.Status
			if err := a.SendMsg(is); err != nil {
				return err
			}
		}
		select {
		case <-looks.C:
		case <-a.ctx.Done():
			return context.Cause(a.ctx)
		}
	}
}

// reflectionService describes the services to callers who may call them.
type reflectionService struct {
	reflectionpb.ServerReflectionServer
	to Site
}

// registerReflection describes the services under the names of the
// specification, which are not those of the messages' Go types.
func registerReflection(g *grpc.Server, to Site) error {
	files, err := dialect.GRPCFiles()
	if err != nil {
		return err
	}
	v1 := reflection.NewServerV1(reflection.ServerOptions{Services: g, DescriptorResolver: described{files}})
	reflectionpb.RegisterServerReflectionServer(g, &reflectionService{v1, to})
	return nil
}

func (s *reflectionService) ServerReflectionInfo(stream reflectionpb.ServerReflection_ServerReflectionInfoServer) error {
	x := s.to.front().newGRPCCall(stream, dialect.V10, 0)
	if err := x.enter(); err != nil {
		defer x.end()
		x.box.line.wasted()
		return x.fail(err)
	}
	return serveAux(x.s, stream, reflectionTime, true, func(a *auxStream) error {
		return s.ServerReflectionServer.ServerReflectionInfo(&grpc.GenericServerStream[reflectionpb.ServerReflectionRequest, reflectionpb.ServerReflectionResponse]{ServerStream: a})
	})
}

// described looks among the official files first, then among those of grpc-go.
type described struct{ official *protoregistry.Files }

func (d described) FindFileByPath(path string) (protoreflect.FileDescriptor, error) {
	if f, err := d.official.FindFileByPath(path); err == nil {
		return f, nil
	}
	return protoregistry.GlobalFiles.FindFileByPath(path)
}

func (d described) FindDescriptorByName(name protoreflect.FullName) (protoreflect.Descriptor, error) {
	if f, err := d.official.FindDescriptorByName(name); err == nil {
		return f, nil
	}
	return protoregistry.GlobalFiles.FindDescriptorByName(name)
}
