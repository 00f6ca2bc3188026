package a2aclient

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	codepb "google.golang.org/genproto/googleapis/rpc/code"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/egress"
	"github.com/parley-a2a/parley/internal/upload"
	"github.com/parley-a2a/parley/internal/wire"
)

// grpc is the gRPC binding (specification §10). On the wire gRPC is HTTP/2 with a
// prefix before each message and a status after the last. So it uses net/http like the
// other bindings, with the same credentials, redirects, time limits and resuming, and
// there is nothing to close.
type grpc struct {
	base string // http://host or https://host
	http *http.Client
	form dialect.GRPC // of the face's version
}

const mediaGRPC = "application/grpc+proto"

func (b *grpc) ways(op dialect.Op) int {
	if b.form.Method(op) == "" {
		return 0
	}
	return 1
}

func (b *grpc) build(op dialect.Op, _ int, req any) (*call, error) {
	m, err := b.form.Request(op, req)
	var msg []byte
	if err == nil {
		msg, err = proto.Marshal(m)
	}
	if err != nil {
		return nil, &a2a.Error{Code: a2a.CodeInvalidParams, Message: "the request cannot be written as a protocol buffer", Cause: err}
	}
	return &call{
		op: op, req: req, method: http.MethodPost, url: b.base + "/" + b.form.Service() + "/" + b.form.Method(op),
		media: mediaGRPC, body: wire.AppendMessage(nil, msg), grpc: b.http,
	}, nil
}

// answer reads the answer of a call that does not stream, or of a stream that
// has ended before its first element.
func (b *grpc) answer(k *call, res *http.Response, body []byte) (any, error) {
	if err := checkGRPC(k, res); err != nil {
		return nil, err
	}
	if err := statusOf(res); err != nil {
		return nil, err
	}
	r := wire.NewMessageReader(bytes.NewReader(body), maxBody)
	msg, err := r.Next()
	if err != nil {
		return nil, &a2a.Error{Code: a2a.CodeInvalidAgentResponse, Message: "the agent's answer to " + k.op.String() + " has no message", Cause: err}
	}
	if _, err := r.Next(); err != io.EOF {
		return nil, a2a.Errorf(a2a.CodeInvalidAgentResponse, "the agent's answer to %s has more than one message", k.op)
	}
	if dialect.Get(k.op).Streams {
		return b.element(k, "", msg)
	}
	m, err := b.message(k, msg)
	if err != nil {
		return nil, err
	}
	out, err := b.form.DecodeResult(k.op, k.req, m)
	if card, ok := out.(*a2a.AgentCard); ok && err == nil && k.card != nil {
		if k.face.dialect < dialect.V10 {
			return nil, &CardError{Kind: CardRefused, Err: errNoDocument}
		}
		// In 1.0 the conversion to JSON, which is what is signed, loses nothing.
		return k.card(card.AppendJSON(nil))
	}
	return out, err
}

// errNoDocument says why an extended card of 0.3 over gRPC cannot be checked: its JSON
// form would differ from the signed one.
var errNoDocument = errors.New("over gRPC, version 0.3 has no document of the extended card to judge: use another binding, or version 1.0")

// element decodes a message of a stream.
func (b *grpc) element(k *call, _ string, data []byte) ([]*a2a.StreamResponse, error) {
	m, err := b.message(k, data)
	if err != nil {
		return nil, err
	}
	return b.form.DecodeEvent(k.op, k.req, m)
}

func (b *grpc) message(k *call, msg []byte) (proto.Message, error) {
	m := b.form.NewResult(k.op)
	if err := proto.Unmarshal(msg, m); err != nil {
		return nil, &a2a.Error{Code: a2a.CodeInvalidAgentResponse, Message: "the agent's answer to " + k.op.String() + " cannot be read", Cause: err}
	}
	return m, nil
}

// checkGRPC checks the header of an answer, which may come from another kind of server.
func checkGRPC(k *call, res *http.Response) error {
	switch media := res.Header.Get("Content-Type"); {
	case strings.HasPrefix(media, "application/grpc"):
		return nil
	case res.StatusCode >= 300:
		return dialect.ErrorFromHTTP(res.StatusCode, media, nil)
	}
	return a2a.Errorf(a2a.CodeInvalidAgentResponse, "%s answered %s with something that is not gRPC (HTTP %d): is this the address of its gRPC interface?",
		res.Request.URL.Host, k.op, res.StatusCode)
}

