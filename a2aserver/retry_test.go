package a2aserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/wire"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// sends are the ways to send a message: each dialect, binding and operation.
// They take headers and return the error of the answer, nil if there is none.
func sends(t *testing.T, svc a2a.Service) map[string]func(headers ...string) *a2a.Error {
	card := testCard()
	card.Capabilities.Extensions = append(card.Capabilities.Extensions, ResumeExtension())
	h := New(svc, card, nil)
	conn := dialGRPC(t, onPortOf(t, svc))
	all := map[string]func(...string) *a2a.Error{}
	req := &a2a.SendMessageRequest{Message: &a2a.Message{MessageID: "m1", TaskID: "t1", Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart("hi")}}}
	for _, version := range []string{"0.1", "0.3", "1.0", "1.1"} {
		d, _ := dialect.ParseVersion(version)
		for _, op := range []dialect.Op{dialect.SendMessage, dialect.SendStreamingMessage} {
			name := version + " " + op.String() + " over "
			codec := dialect.CodecOf(d, a2a.BindingJSONRPC)
			body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, dialect.Get(op).Methods[d], codec.AppendRequest(nil, op, req))
			all[name+"JSON-RPC"] = func(headers ...string) *a2a.Error {
				w := do(h, "POST", "/", body, append(headers, "A2A-Version: "+version, "Content-Type: application/json")...)
				return rpcAnswer(t, w)
			}
			if d == dialect.V01 {
				continue
			}
			r, err := dialect.BuildREST(d, op, 0, req)
			if err != nil {
				t.Fatal(err)
			}
			all[name+"HTTP+JSON"] = func(headers ...string) *a2a.Error {
				w := do(h, r.Method, r.Path, string(r.Body), append(headers, "A2A-Version: "+version, "Content-Type: application/json")...)
				if w.Code == 200 {
					return nil
				}
				return dialect.ErrorFromHTTP(w.Code, w.Header().Get("Content-Type"), w.Body.Bytes())
			}
			all[name+"gRPC"] = func(headers ...string) *a2a.Error { return overGRPC(t, conn, d, op, req, version, headers) }
		}
	}
	return all
}

func rpcAnswer(t *testing.T, w *httptest.ResponseRecorder) *a2a.Error {
	t.Helper()
	body := w.Body.Bytes()
	if w.Header().Get("Content-Type") == mediaEvents {
		ev, err := wire.NewReader(w.Body, 1<<20).Next()
		if err != nil {
			t.Fatal(err)
		}
		body = ev.Data
	}
	env, err := wire.ParseResponse(body)
	switch {
	case err != nil:
		t.Fatalf("%v in %s", err, body)
	case env.Err != nil:
		return dialect.ErrorFromRPC(w.Code, env.Err.Code, env.Err.Message, env.Err.Data)
	}
	return nil
}

func overGRPC(t *testing.T, conn *grpc.ClientConn, d dialect.Dialect, op dialect.Op, req any, version string, headers []string) *a2a.Error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	ctx = metadata.AppendToOutgoingContext(ctx, "a2a-version", version)
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		ctx = metadata.AppendToOutgoingContext(ctx, name, value)
	}
	form := dialect.GRPCOf(d)
	m, err := form.Request(op, req)
	if err != nil {
		t.Fatal(err)
	}
	s, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, "/"+form.Service()+"/"+form.Method(op))
	if err != nil {
		t.Fatal(err)
	}
	_ = s.SendMsg(m)
	_ = s.CloseSend()
	if err := s.RecvMsg(form.NewResult(op)); err != nil {
		return dialect.ErrorFromStatus(status.Convert(err).Proto())
	}
	return nil
}

// heard returns a service that keeps its last request and answers with a task or an
// error.
func heard(fail error) (*fake, func() *a2a.SendMessageRequest) {
	var last *a2a.SendMessageRequest
	f := &fake{
		send: func(_ context.Context, req *a2a.SendMessageRequest) (*a2a.SendMessageResponse, error) {
			last = req
			return &a2a.SendMessageResponse{Task: taskAt(1).Task}, fail
		},
		stream: func(_ context.Context, req *a2a.SendMessageRequest) elements {
			last = req
			if fail != nil {
				return yields(fail)
			}
			return yields(taskAt(max(1, req.After)), statusAt(9, a2a.TaskStateCompleted))
		},
	}
	return f, func() *a2a.SendMessageRequest {
		req := last
		last = nil
		return req
	}
}

