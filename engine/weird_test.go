package engine

import (
	"context"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

// Whatever an agent emits without an error can be read again.
func TestWhatIsTakenCanBeRead(t *testing.T) {
	deep := func(n int) a2a.JSON { return a2a.JSON(strings.Repeat("[", n) + strings.Repeat("]", n)) }
	for name, do := range map[string]func(t *agent.Turn) error{
		"not UTF-8 in a status": func(t *agent.Turn) error { return t.Status("a\xffb") },
		"not UTF-8 in a part":   func(t *agent.Turn) error { return t.Artifact("a").Add(a2a.TextPart("a\xffb")) },
		"not UTF-8 in a name":   func(t *agent.Turn) error { return t.Artifact("a\xff").Add(a2a.TextPart("x")) },
		"not JSON":              func(t *agent.Turn) error { return t.Artifact("a").Add(a2a.DataPart(a2a.JSON("{"))) },
		"JSON and more":         func(t *agent.Turn) error { return t.Artifact("a").Add(a2a.DataPart(a2a.JSON("{}}"))) },
		"no JSON":               func(t *agent.Turn) error { return t.Artifact("a").Add(a2a.DataPart(nil)) },
		"JSON with a line":      func(t *agent.Turn) error { return t.Artifact("a").Add(a2a.DataPart(a2a.JSON("{\n}"))) },
		"metadata that is no JSON": func(t *agent.Turn) error {
			w := t.Artifact("a")
			w.Metadata = a2a.JSON("{")
			return w.Add(a2a.TextPart("x"))
		},
		"part metadata": func(t *agent.Turn) error {
			p := a2a.TextPart("x")
			p.Metadata = a2a.JSON("{")
			return t.Artifact("a").Add(p)
		},
		"deep":    func(t *agent.Turn) error { return t.Artifact("a").Add(a2a.DataPart(deep(9000))) },
		"deeper":  func(t *agent.Turn) error { return t.Artifact("a").Add(a2a.DataPart(deep(9995))) },
		"deepest": func(t *agent.Turn) error { return t.Artifact("a").Add(a2a.DataPart(deep(10000))) },
		"a deep step": func(t *agent.Turn) error {
			_, err := agent.Step(context.Background(), t, "s", func(context.Context) (a2a.JSON, error) { return deep(10000), nil })
			return err
		},
		"empty raw": func(t *agent.Turn) error { return t.Artifact("a").Add(a2a.RawPart(nil, "", "")) },
		"no parts":  func(t *agent.Turn) error { return t.ReplyParts() },
		"a nil part": func(t *agent.Turn) error {
			if err := t.Status(""); err != nil {
				return err
			}
			return t.ReplyParts(nil)
		},
		"a nil chunk": func(t *agent.Turn) error { return t.Artifact("a").Add(nil) },
	} {
		t.Run(name, func(t *testing.T) {
			st := store.NewMemory()
			t.Cleanup(func() { st.Close() })
			var refused error
			w := newWorld(t, st, agent.Func(func(ctx context.Context, turn *agent.Turn) error {
				if err := turn.Status("begun"); err != nil {
					return err
				}
				refused = do(turn)
				_, err := turn.Ask(ctx, "?")
				return err
			}))
			live := w.mustSend(send("x"))
			t.Log(refused)
			w.stop()
			w = newWorld(t, st, parrot)
			read, err := w.GetTask(t.Context(), &a2a.GetTaskRequest{ID: live.ID})
			if err != nil {
				t.Fatalf("the task is lost: %v", err)
			}
			if live.Status.State != a2a.TaskStateInputRequired {
				return
			}
			sameTask(t, read, live)
		})
	}
}
