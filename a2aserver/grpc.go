package a2aserver

import (
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/port"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	protocodec "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
)

const (
	// lineStreams limits the calls that a gRPC connection has at a time; inside of
	// net/http the limit is 250.
	lineStreams = 1000
	// lineWindow is how much a client may send on a connection before we confirm it.
	// Without a fixed window, grpc-go sends a ping with each request to measure one.
	lineWindow = 1 << 20
	// lineWorkers is the number of goroutines that wait for calls. A new goroutine for
	// each call copies its stack as it grows, which is a tenth of a call's time.
	lineWorkers = 128
	// leastPing is the least time between a client's pings. The third ping that comes
	// sooner closes the connection.
	leastPing = 5 * time.Second
)

// newGRPC returns a server of the gRPC binding (§10) in all dialects that have
// it, with the health and reflection services beside it.
//
// Requests are limited to Options.MaxBody; grpc-go itself refuses larger ones, with
// RESOURCE_EXHAUSTED. A connection that is silent for Options.KeepAlive is pinged, and
// closed if it does not answer within Options.WriteTimeout. A connection without calls
// is closed after 2 minutes. Nothing else is sent between a stream's elements. A call
// ends after Options.WriteTimeout if its client does not read, and after a minute if
// its request does not arrive.
//
// A client that sends last-event-id with a streaming call gets positions with its
// elements and can resume after one; see dialect.SeqKey. A client that activates the
// resume extension finds them in the metadata of the elements.
func newGRPC(to Site, more ...grpc.ServerOption) (*grpc.Server, error) {
	s := to.front()
	g := grpc.NewServer(append(more,
		grpc.Creds(handshaken{insecure.NewCredentials()}),
		grpc.ForceServerCodecV2(requestCodec{encoding.GetCodecV2(protocodec.Name)}),
		grpc.MaxRecvMsgSize(int(s.opts.maxBody())),
		grpc.MaxHeaderListSize(64<<10),
		grpc.ConnectionTimeout(port.HeaderTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: s.opts.keepAlive(), Timeout: s.opts.writeTimeout(), MaxConnectionIdle: port.IdleTimeout}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: leastPing, PermitWithoutStream: true}),
		grpc.MaxConcurrentStreams(lineStreams),
		grpc.StaticConnWindowSize(lineWindow), // streams have 64 KiB, and large messages as much as they need
		grpc.UnknownServiceHandler(unknownMethod(to)),
	)...)
	for _, d := range dialect.GRPCServices {
		binding := dialect.GRPCOf(d)
		desc := grpc.ServiceDesc{ServiceName: binding.Service(), HandlerType: (*any)(nil), Metadata: dialect.GRPCFile(d)}
		for i := range dialect.Operations {
			op := &dialect.Operations[i]
			name := binding.Method(op.Op)
			if name != "" {
				// To grpc-go all methods are streams, which looks the same on the wire:
				// of a unary method it would read the request before it calls us.
				desc.Streams = append(desc.Streams, grpc.StreamDesc{StreamName: name, Handler: grpcHandler(to, d, op.Op), ServerStreams: op.Streams})
			}
		}
		g.RegisterService(&desc, to)
	}
	registerHealth(g, to)
	return g, registerReflection(g, to)
}

// unknownMethod refuses calls of unknown methods.
func unknownMethod(to Site) grpc.StreamHandler {
	return func(_ any, stream grpc.ServerStream) error {
		lineOf(stream.Context()).wasted()
		if err := stream.Context().Err(); err != nil {
			return status.FromContextError(err).Err()
		}
		name, _ := grpc.MethodFromServerStream(stream)
		d := dialect.V10
		if strings.HasPrefix(name, "/"+dialect.GRPCServiceV03+"/") {
			d = dialect.V03
		}
		x := to.front().newGRPCCall(stream, d, 0)
		defer x.end()
		// The service or its version may be wrong, too: the text helps in each case.
		return x.fail(a2a.Errorf(a2a.CodeMethodNotAllowed,
			"method %.100q is not known; the services are %s and, for version 0.3, %s", name, dialect.GRPCService, dialect.GRPCServiceV03))
	}
}
