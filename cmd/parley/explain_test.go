package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/output"
)

// a2a-cli Appendix D and §11.6: the code and the exit status of each failure.
func TestExplain(t *testing.T) {
	peer := func(c a2a.Code) error {
		return &a2a.Error{Code: c, Message: "said", Peer: true, PeerCode: strconv.Itoa(dialect.ErrorRowOf(c).RPC)}
	}
	card := func(k a2aclient.CardErrorKind, err error) error {
		return &a2aclient.CardError{Ref: "h", Kind: k, Err: err}
	}
	down := &a2aclient.TransportError{Host: "h", Unreachable: true, Err: errors.New("refused")}
	expired, cancel := context.WithTimeoutCause(t.Context(), -time.Second, errTimeout)
	defer cancel()
	interrupted, stop := context.WithCancel(t.Context())
	stop()
	for _, c := range []struct {
		name    string
		ctx     context.Context
		flags   flags
		sending bool
		last    *a2a.Task
		err     error
		code    string
		exit    int
		a2a     string
		hint    string
	}{
		{name: "usage", err: failure.Usagef("x"), code: "A2ACLI_ERR_USAGE", exit: 2},
		{name: "no card", err: card(a2aclient.CardNotFound, errors.New("404")), code: "A2ACLI_ERR_CARD_NOT_FOUND", exit: 3, hint: "./card.json"},
		{name: "a wrong card", err: card(a2aclient.CardInvalid, errors.New("html")), code: "A2ACLI_ERR_CARD_INVALID", exit: 1},
		{name: "no host", err: card(a2aclient.CardUnreachable, down), code: "A2ACLI_ERR_UNREACHABLE", exit: 3},
		{
			name: "a host that has no time for its card", err: card(a2aclient.CardUnreachable, &a2a.Error{Code: a2a.CodeRateLimited, Message: "slow", Peer: true, RetryAfter: time.Minute}),
			code: "A2ACLI_ERR_UNREACHABLE", exit: 3, hint: "try again in 1m0s",
		},
		{name: "no agent", err: down, code: "A2ACLI_ERR_UNREACHABLE", exit: 3},
		{
			name: "the card leads elsewhere", flags: flags{agentCard: "192.168.1.7:9999"}, err: &a2aclient.TransportError{Host: "localhost:9999", Unreachable: true, Err: errors.New("refused")},
			code: "A2ACLI_ERR_UNREACHABLE", exit: 3, hint: "the agent's card says to call http://localhost:9999/a2a",
		},
		{
			name: "the address of the card", flags: flags{agentCard: "localhost:9999"}, err: &a2aclient.TransportError{Host: "localhost:9999", Unreachable: true, Err: errors.New("refused")},
			code: "A2ACLI_ERR_UNREACHABLE", exit: 3, hint: "is it running",
		},
		{
			name: "an answer that makes no sense, in the middle of a task", last: &a2a.Task{ID: "t1", Status: a2a.TaskStatus{State: a2a.TaskStateWorking}},
			err: a2a.Errorf(a2a.CodeInvalidAgentResponse, "no"), code: "InvalidAgentResponseError", exit: 1, hint: "it may continue: parley task get --wait t1",
		},
		{
			name: "a connection that broke", sending: true, err: &a2aclient.TransportError{Host: "h", Err: io.ErrUnexpectedEOF},
			code: "A2ACLI_ERR_UNREACHABLE", exit: 3, hint: "before you send it again",
		},
		{
			name: "a connection that broke over a question", err: &a2aclient.TransportError{Host: "h", Err: io.ErrUnexpectedEOF},
			code: "A2ACLI_ERR_UNREACHABLE", exit: 3, hint: "is the address right",
		},
		{name: "a card behind a door", err: card(a2aclient.CardForbidden, peer(a2a.CodeUnauthenticated)), code: "A2ACLI_ERR_CREDENTIALS_MISSING", exit: 4},
		{name: "no credentials", err: peer(a2a.CodeUnauthenticated), code: "A2ACLI_ERR_CREDENTIALS_MISSING", exit: 4, a2a: "-32000", hint: "A2ACLI_BEARER"},
		{name: "wrong credentials", flags: flags{bearer: "x"}, err: peer(a2a.CodeUnauthenticated), code: "A2ACLI_ERR_AUTH_FAILED", exit: 4, a2a: "-32000"},
		{name: "not allowed", flags: flags{apiKey: "x"}, err: peer(a2a.CodePermissionDenied), code: "A2ACLI_ERR_AUTH_FAILED", exit: 4, a2a: "-32000"},
		{
			name: "wrong credentials by hand", flags: flags{svcParams: http.Header{"Authorization": {"x"}}},
			err: peer(a2a.CodeUnauthenticated), code: "A2ACLI_ERR_AUTH_FAILED", exit: 4, a2a: "-32000",
		},
		{
			name: "a scope that is missing", flags: flags{apiKey: "x"}, err: &a2a.Error{Code: a2a.CodePermissionDenied, Message: "no", Peer: true, PeerCode: "-32000", Meta: map[string]string{"scope": "tasks:write"}},
			code: "A2ACLI_ERR_AUTH_FAILED", exit: 4, a2a: "-32000", hint: "lack the scope tasks:write",
		},
		{
			name: "too many requests", err: &a2a.Error{Code: a2a.CodeRateLimited, Message: "slow", Peer: true, PeerCode: "429", RetryAfter: 2400 * time.Millisecond},
			code: "PARLEY_ERR_RATE_LIMITED", exit: 1, a2a: "429", hint: "try again in 3s",
		},
		{name: "a circle", err: peer(a2a.CodeLoop), code: "PARLEY_ERR_DELEGATION_LOOP", exit: 1, a2a: "-32000", hint: "circle"},
		{name: "no such task", err: peer(a2a.CodeTaskNotFound), code: "TaskNotFoundError", exit: 1, a2a: "-32001", hint: "parley task list"},
		{name: "no such task to go on with", flags: flags{taskID: "t"}, err: peer(a2a.CodeTaskNotFound), code: "TaskNotFoundError", exit: 1, a2a: "-32001", hint: "--debug"},
		{name: "of gRPC", err: &a2a.Error{Code: a2a.CodeTaskNotFound, Message: "no", Peer: true, PeerCode: "NOT_FOUND"}, code: "TaskNotFoundError", exit: 1, a2a: "NOT_FOUND"},
		{name: "a gate that is closed", err: &a2a.Error{Code: a2a.CodeUnavailable, Message: "no", Peer: true, PeerCode: "503"}, code: "PARLEY_ERR_UNAVAILABLE", exit: 1, a2a: "503"},
		{name: "a code of their own", err: &a2a.Error{Code: a2a.CodeInternal, Message: "no", Peer: true, PeerCode: "-32077"}, code: "InternalError", exit: 1, a2a: "-32077"},
		{name: "concluded here", err: a2a.Errorf(a2a.CodeUnsupportedOperation, "x"), code: "UnsupportedOperationError", exit: 1},
		{name: "timeout", ctx: expired, err: down, code: "A2ACLI_ERR_TIMEOUT", exit: 5},
		{name: "interrupt", ctx: interrupted, err: context.Canceled, code: "PARLEY_ERR_INTERRUPTED", exit: 130},
		{name: "a folder without room", err: failure.New(failure.CodeUsage, "--save out: no room", &fs.PathError{Op: "write", Path: "out/a", Err: errors.New("no space")}).WithHint("another folder"), code: "A2ACLI_ERR_USAGE", exit: 2, hint: "another folder"},
		{name: "anything else", err: errors.New("boom"), code: "A2ACLI_ERR_INTERNAL", exit: 1, hint: "--debug"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := &app{flags: c.flags, sending: c.sending, last: c.last, log: slog.New(slog.DiscardHandler), via: &a2a.AgentInterface{URL: "http://localhost:9999/a2a", ProtocolBinding: a2a.BindingJSONRPC}}
			ctx := c.ctx
			if ctx == nil {
				ctx = t.Context()
			}
			f := a.explain(ctx, c.err)
			if f.Code != c.code || f.Exit() != c.exit || f.A2ACode != c.a2a {
				t.Errorf("got %s, exit %d, a2aCode %s; want %s, %d, %s", f.Code, f.Exit(), f.A2ACode, c.code, c.exit, c.a2a)
			}
			if f.Message == "" || !strings.Contains(f.Hint, c.hint) {
				t.Errorf("message %q, hint %q; want a hint with %q", f.Message, f.Hint, c.hint)
			}
		})
	}
}

