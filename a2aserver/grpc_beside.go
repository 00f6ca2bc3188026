package a2aserver

import (
	"context"

	"github.com/parley-a2a/parley/internal/dialect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

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

func (h *healthService) Check(_ context.Context, req *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	if name := req.GetService(); name != "" && name != dialect.GRPCService && name != dialect.GRPCServiceV03 {
		return nil, status.Error(codes.NotFound, "unknown service")
	}
	if h.to.front().ready() != nil {
		return &healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponse_NOT_SERVING}, nil
	}
	return &healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponse_SERVING}, nil
}

// Watch ends when the server drains, so that nobody has to wait for it.
func (h *healthService) Watch(req *healthpb.HealthCheckRequest, stream healthpb.Health_WatchServer) error {
	s := h.to.front()
	ctx, cancel := s.untilLeft(stream.Context(), nil)
	defer cancel()
	err := h.Server.Watch(req, &watch{stream, ctx})
	if s.draining.Err() != nil {
		return status.Error(codes.Unavailable, "the server is shutting down")
	}
	return err
}

type watch struct {
	healthpb.Health_WatchServer
	ctx context.Context
}

func (w *watch) Context() context.Context { return w.ctx }

// registerReflection describes the services under the names of the
// specification, which are not those of the messages' Go types.
func registerReflection(g *grpc.Server) error {
	files, err := dialect.GRPCFiles()
	if err != nil {
		return err
	}
	reflectionpb.RegisterServerReflectionServer(g, reflection.NewServerV1(reflection.ServerOptions{
		Services: g, DescriptorResolver: described{files},
	}))
	return nil
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