func TestIdempotencyKeyOverEveryBinding(t *testing.T) {
	svc, last := heard(nil)
	for name, send := range sends(t, svc) {
		t.Run(name, func(t *testing.T) {
			for _, tt := range []struct {
				headers []string
				want    string
			}{
				{nil, ""},
				{[]string{"Idempotency-Key: k-1"}, "k-1"},
				{[]string{`Idempotency-Key: "k \"1\""`}, `k "1"`},
				{[]string{"Idempotency-Key: k-1", `Idempotency-Key: "k-1"`}, "k-1"},
			} {
				err := send(tt.headers...)
				req := last()
				if err != nil || req == nil || req.IdempotencyKey != tt.want {
					t.Errorf("%q: %v, %+v", tt.headers, err, req)
				}
			}
			for _, headers := range [][]string{
				{"Idempotency-Key: a", "Idempotency-Key: b"}, {`Idempotency-Key: "a`}, {`Idempotency-Key: ""`},
				{"Idempotency-Key: " + strings.Repeat("k", 256)},
			} {
				err := send(headers...)
				if err == nil || err.Code != a2a.CodeInvalidParams || !strings.HasPrefix(err.Message, "Idempotency-Key: ") || last() != nil {
					t.Errorf("%.60q: %v", headers, err)
				}
			}
		})
	}
}

func TestIdempotencyKeyIsForMessages(t *testing.T) {
	h := New(&fake{}, testCard(), nil)
	for _, key := range []string{`"`, "k"} {
		if w := do(h, "GET", "/tasks/t1", "", "Idempotency-Key: "+key); w.Code != http.StatusOK {
			t.Errorf("GetTask with key %s: %s", key, w.Body)
		}
	}
}

// The cursor of a stream that is sent again reaches the service, and the service's
// error about it names the field that it came in.
func TestCursorOfAMessage(t *testing.T) {
	svc, last := heard(nil)
	refused, _ := heard(a2a.Invalid("Last-Event-ID", "must be the id of an event of this task's stream"))
	bad := sends(t, refused)
	for name, send := range sends(t, svc) {
		t.Run(name, func(t *testing.T) {
			streams := strings.Contains(name, "Streaming")
			if err := send("Last-Event-ID: 7"); err != nil {
				t.Fatal(err)
			}
			if got := last().After; got != 7 && streams || got != 0 && !streams {
				t.Errorf("behind %d", got)
			}
			if !streams {
				return
			}
			err := send("Last-Event-ID: x")
			if err == nil || err.Code != a2a.CodeInvalidParams || !strings.HasPrefix(err.Message, "Last-Event-ID: ") || last() != nil {
				t.Errorf("an invalid cursor: %v", err)
			}
			if err := bad[name]("Last-Event-ID: 7"); err == nil || !strings.HasPrefix(err.Message, "Last-Event-ID: ") {
				t.Errorf("a cursor that is refused: %v", err)
			}
		})
	}
}

// By the resume extension the cursor is in the metadata. The agent must not see it
// there: it may differ each time the message is sent.
func TestCursorOfAMessageInItsMetadata(t *testing.T) {
	const field = `metadata["` + dialect.ResumeURI + `"].lastEventId`
	own := `"` + dialect.ResumeURI + `":{"lastEventId":"7"}`
	body := func(metadata string) string {
		return `{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"hi"}]},"metadata":{` + metadata + `}}`
	}
	card := testCard()
	card.Capabilities.Extensions = append(card.Capabilities.Extensions, ResumeExtension())
	svc, last := heard(nil)
	h := New(svc, card, nil)
	for metadata, want := range map[string]string{own: "", `"a":1,` + own: `{"a":1}`, own + `,"b":[2]`: `{"b":[2]}`} {
		w := do(h, "POST", "/message:stream", body(metadata), "Content-Type: application/json")
		req := last()
		if w.Code != 200 || req == nil || req.After != 7 || string(req.Metadata) != want {
			t.Errorf("%s: %+v, %s", metadata, req, w.Body)
		}
	}
	svc, _ = heard(a2a.Invalid("Last-Event-ID", "is not of this task"))
	w := do(New(svc, card, nil), "POST", "/message:stream", body(own), "Content-Type: application/json")
	if e := dialect.ErrorFromHTTP(w.Code, w.Header().Get("Content-Type"), w.Body.Bytes()); len(e.Fields) != 1 || e.Fields[0].Field != field {
		t.Errorf("%+v", e)
	}
}

// A conflict is recognizable in every version and binding: by its reason, and by its
// status if there is one.
func TestConflictOverEveryBinding(t *testing.T) {
	svc, _ := heard(&a2a.Error{Code: a2a.CodeConflict, Message: "the message's id was used for another message"})
	for name, send := range sends(t, svc) {
		err := send()
		if !errors.Is(err, a2a.ErrConflict) || err.Message != "the message's id was used for another message" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRetryExtensionOnACard(t *testing.T) {
	card := testCard()
	card.Capabilities.Extensions = []*a2a.AgentExtension{RetryExtension(36*time.Hour, true)}
	w := do(New(&fake{}, card, nil), "GET", "/.well-known/agent-card.json", "")
	got := new(a2a.AgentCard)
	if err := got.UnmarshalJSON(w.Body.Bytes()); err != nil {
		t.Fatal(err)
	}
	if r, ok := dialect.ReadRetry(got); !ok || r != (dialect.Retry{Window: 36 * time.Hour, Anonymous: true}) {
		t.Errorf("%+v, %v in %s", r, ok, w.Body)
	}
}
