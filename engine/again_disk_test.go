package engine

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store/sqlite"
)

// The next process knows the outcome of messages from the disk.
func TestMessagesThatComeAgainAreOnDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a2a.db")
	ag := &counted{Agent: agent.Func(func(ctx context.Context, t *agent.Turn) error {
		if t.Text() == "reply" {
			return t.ReplyParts(allKinds()...)
		}
		return interview(ctx, t)
	})}
	req, direct := send("go"), send("reply")
	req.IdempotencyKey = "key"
	direct.Message.ContextID = "context"
	var stream []*a2a.StreamResponse
	var answer string
	for run := range 3 {
		st, err := sqlite.Open(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		w := knowing(t, st, ag)
		evs := w.mustStream(repeated(req))
		resp, err := w.SendMessage(t.Context(), repeated(direct))
		if err != nil {
			t.Fatal(err)
		}
		if run == 0 {
			stream, answer = evs, string(resp.Message.AppendJSON(nil))
		}
		sameStream(t, evs, stream)
		if got := string(resp.Message.AppendJSON(nil)); got != answer {
			t.Errorf("the answer is %s, want %s", got, answer)
		}
		other := repeated(req)
		other.Message.Parts = []*a2a.Part{a2a.TextPart("stop")}
		_, err = w.SendMessage(t.Context(), other)
		wantError(t, err, a2a.ErrConflict)
		w.stop()
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
	}
	ag.want(t, 2)
}
