package a2aserver

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/budget"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/port"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// grpcCall is an exchange over gRPC.
type grpcCall struct {
	exchange
	binding dialect.GRPC // of the dialect
	to      grpc.ServerStream
	box     *outbox
}

// newGRPCCall returns a call of a method of d's service; op is 0 for a method of
// another service.
func (s *Server) newGRPCCall(to grpc.ServerStream, d dialect.Dialect, op dialect.Op) *grpcCall {
	x := &grpcCall{binding: dialect.GRPCOf(d), to: to}
	ctx := to.Context()
	x.box = newOutbox(lineOf(ctx), s.opts.writeTimeout())
	x.box.pace.Hold = &x.own
	if op != 0 { // other calls hold nothing, and may begin after net/http has given up the call
		x.hold = budget.From(ctx) // inside of net/http
	}
	x.dialect = d
	x.init(s, ctx, ofGRPC(ctx, op))
	if op != 0 {
		x.operation(d, op)
	}
	return x
}

// ofGRPC returns what is known of a call. Its headers are only the metadata that we
// use: looking it up costs less than copying all of it.
func ofGRPC(ctx context.Context, op dialect.Op) request {
	q := request{binding: a2a.BindingGRPC, method: op.String(), onPort: true, mount: port.Mount(ctx)}
	q.path, _ = grpc.Method(ctx)
	if a := metadata.ValueFromIncomingContext(ctx, ":authority"); len(a) > 0 {
		q.host = a[0]
	}
	for _, name := range knownMetadata {
		if values := metadata.ValueFromIncomingContext(ctx, name); len(values) > 0 {
			if q.headers == nil {
				q.headers = http.Header{}
			}
			q.headers[http.CanonicalHeaderKey(name)] = values
		}
	}
	if p, ok := peer.FromContext(ctx); ok {
		if on, ok := p.AuthInfo.(onLine); ok {
			q.remote = on.line.remote
		} else if p.Addr != nil {
			q.remote = p.Addr.String()
		}
		if info, ok := tlsOf(p); ok {
			q.tls = &info.State
		}
	}
	return q
}

// knownMetadata are the names of the headers that any exchange reads.
var knownMetadata = []string{
	"a2a-version", "a2a-extensions", "x-a2a-extensions", strings.ToLower(cursorHeader), strings.ToLower(dialect.KeyHeader),
	strings.ToLower(dialect.HopsHeader), strings.ToLower(dialect.TraceHeader), strings.ToLower(dialect.TraceStateHeader),
	"forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-forwarded-port", "x-forwarded-prefix",
}

// allMetadata returns the metadata of a call as headers.
func allMetadata(ctx context.Context) http.Header {
	md, _ := metadata.FromIncomingContext(ctx)
	h := make(http.Header, len(md))
	for name, values := range md {
		h[http.CanonicalHeaderKey(name)] = values
	}
	return h
}

func grpcHandler(to Site, d dialect.Dialect, op dialect.Op) grpc.StreamHandler {
	return func(_ any, stream grpc.ServerStream) (err error) {
		// A client that opens streams and resets them at once may have reset a hundred
		// of them before the first one runs: they cost no more than this check.
		if err := stream.Context().Err(); err != nil {
			lineOf(stream.Context()).wasted()
			return status.FromContextError(err).Err()
		}
		s := to.front()
		x := s.newGRPCCall(stream, d, op)
		defer x.box.begin()()
		s.calls.Add(1)
		defer func() {
			s.calls.Add(-1)
			x.own.Close()
			if x.ctx.Err() != nil {
				// Inside of net/http the request may be over: then nothing else gives
				// back what was held for its answer since.
				x.hold.Close()
			}
			if v := recover(); v != nil {
				err = panicError(v)
			}
			if err != nil {
				err = x.fail(err)
			}
			x.end()
		}()
		if err := x.enter(); err != nil {
			x.box.line.wasted()
			return err
		}
		if err := x.detect(); err != nil {
			return err
		}
		req, err := x.receiveRequest()
		if err != nil {
			return err
		}
		if err := x.goTo(to, req); err != nil {
			return err
		}
		if err := x.perform(x, op, req); err != nil {
			return err
		}
		return x.box.flush(x.ctx)
	}
}

// enter identifies the caller, if the call is for a host that we serve.
func (x *grpcCall) enter() error {
	if !x.s.servesHost(x.host) {
		x.record()
		return a2a.Errorf(a2a.CodeInvalidRequest, "this server does not answer for the host that the call names: call it by its own name")
	}
	return x.exchange.enter()
}

