package audit

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
)

var noDialect dialect.Dialect // which request lines do not name

// lines returns what a call logs, without times.
func lines(t *testing.T, of func(context.Context, *Log)) []string {
	t.Helper()
	var b bytes.Buffer
	to := slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{ReplaceAttr: func(_ []string, at slog.Attr) slog.Attr {
		if at.Key == slog.TimeKey || at.Key == "ms" {
			return slog.Attr{}
		}
		return at
	}}))
	of(a2a.WithCaller(t.Context(), a2a.Caller{Subject: "ann", Tenant: "acme"}), New(nil, to, nil))
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}

// Each call is one line, that of a stream at its end, and has the state of the task.
func TestRequestLines(t *testing.T) {
	sent := &a2a.SendMessageRequest{Message: &a2a.Message{MessageID: "m", Parts: []*a2a.Part{a2a.TextPart("a secret")}}}
	working := &a2a.Task{ID: "t-1", Status: a2a.TaskStatus{State: a2a.TaskStateWorking}}
	done := &a2a.TaskStatusUpdateEvent{TaskID: "t-1", Status: a2a.TaskStatus{State: a2a.TaskStateInputRequired}}
	got := lines(t, func(ctx context.Context, log *Log) {
		var c Record
		c.Begin(log, a2a.BindingJSONRPC, "192.0.2.1:99", "sums")
		c.Operation(noDialect, dialect.SendMessage)
		c.Request(sent)
		c.Result(&a2a.SendMessageResponse{Task: working})
		c.Succeed(ctx)
		c.End(ctx)

		c = Record{}
		c.Begin(log, a2a.BindingGRPC, "192.0.2.1:99", "")
		c.Operation(noDialect, dialect.SendStreamingMessage)
		c.Request(sent)
		c.Result(&a2a.StreamResponse{Task: working})
		c.Succeed(ctx)
		c.Result(&a2a.StreamResponse{StatusUpdate: done})
		c.Outcome = OK
		c.End(ctx)

		c = Record{}
		c.Begin(log, a2a.BindingJSONRPC, "192.0.2.1:99", "")
		c.Operation(noDialect, dialect.GetTask)
		c.Request(&a2a.GetTaskRequest{ID: "t\x1b[2J"})
		c.Fail(ctx, &a2a.Error{Code: a2a.CodeTaskNotFound, Message: "a secret"})
		c.End(ctx)

		c = Record{}
		c.Begin(log, a2a.BindingJSONRPC, "192.0.2.1:99", "")
		c.Fail(t.Context(), &a2a.Error{Code: a2a.CodeUnauthenticated})
		c.End(t.Context())
	})
	want := []string{
		`level=INFO msg=request op=SendMessage caller=ann tenant=acme agent=sums task=t-1 result=working`,
		`level=INFO msg=request op=SendStreamingMessage caller=ann tenant=acme task=t-1 result=input-required`,
		`level=INFO msg=request op=GetTask caller=ann tenant=acme task="\"t\\x1b[2J\"" result=` + a2a.CodeTaskNotFound.String(),
		`level=INFO msg=request caller=192.0.2.1 result=` + a2a.CodeUnauthenticated.String(),
	}
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Errorf("no line %s", want[i])
		case i >= len(want) || got[i] != want[i]:
			t.Errorf("line %d is %s", i, got[i])
		}
	}
}

// In a flood of anonymous calls, lines are counted instead of written; named callers still
// get their lines.
func TestStrangersDoNotFloodTheRequestLog(t *testing.T) {
	const calls = 3 * floodBurst
	got := lines(t, func(ctx context.Context, log *Log) {
		call := func(ctx context.Context) {
			var c Record
			c.Begin(log, a2a.BindingJSONRPC, "192.0.2.1:99", "")
			c.Operation(noDialect, dialect.ListTasks)
			c.Succeed(ctx)
		}
		for range calls {
			call(t.Context())
		}
		call(ctx)
	})
	if n := len(got); n < floodBurst || n > 2*floodBurst {
		t.Errorf("%d calls made %d lines", calls, n)
	}
	if last := got[len(got)-1]; !strings.Contains(last, "caller=ann") || !strings.Contains(last, "skipped=") {
		t.Errorf("the last line is %s", last)
	}
}

// BenchmarkRecord measures a call that is not logged, and one with a line.
func BenchmarkRecord(b *testing.B) {
	req := &a2a.GetTaskRequest{ID: "t-1"}
	res := &a2a.Task{ID: "t-1", Status: a2a.TaskStatus{State: a2a.TaskStateCompleted}}
	ctx := a2a.WithCaller(b.Context(), a2a.Caller{Subject: "ann"})
	for name, log := range map[string]*Log{"off": New(nil, nil, nil), "on": New(nil, slog.New(slog.NewTextHandler(io.Discard, nil)), nil)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var c Record
				c.Begin(log, a2a.BindingJSONRPC, "192.0.2.1:99", "")
				c.Operation(noDialect, dialect.GetTask)
				c.Request(req)
				c.Result(res)
				c.Succeed(ctx)
				c.End(ctx)
			}
		})
	}
}
