package telemetry

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

// A record has the caller and the trace of its call, once.
func TestLogSaysWhoseCallItIs(t *testing.T) {
	var b bytes.Buffer
	log := slog.New(LogHandler(slog.NewTextHandler(&b, nil)))
	ctx := WithRemote(t.Context(), "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "")
	ctx = a2a.WithCaller(ctx, a2a.Caller{Subject: "ann"})
	dropped := a2a.WithCaller(t.Context(), a2a.Caller{Trace: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"})
	for want, say := range map[string]func(){
		`msg=plain`: func() { log.Info("plain") },
		`msg=called n=1 caller=ann trace_id=0af7651916cd43dd8448eb211c80319c span_id=b7ad6b7169203331`: func() { log.InfoContext(ctx, "called", "n", 1) },
		`msg=dropped trace_id=0af7651916cd43dd8448eb211c80319c span_id=b7ad6b7169203331`:               func() { log.InfoContext(dropped, "dropped") },
		`msg=known caller=bob trace_id=0af7651916cd43dd8448eb211c80319c span_id=b7ad6b7169203331`:      func() { log.InfoContext(ctx, "known", "caller", "bob") },
		`caller=eve msg=with trace_id`: func() { log.With("caller", "eve").InfoContext(ctx, "with") },
	} {
		b.Reset()
		say()
		got := strings.TrimSpace(b.String())
		if !strings.Contains(got, want) && !strings.Contains(got, strings.ReplaceAll(want, "caller=eve msg=with", "msg=with caller=eve")) || strings.Count(got, "caller=") > 1 {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
