package agent

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/wake"
)

// Conformance returns the agent that conformance kits drive. The prefix of a message's
// messageId selects what the agent does; if no prefix of the table matches, the first
// word of the first text part does. The longest matching prefix wins. Any other message
// completes the task with a fixed text; in a task created in a version before 1.0 it
// makes the task work for 2 s and then wait for input.
//
// A message for a task that waits for input is read in the same way, and its action
// applies to that task. A direct message is then no longer possible: the task completes
// with it instead.
func Conformance() Agent {
	return Func(func(ctx context.Context, t *Turn) error {
		var c *conformanceCase
		for m := t.Message(); ; {
			c = conformanceCaseOf(m, t.Version(), c)
			err := c.play(ctx, t)
			if err != nil || c.ask == "" {
				return err
			}
			if m, err = t.Ask(ctx, c.ask); err != nil {
				return err
			}
		}
	})
}

// conformanceCase is a row of the table: what the agent does for a prefix.
type conformanceCase struct {
	prefix string
	steps  []conformanceStep // in order; if the last one does not end the task, it completes
	ask    string            // unless this question, asked after the steps, leaves it open
	until  string            // ask again, unless the answer begins with this word or matches a row of its own
}

// conformanceStep emits one event, or lets time pass.
type conformanceStep func(ctx context.Context, t *Turn) error

// The time that a kit has to cut its stream and reconnect, and the length of long work.
const (
	resubscribeWait = 5 * time.Second
	longWait        = 2 * time.Second
)

var conformanceCases = []conformanceCase{
	{prefix: "tck-complete-task", steps: does(completes("Hello from TCK"))},
	{prefix: "tck-input-required", ask: "What should happen to this task?"},
	{prefix: "tck-artifact-text", steps: does(artifact(a2a.TextPart("Generated text content")))},
	{prefix: "tck-artifact-file", steps: does(artifact(conformanceFile()))},
	{prefix: "tck-artifact-file-url", steps: does(artifact(a2a.URLPart("https://example.com/output.txt", "text/plain", "output.txt")))},
	{prefix: "tck-artifact-data", steps: does(artifact(a2a.DataPart(a2a.JSON(`{"key":"value","count":42}`))))},
	{prefix: "tck-message-response", steps: does(replies("Direct message response"))},
	{prefix: "tck-stream-001", steps: does(works, artifact(a2a.TextPart("Stream hello from TCK")))},
	{prefix: "tck-stream-002"},
	{prefix: "tck-stream-003", steps: does(works, artifact(a2a.TextPart("Stream task lifecycle")))},
	{prefix: "tck-stream-ordering-001", steps: does(works, artifact(a2a.TextPart("Ordered output")))},
	{prefix: "tck-stream-artifact-text", steps: does(works, artifact(a2a.TextPart("Streamed text content")))},
	{prefix: "tck-stream-artifact-file", steps: does(works, artifact(conformanceFile()))},
	{prefix: "tck-stream-artifact-chunked", steps: does(works, artifact(a2a.TextPart("chunk-1 "), a2a.TextPart("chunk-2")))},
	{prefix: "tck-reject-task", steps: does(rejects)},
	{prefix: "tck-long-running", steps: does(works, waits(longWait), artifact(a2a.TextPart("Long-running work is done")))},
	{prefix: "tck-multi-turn", ask: "What else? Say done to end this.", until: "done"},
	{prefix: "tck-cancel", steps: does(works, waitsForEver)},
	{prefix: "tck-stream-basic", steps: does(works, artifact(a2a.TextPart("Streamed content")))},
	{prefix: "tck-stream-chunked", steps: does(works, artifact(a2a.TextPart("chunk-1 "), a2a.TextPart("chunk-2 "), a2a.TextPart("chunk-3")))},
	{prefix: "tck-task-failure", steps: does(fails)},
	{prefix: "tck-auth-required", steps: does(works, authenticates)},
	{prefix: "test-resubscribe-message-id", steps: does(works, waits(resubscribeWait))},
}

// Messages that match no row: in tasks of 1.0, and of earlier versions.
var (
	conformanceElse    = conformanceCase{steps: does(completes("Done"))}
	conformanceElseOld = conformanceCase{steps: does(works, waits(2*time.Second)), ask: "What else?"}
)

// conformanceCaseOf returns the case that a message selects. asked is the case that it
// answers, or nil.
func conformanceCaseOf(m *a2a.Message, version string, asked *conformanceCase) *conformanceCase {
	word := append(strings.Fields(m.Text()), "")[0]
	waits := asked != nil && asked.until != ""
	switch c := cmp.Or(conformanceRow(m.MessageID), conformanceRow(word)); {
	case c != nil:
		return c
	case waits && word != asked.until:
		return asked
	case waits, !strings.HasPrefix(version, "0."):
		return &conformanceElse
	}
	return &conformanceElseOld
}

// conformanceRow returns the row with the longest prefix of s, or nil.
func conformanceRow(s string) *conformanceCase {
	var best *conformanceCase
	for i := range conformanceCases {
		c := &conformanceCases[i]
		if strings.HasPrefix(s, c.prefix) && (best == nil || len(c.prefix) > len(best.prefix)) {
			best = c
		}
	}
	return best
}

func (c *conformanceCase) play(ctx context.Context, t *Turn) error {
	for _, step := range c.steps {
		if err := step(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

func does(steps ...conformanceStep) []conformanceStep { return steps }

func works(_ context.Context, t *Turn) error   { return t.Status("") }
func rejects(_ context.Context, t *Turn) error { return t.Reject("") }
func fails(context.Context, *Turn) error       { return Public("The task failed, as it was asked to", nil) }

func authenticates(ctx context.Context, t *Turn) error {
	_, err := t.Authenticate(ctx, "Sign in, and send any message: nobody looks at it.")
	return err
}

// waitsForEver ends when the task is canceled, or the server stops.
func waitsForEver(ctx context.Context, _ *Turn) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

func completes(text string) conformanceStep {
	return func(_ context.Context, t *Turn) error { return t.Complete(text) }
}

func replies(text string) conformanceStep {
	return func(_ context.Context, t *Turn) error { return t.Reply(text) }
}

func waits(d time.Duration) conformanceStep {
	return func(ctx context.Context, _ *Turn) error { return wake.Pause(ctx, d) }
}

// artifact writes one artifact, each part in its own chunk.
func artifact(parts ...*a2a.Part) conformanceStep {
	return func(_ context.Context, t *Turn) error {
		w := t.Artifact("")
		for _, p := range parts[:len(parts)-1] {
			if err := w.Add(p); err != nil {
				return err
			}
		}
		return w.Last(parts[len(parts)-1])
	}
}

func conformanceFile() *a2a.Part { return a2a.RawPart([]byte("tck"), "text/plain", "output.txt") }