var errNoStatus = errors.New("the answer ended without a status")

// statusOf returns the error of an answer that has been read to its end; nil if its
// status is OK. If there is no body, the status is in the header.
func statusOf(res *http.Response) error {
	h := res.Trailer
	if h.Get("Grpc-Status") == "" {
		h = res.Header
	}
	code, err := strconv.ParseInt(h.Get("Grpc-Status"), 10, 32)
	switch {
	case err != nil:
		return &TransportError{Host: res.Request.URL.Host, Err: errNoStatus}
	case code == 0:
		return nil
	}
	st := &statuspb.Status{Code: int32(code), Message: h.Get("Grpc-Message")}
	if decoded, err := url.PathUnescape(st.Message); err == nil {
		st.Message = decoded
	}
	if details, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(h.Get("Grpc-Status-Details-Bin"), "=")); err == nil && len(details) > 0 {
		full := new(statuspb.Status)
		if proto.Unmarshal(details, full) == nil && full.GetCode() == st.Code {
			st = full
		}
	}
	e := dialect.ErrorFromStatus(st)
	if len(st.Details) == 0 && st.Code == int32(codepb.Code_FAILED_PRECONDITION) && strings.HasSuffix(res.Request.URL.Path, "/CancelTask") {
		e.Code = a2a.CodeTaskNotCancelable // in 0.3 several errors share this status; here it is this one
	}
	return e
}

// grpcBase returns the URL of a gRPC interface, or "". Cards mostly give its address as
// host:port, which does not say whether to use TLS. Then another interface of the card
// at the same host and port decides; without one, only connections to this machine are
// plain.
func grpcBase(card *a2a.AgentCard, address string) string {
	if u := a2a.WebURL(address); u != nil {
		return u.Scheme + "://" + u.Host
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil || host == "" || port == "" || strings.ContainsAny(address, "/?#@") {
		return ""
	}
	scheme := "https"
	if loopback(address) {
		scheme = "http"
	}
	for _, in := range card.SupportedInterfaces {
		if in == nil {
			continue
		}
		if u := a2a.WebURL(in.URL); u != nil && strings.EqualFold(net.JoinHostPort(u.Hostname(), egress.PortOf(u)), address) {
			scheme = u.Scheme
			break
		}
	}
	return scheme + "://" + address
}

// http2Only returns a transport like g for gRPC. If g's transport is of an unknown
// kind, it returns g itself, which must then speak HTTP/2.
func http2Only(g *guard, base string) *guard {
	return g.with(func(t *http.Transport) http.RoundTripper {
		t.Protocols = new(http.Protocols)
		if t.HTTP2 == nil {
			t.HTTP2 = upload.HTTP2()
		}
		if strings.HasPrefix(base, "http:") {
			t.Protocols.SetUnencryptedHTTP2(true)
		} else {
			t.Protocols.SetHTTP2(true)
		}
		return &fresh{base: t, now: t.Clone()}
	})
}

// fresh is a transport for HTTP/2 that stops using a connection on which a call got no
// answer. All calls to a host share one connection, and if that dies silently TCP may
// need a quarter of an hour to notice. With HTTP/1, a time limit costs a call only its
// own connection.
type fresh struct {
	base *http.Transport // never used itself

	mu  sync.Mutex // protects the field below
	now *http.Transport
}

// RoundTrip implements http.RoundTripper. If a call is given up before the header of
// its answer, later calls use a new connection; calls under way on the old one stay
// there.
func (f *fresh) RoundTrip(req *http.Request) (*http.Response, error) {
	f.mu.Lock()
	t := f.now
	f.mu.Unlock()
	res, err := t.RoundTrip(req)
	if err != nil && req.Context().Err() != nil {
		f.mu.Lock()
		if f.now == t {
			f.now = f.base.Clone()
		}
		f.mu.Unlock()
		t.CloseIdleConnections()
	}
	return res, err
}

// CloseIdleConnections implements the method that http.Client.CloseIdleConnections
// calls.
func (f *fresh) CloseIdleConnections() {
	f.mu.Lock()
	t := f.now
	f.mu.Unlock()
	t.CloseIdleConnections()
}
