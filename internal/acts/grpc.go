package acts

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/parley-a2a/parley/internal/pb"
	"github.com/parley-a2a/parley/internal/pb/v03"

	_ "google.golang.org/genproto/googleapis/rpc/errdetails" // so that details are told apart
)

type grpcCaller struct {
	i       *iface
	conn    *grpc.ClientConn
	service string
	methods protoreflect.MethodDescriptors
}

// dialGRPC accepts an address with or without a scheme. Without one, it uses TLS if the card
// was fetched over TLS.
func dialGRPC(o *Options, i *iface, secure bool) (caller, error) {
	at := i.url
	if scheme, rest, ok := strings.Cut(at, "://"); ok {
		switch scheme {
		case "https", "grpcs":
			secure = true
		case "http", "grpc":
			secure = false
		default:
			return nil, fmt.Errorf("its address has the scheme %q", cut(scheme, 40))
		}
		at, _, _ = strings.Cut(rest, "/")
	}
	if u, err := url.Parse("//" + at); err != nil || u.Host == "" {
		return nil, errors.New("its address is not a host and port: " + cut(i.url, 120))
	} else if u.Port() == "" {
		at += map[bool]string{true: ":443", false: ":80"}[secure]
	}
	creds := insecure.NewCredentials()
	if secure {
		t := &tls.Config{MinVersion: tls.VersionTLS12}
		if o.TLS != nil {
			t = o.TLS.Clone()
		}
		creds = credentials.NewTLS(t)
	}
	conn, err := grpc.NewClient("passthrough:///"+at, grpc.WithTransportCredentials(creds), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxKept)))
	if err != nil {
		return nil, err
	}
	c := &grpcCaller{i: i, conn: conn, service: "lf.a2a.v1.A2AService", methods: pb.File_internal_pb_a2a_proto.Services().ByName("A2AService").Methods()}
	if i.version == "0.3" {
		c.service, c.methods = "a2a.v1.A2AService", v03.File_internal_pb_v03_a2a_proto.Services().ByName("A2AService").Methods()
	}
	return c, nil
}

func (c *grpcCaller) call(ctx context.Context, r *request) *Answer {
	name, params := ops[r.op].grpc, c.i.addressed(r.params)
	if c.i.version == "0.3" {
		name, params = ops[r.op].grpc03, encode03(r.op, r.params, false)
	}
	method := c.methods.ByName(protoreflect.Name(name))
	if method == nil {
		return inexpressible(c.i, r)
	}
	body, in := []byte(compact(params)), dynamicpb.NewMessage(method.Input())
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(body, in); err != nil {
		return inexpressible(c.i, r)
	}
	a := newAnswer(c.i, r.op)
	md := metadata.MD{}
	for name, values := range r.header {
		if name != "Content-Type" && name != "Accept" {
			md.Append(strings.ToLower(name), values...)
		}
	}
	ctx, cancel := context.WithCancel(metadata.NewOutgoingContext(ctx, md))
	full := "/" + c.service + "/" + name
	a.exchange.Request = append([]string{"gRPC " + full + " to " + c.i.url}, headerLines(http.Header(md))...)
	a.exchange.Request = append(a.exchange.Request, bodyLines(body)...)
	if method.IsStreamingServer() {
		c.stream(ctx, cancel, r.kept, a, full, in, method.Output())
		return a
	}
	defer cancel()
	out := dynamicpb.NewMessage(method.Output())
	var header, trailer metadata.MD
	err := c.conn.Invoke(ctx, full, in, out, grpc.Header(&header), grpc.Trailer(&trailer))
	if err == nil {
		err = r.kept.add(proto.Size(out))
	}
	a.header = headers(header, trailer)
	if err != nil {
		c.refused(a, err)
		return a
	}
	a.raw = c.json(out)
	a.value = c.i.decode(r.op, a.raw)
	a.exchange.Response = append([]string{"OK"}, bodyLines([]byte(compact(a.raw)))...)
	a.checkFields(unknownFields(out))
	a.checkObject(ops[a.op].result, a.raw)
	return a
}