// detect finds out which dialect the call is in (§10.2).
func (x *grpcCall) detect() error {
	d, err := dialect.DetectGRPC(x.binding.Service(), headerVersion(x.headers), x.s.opts.StrictVersions)
	if err != nil {
		x.dialect = dialect.V10 // it has a code for this error
		return err
	}
	if d != x.dialect {
		x.binding = dialect.GRPCOf(d)
		x.operation(d, x.op)
	}
	return nil
}

// goTo finds the agent that a request is for, and says in the answer which of the
// requested extensions are active there.
func (x *grpcCall) goTo(to Site, req any) error {
	tenant := dialect.SubjectOf(req).Tenant
	if tenant == nil {
		tenant = new(string)
	}
	s, rest := to.of(*tenant)
	if s == nil {
		return a2a.Errorf(a2a.CodeMethodNotFound, "there is no such agent; an agent's card says which tenant to name over gRPC")
	}
	x.s, *tenant, x.audit.Agent = s, rest, s.name
	if active := x.s.activeExtensions(requestedExtensions(x.headers)); len(active) > 0 {
		x.header(dialect.ExtensionsHeader(x.dialect), strings.Join(active, ", "))
	}
	return nil
}

// header ignores errors: it fails only if the header was sent, or the call is over.
func (x *grpcCall) header(name, value string) { _ = x.to.SetHeader(metadata.Pairs(name, value)) }

func (x *grpcCall) resumes() { x.header(dialect.ExtensionsHeader(x.dialect), dialect.ResumeURI) }

func (x *grpcCall) base() (string, error) { return x.s.grpcBaseURL(&x.request), nil }

func (x *grpcCall) document(_ dialect.Op, _ any, c *a2a.AgentCard) []byte { return c.AppendJSON(nil) }

func (x *grpcCall) answer(op dialect.Op, req, out any) error {
	res, err := x.binding.Result(op, req, out)
	if err != nil {
		return err
	}
	x.result(out)
	x.audit.Succeed(x.ctx)
	return x.send(res)
}

// send sends a message, as fast as the client takes it. Flow control blocks only this
// goroutine, and not for long if the client does not read.
func (x *grpcCall) send(m proto.Message) error {
	if err := x.box.room(x.ctx); err != nil {
		return err
	}
	return x.to.SendMsg(&outgoing{m, x.box})
}

// stream sends the elements.
func (x *grpcCall) stream(op dialect.Op, req any) error {
	ctx, cancel := x.s.untilCanceled(x.ctx, &x.request)
	defer cancel()
	positions := first(x.headers, cursorKey) != ""
	some, events := false, x.binding.Events(op, req)
	for res, err := range dialect.Stream(ctx, x.s.svc, op, req) {
		if err != nil {
			return inWords(cause(ctx, err), errBusy)
		}
		if ctx.Err() != nil {
			break // the client gets no more than it has
		}
		some = true
		x.result(res)
		x.audit.Succeed(x.ctx)
		if err := x.makeRoom(ctx, res); err != nil {
			return err
		}
		list, err := events.Messages(x.element(res))
		if err != nil {
			return err
		}
		for i, m := range list {
			if positions && i == len(list)-1 { // a client that has the last message has the whole event
				m = dialect.WithSeq(m, res.Seq)
			}
			if err := x.send(m); err != nil {
				return err // the client has disconnected
			}
		}
		if x.own.Held() > 0 {
			if err := x.box.flush(x.ctx); err != nil {
				return err
			}
			x.own.Close()
		}
		if events.Ended() {
			x.audit.Outcome = audit.OK
			return nil
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx) // no proper end: clients subscribe again
	}
	if !some {
		return errNothing
	}
	x.audit.Outcome = audit.OK
	return nil
}

// fail logs an error and returns it as the client may know it.
func (x *grpcCall) fail(err error) error {
	if st, ok := status.FromError(err); ok && !errors.As(err, new(*a2a.Error)) {
		x.fails(ofStatus(st))
		return st.Err() // an error of grpc-go
	}
	e := x.failed(err)
	h := http.Header{}
	if x.s.challenge(h, e); len(h) > 0 {
		// The header of a stream that has begun was sent, but its caller was let in.
		_ = x.to.SetHeader(metadata.MD{"www-authenticate": h["Www-Authenticate"]})
	}
	return status.FromProto(dialect.ErrorToStatus(x.dialect, e)).Err()
}

// ofStatus returns the a2a.Error that an error of grpc-go stands for.
func ofStatus(st *status.Status) *a2a.Error {
	switch st.Code() {
	case codes.ResourceExhausted:
		return &a2a.Error{Code: a2a.CodeTooLarge}
	case codes.Canceled, codes.DeadlineExceeded, codes.Unavailable:
		return &a2a.Error{Code: a2a.CodeUnavailable}
	}
	return &a2a.Error{Code: a2a.CodeInternal}
}
