package interop

import (
	"context"
	"encoding/json"
	"iter"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
)

// kit is the agent that conformance kits drive, as far as a2a-go has what it takes.
type kit struct{ agent }

func (kit) Execute(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		var text string
		for _, p := range ec.Message.Parts {
			if text = p.Text(); text != "" {
				break
			}
		}
		word, _, _ := strings.Cut(text, " ")
		emit := func(ev a2a.Event) bool { return yield(ev, nil) }
		says := func(text string) *a2a.Message {
			return a2a.NewMessageForTask(a2a.MessageRoleAgent, ec, a2a.NewTextPart(text))
		}
		status := func(s a2a.TaskState, m *a2a.Message) bool { return emit(a2a.NewStatusUpdateEvent(ec, s, m)) }
		if word == "tck-message-response" && ec.StoredTask == nil {
			m := a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("Direct message response"))
			m.ContextID = ec.ContextID
			emit(m)
			return
		}
		if ec.StoredTask == nil && !emit(a2a.NewSubmittedTask(ec, ec.Message)) {
			return
		}
		artifact := func(parts ...*a2a.Part) bool {
			ev := a2a.NewArtifactEvent(ec, parts[0])
			ev.LastChunk = len(parts) == 1
			if !emit(ev) {
				return false
			}
			for i, p := range parts[1:] {
				more := a2a.NewArtifactUpdateEvent(ec, ev.Artifact.ID, p)
				more.Append, more.LastChunk = true, i == len(parts)-2
				if !emit(more) {
					return false
				}
			}
			return true
		}
		switch word {
		case "tck-input-required":
			status(a2a.TaskStateInputRequired, says("What should happen?"))
			return
		case "tck-auth-required":
			status(a2a.TaskStateAuthRequired, says("Sign in."))
			return
		case "tck-reject-task":
			status(a2a.TaskStateRejected, nil)
			return
		case "tck-task-failure":
			status(a2a.TaskStateFailed, says("It failed."))
			return
		case "tck-cancel":
			if status(a2a.TaskStateWorking, nil) {
				<-ctx.Done()
			}
			return
		}
		if word == "tck-stream-basic" || word == "tck-stream-artifact-chunked" {
			if !status(a2a.TaskStateWorking, nil) {
				return
			}
		}
		parts := map[string][]*a2a.Part{
			"tck-artifact-text":           {a2a.NewTextPart("Generated text content")},
			"tck-artifact-data":           {a2a.NewDataPart(map[string]any{"key": "value", "count": 42})},
			"tck-stream-basic":            {a2a.NewTextPart("Streamed content")},
			"tck-stream-artifact-chunked": {a2a.NewTextPart("chunk-1 "), a2a.NewTextPart("chunk-2")},
		}[word]
		if len(parts) > 0 && !artifact(parts...) {
			return
		}
		status(a2a.TaskStateCompleted, says("Hello from TCK"))
	}
}

// verdicts are the MUST tests that a server made with a2a-go fails, each looked at by hand:
// what it does in place of what is asked for.
var verdicts = map[string]string{
	"CARD-020":    "an extended card that is not there is another error",
	"CARD-023":    "the same without params",
	"SEND-004":    "a message to a completed task is InvalidParams",
	"SEND-005":    "to a rejected one",
	"SEND-006":    "to a failed one",
	"SEND-007":    "to a canceled one",
	"STREAM-014":  "and in a stream",
	"SEND-010":    "every media type is taken",
	"STREAM-016":  "and in a stream",
	"VALID-005":   "an empty part is a parse error over JSON-RPC",
	"VALID-006":   "a part that holds two things is a parse error over JSON-RPC",
	"VALID-007":   "every role is taken",
	"VALID-008":   "a negative historyLength is taken",
	"LIST-018":    "and in a list",
	"HIST-004":    "historyLength is not looked at when sending",
	"HIST-007":    "nor in a list over HTTP+JSON",
	"SUB-001":     "a task that waits cannot be subscribed to",
	"SUB-006":     "so nothing comes later",
	"SUB-007":     "nor to two streams",
	"SUB-008":     "nor to the one that is left",
	"SUB-003":     "a subscription to a finished task is not found",
	"LIST-001":    "an empty list is null",
	"LIST-015":    "an empty list is null, and statusTimestampAfter is not read over HTTP+JSON",
	"LIST-017":    "an empty list is null",
	"LIST-010":    "a page size of 0 is taken",
	"LIST-011":    "one of 101 is an invalid request",
	"LIST-012":    "a wrong token is a parse error",
	"LIST-013":    "every state is taken",
	"RPC-020":     "missing params are a parse error",
	"VERSION-001": "every version is taken",
	"VERSION-002": "and for messages",
}

// TestConformance runs parley conformance against a server made with a2a-go.
func TestConformance(t *testing.T) {
	f := serveForeignAgent(t, kit{})
	cmd := exec.CommandContext(t.Context(), binary, "conformance", "-a", f.url, "--a2a-version", "1.0", "--level", "must", "--format", "json", "--step-timeout", "5s")
	out, err := cmd.Output()
	var report struct {
		Results []struct {
			ID, Binding, Result, Reason string
			Failure                     struct{ Message string }
		}
	}
	if json.Unmarshal(out, &report) != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	found := map[string][]string{}
	for _, r := range report.Results {
		if r.Result == "fail" || r.Result == "error" {
			found[r.ID] = append(found[r.ID], r.Binding)
			if verdicts[r.ID] == "" {
				t.Logf("%s %s: %s", r.ID, r.Binding, r.Failure.Message)
			}
		}
	}
	for id, bindings := range found {
		if verdicts[id] == "" {
			t.Errorf("%s fails over %s, which nobody has looked at", id, strings.Join(slices.Compact(bindings), ", "))
		}
	}
	for id := range verdicts {
		if found[id] == nil {
			t.Errorf("%s does not fail any more: a2a-go does it now", id)
		}
	}
}