// a2a-cli §11.4: the protocol's names are kept, and ours are those of Appendix
// D or have a prefix of their own.
func TestEveryProtocolErrorKeepsItsName(t *testing.T) {
	for code := a2a.CodeInternal; code <= a2a.CodeUnavailable; code++ {
		if code == a2a.CodeUnauthenticated || code == a2a.CodePermissionDenied {
			continue // the protocol has no names for these
		}
		f := (&app{}).explain(t.Context(), &a2a.Error{Code: code, Peer: true})
		name := code.String()
		if dialect.ErrorRowOf(code).RPC == -32000 || code > a2a.CodeInvalidParams { // HTTP has names for these, and the protocol none
			name = "PARLEY_ERR_"
		}
		if !strings.HasPrefix(f.Code, name) || f.Exit() != failure.ExitFailure || f.Message == "" {
			t.Errorf("%v became %+v", code, f)
		}
	}
}

// A task that may go on without its client is named, with the command that finds it.
func TestALostConnectionSaysHowToGoOn(t *testing.T) {
	fs := pflag.NewFlagSet("send", pflag.ContinueOnError)
	a := &app{last: &a2a.Task{ID: "t 1", ContextID: "c1", Status: a2a.TaskStatus{State: a2a.TaskStateWorking}}, card: &a2a.AgentCard{}}
	a.flags.register(fs)
	if err := fs.Parse([]string{"-a", "localhost:1", "--stream"}); err != nil {
		t.Fatal(err)
	}
	a.commands = newCommands("parley", fs)
	for streams, want := range map[bool]string{
		true:  "parley task subscribe -a localhost:1 --stream 't 1'",
		false: "parley task get -a localhost:1 --wait 't 1'",
	} {
		a.card.Capabilities.Streaming = &streams
		f := a.explain(t.Context(), &a2aclient.TransportError{Host: "localhost:1", Err: errors.New("reset")})
		if f.Code != failure.CodeUnreachable || f.Hint != want || !strings.Contains(f.Message, "task t 1 (context c1), last seen as TASK_STATE_WORKING") {
			t.Errorf("got %v, hint %q; want %q", f, f.Hint, want)
		}
	}
}

