package a2aserver

import (
	"context"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

const (
	// watchTime is how long a health Watch lasts. Clients that balance their calls
	// by it watch again at once.
	watchTime = time.Hour
	// reflectionTime is how long a stream of reflection lasts.
	reflectionTime = time.Minute
)

// beside is a stream of a service that is beside the agent's. Its writes are
// watched like those of the agent's calls.
type beside struct {
	grpc.ServerStream
	ctx context.Context
	box *outbox
}

func (b *beside) Context() context.Context { return b.ctx }

func (b *beside) SendMsg(m any) error {
	if err := b.box.room(b.ctx); err != nil {
		return err
	}
	return b.ServerStream.SendMsg(&outgoing{m.(proto.Message), b.box})
}

// runBeside runs a stream until it ends, its time is over or the server drains. grpc-go
// waits in streams without a limit, so serve runs in another goroutine, which the end
// of the handler ends.
func runBeside(s *Server, stream grpc.ServerStream, limit time.Duration, serve func(*beside) error) error {
	q := ofGRPC(stream.Context(), 0)
	from := s.strangerAt(&q)
	if !s.strangers.Enter(from) {
		lineOf(stream.Context()).wasted()
		return status.FromProto(dialect.ErrorToStatus(dialect.V10, errStrangers)).Err()
	}
	defer s.strangers.Leave(from)
	ctx, cancel := s.untilCanceled(stream.Context(), nil)
	defer cancel()
	ctx, stop := context.WithTimeoutCause(ctx, limit, errBesideTime)
	defer stop()
	b := &beside{stream, ctx, newOutbox(lineOf(ctx), s.opts.writeTimeout())}
	defer b.box.begin()()
	done := make(chan error, 1)
	go func() {
		defer func() {
			if v := recover(); v != nil {
				done <- panicError(v)
			}
		}()
		done <- serve(b)
	}()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	} else if err == nil {
		err = b.box.flush(ctx)
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	return status.FromProto(dialect.ErrorToStatus(dialect.V10, s.report(stream.Context(), err))).Err()
}

// errStrangers refuses a stream of an address that has too many.
var errStrangers = &a2a.Error{Code: a2a.CodeRateLimited, Message: "too many streams of health and reflection are open from your address: close one first", RetryAfter: streamsRetry}

var errBesideTime = a2a.Errorf(a2a.CodeUnavailable, "the stream has been open for as long as it may be: open another one")

// healthService says on Check what /readyz says.
type healthService struct {
	*health.Server
	to Site
}

func registerHealth(g *grpc.Server, to Site) {
	h := health.NewServer()
	for _, d := range dialect.GRPCServices {
		h.SetServingStatus(dialect.GRPCOf(d).Service(), healthpb.HealthCheckResponse_SERVING)
	}
	context.AfterFunc(to.front().draining, h.Shutdown)
	healthpb.RegisterHealthServer(g, &healthService{h, to})
}

func (h *healthService) Check(ctx context.Context, req *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	defer newOutbox(lineOf(ctx), 0).begin()() // the connection is not idle
	if name := req.GetService(); name != "" && name != dialect.GRPCService && name != dialect.GRPCServiceV03 {
		return nil, status.Error(codes.NotFound, "unknown service")
	}
	if h.to.front().ready() != nil {
		return &healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponse_NOT_SERVING}, nil
	}
	return &healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponse_SERVING}, nil
}

// List says of all services what Check says of one.
func (h *healthService) List(ctx context.Context, req *healthpb.HealthListRequest) (*healthpb.HealthListResponse, error) {
	all, err := h.Server.List(ctx, req)
	for name := range all.GetStatuses() {
		if all.Statuses[name], err = h.Check(ctx, &healthpb.HealthCheckRequest{Service: name}); err != nil {
			return nil, err
		}
	}
	return all, err
}

func (h *healthService) Watch(req *healthpb.HealthCheckRequest, stream healthpb.Health_WatchServer) error {
	return runBeside(h.to.front(), stream, watchTime, func(b *beside) error {
		return h.Server.Watch(req, &grpc.GenericServerStream[healthpb.HealthCheckRequest, healthpb.HealthCheckResponse]{ServerStream: b})
	})
}

// reflectionService describes the services to those who may call them.
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
	return runBeside(x.s, stream, reflectionTime, func(b *beside) error {
		return s.ServerReflectionServer.ServerReflectionInfo(&grpc.GenericServerStream[reflectionpb.ServerReflectionRequest, reflectionpb.ServerReflectionResponse]{ServerStream: b})
	})
}

// described finds the official files first, then those of grpc-go.
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