// stream opens a stream. A call that fails at once is an error, not a stream.
func (c *grpcCaller) stream(ctx context.Context, cancel context.CancelFunc, k *kept, a *Answer, full string, in proto.Message, output protoreflect.MessageDescriptor) {
	s, err := c.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, full)
	if err == nil {
		if err = s.SendMsg(in); err == nil || errors.Is(err, io.EOF) {
			err = s.CloseSend()
		}
	}
	if err != nil {
		cancel()
		c.refused(a, err)
		return
	}
	next := func() (*StreamEvent, error) {
		out := dynamicpb.NewMessage(output)
		err := s.RecvMsg(out)
		if err == nil {
			err = k.add(proto.Size(out))
		}
		if err != nil {
			return nil, err
		}
		raw := c.json(out)
		return &StreamEvent{raw: raw, value: c.i.decode(a.op, raw), unknown: unknownFields(out)}, nil
	}
	first, err := next()
	header, _ := s.Header()
	a.header = headers(header, s.Trailer())
	if err != nil && !errors.Is(err, io.EOF) {
		cancel()
		c.refused(a, err)
		return
	}
	a.exchange.Response = []string{"OK", ""}
	a.stream = openStream(cancel, k, func() (*StreamEvent, error) {
		if e := first; e != nil || err != nil {
			first = nil
			return e, err
		}
		e, err := next()
		if st, ok := status.FromError(err); ok && err != nil {
			return &StreamEvent{err: c.opError(st)}, errors.New("the stream ended with " + codeName(st.Code()))
		}
		return e, err
	})
}

// json converts a message to ProtoJSON. Scalars that the specification requires are always
// present, because they are on the wire with any value.
func (c *grpcCaller) json(m proto.Message) any {
	text, err := protojson.Marshal(m)
	if err != nil {
		return nil
	}
	v, _ := decode(text)
	if o, ok := v.(obj); ok && m.ProtoReflect().Descriptor().Name() == "ListTasksResponse" {
		zeros := obj{"tasks": []any{}, "nextPageToken": "", "pageSize": 0.0, "totalSize": 0.0}
		for name, zero := range zeros {
			if o[name] == nil {
				o[name] = zero
			}
		}
	}
	return v
}

// refused records the status of a call that failed.
func (c *grpcCaller) refused(a *Answer, err error) {
	st, _ := status.FromError(err)
	a.exchange.Response = append([]string{codeName(st.Code()) + ": " + st.Message()}, headerLines(a.header)...)
	switch {
	case errors.Is(err, errTooMuch) || st.Code() == codes.Unavailable || st.Code() == codes.DeadlineExceeded || st.Code() == codes.Canceled:
		a.broken = err
	default:
		a.err = c.opError(st)
		if len(a.err.Details) > 0 {
			a.exchange.Response = append(a.exchange.Response, bodyLines([]byte(compact(a.err.Details)))...)
		}
		a.checkGRPCError()
	}
}

func (c *grpcCaller) opError(st *status.Status) *OpError {
	e := &OpError{GRPC: codeName(st.Code()), Message: st.Message()}
	for _, d := range st.Proto().GetDetails() {
		if text, err := protojson.Marshal(d); err == nil {
			if v, err := decode(text); err == nil {
				e.Details = append(e.Details, v)
				continue
			}
		}
		e.Details = append(e.Details, obj{"@type": d.GetTypeUrl()})
	}
	e.Whole = obj{"status": e.GRPC, "message": e.Message, "details": e.Details}
	return e
}

// codeName writes a status in the specification's form: NOT_FOUND.
func codeName(c codes.Code) string {
	if c == codes.Canceled {
		return "CANCELLED"
	}
	var b strings.Builder
	for i, r := range c.String() {
		if i > 0 && r >= 'A' && r <= 'Z' && c != codes.OK {
			b.WriteByte('_')
		}
		b.WriteRune(r)
	}
	return strings.ToUpper(b.String())
}

func headers(list ...metadata.MD) http.Header {
	h := http.Header{}
	for _, md := range list {
		for name, values := range md {
			if strings.HasSuffix(name, "-bin") {
				continue
			}
			for _, v := range values {
				h.Add(name, v)
			}
		}
	}
	return h
}