func TestEnvelope(t *testing.T) {
	f := failure.New("TaskNotFoundError", "task <x> \"y\"", nil)
	if got, want := string(output.Envelope(f)), `{"error":{"code":"TaskNotFoundError","message":"task <x> \"y\"","hint":null,"a2aCode":null}}`+"\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	f.A2ACode = "NOT_FOUND"
	if got := string(output.Envelope(f)); !strings.Contains(got, `"a2aCode":"NOT_FOUND"`) {
		t.Errorf("got %s", got)
	}
	f.A2ACode = "-32001"
	if got, want := string(output.Envelope(f.WithHint("do %s", "<this>"))), `{"error":{"code":"TaskNotFoundError","message":"task <x> \"y\"","hint":"do <this>","a2aCode":-32001}}`+"\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Wrong fields are named even if the agent's message does not name them, and no hint
// mentions a task without an id.
func TestExplainNamesFields(t *testing.T) {
	a := new(app)
	f := a.explainProtocol(&a2a.Error{Code: a2a.CodeInvalidParams, Message: "Invalid; a: known", Peer: true, Fields: []a2a.FieldViolation{{Field: "a", Description: "known"}, {Field: "message.parts", Description: "is empty"}}})
	if want := "Invalid; a: known; message.parts: is empty"; f.Message != want {
		t.Errorf("said %q, want %q", f.Message, want)
	}
	if f := a.explainProtocol(&a2a.Error{Code: a2a.CodeTaskNotCancelable, Message: "no", Peer: true}); f.Hint != "" {
		t.Errorf("the hint %q", f.Hint)
	}
}
