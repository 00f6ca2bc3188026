package torture

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// Faults in the posts of a hook are seen.
func TestHooksAreJudged(t *testing.T) {
	status := func(seq int64, s a2a.TaskState) *a2a.StreamResponse {
		return &a2a.StreamResponse{Seq: seq, StatusUpdate: &a2a.TaskStatusUpdateEvent{
			TaskID: "t", Status: a2a.TaskStatus{State: s, Timestamp: time.UnixMilli(seq)},
		}}
	}
	chunk := func(seq int64) *a2a.StreamResponse {
		return &a2a.StreamResponse{Seq: seq, ArtifactUpdate: &a2a.TaskArtifactUpdateEvent{
			TaskID: "t", Append: seq > 4, Artifact: &a2a.Artifact{ArtifactID: "a", Parts: []*a2a.Part{a2a.TextPart(fmt.Sprint(seq))}},
		}}
	}
	log := &history{
		task:  &a2a.Task{ID: "t"},
		first: &a2a.Task{ID: "t", Status: a2a.TaskStatus{State: a2a.TaskStateSubmitted}},
		events: []*a2a.StreamResponse{
			status(3, a2a.TaskStateWorking), chunk(4), chunk(5), status(6, a2a.TaskStateWorking), status(7, a2a.TaskStateCompleted),
		},
	}
	whole := steps(&hook{version: "0.3"}, log)
	if len(whole) != 2 || whole[0].seq != 3 || whole[1].seq != 7 {
		t.Fatalf("of tasks, %v are to come", whole)
	}
	for _, c := range []struct {
		name, posts string // positions; a ! follows those that failed
		hook        *hook
		want        hookClaim // hookClaims: nothing is wrong
		many        bool
	}{
		{"all", "3 4 5 6 7", &hook{}, hookClaims, false},
		{"failures and repeats", "3! 3 3 4! 4! 4 5 6 7 7", &hook{}, hookClaims, false},
		{"a hole", "3 4 6 7", &hook{}, hookOrder, false},
		{"one too early", "3 4! 5 4 6 7", &hook{}, hookOrder, false},
		{"one again, late", "3 4 5 4 6 7", &hook{}, hookOrder, false},
		{"one again, late, of several servers", "3 4 5 4 6 7", &hook{}, hookClaims, true},
		{"one late at first, of several servers", "3 5 4 6 7", &hook{}, hookOrder, true},
		{"one that failed before, late, of several servers", "3 4! 5 4 6 7", &hook{}, hookOrder, true},
		{"no end", "3 4 5 6", &hook{}, hookMissing, false},
		{"an end that failed", "3 4 5 6 7!", &hook{}, hookMissing, false},
		{"no beginning", "4 5 6 7", &hook{}, hookOrder, false},
		{"nothing", "", &hook{}, hookMissing, false},
		{"from the middle", "5 6 7", &hook{before: 2, bound: 3}, hookClaims, false},
		{"from a little earlier", "4 5 6 7", &hook{before: 2, bound: 3}, hookClaims, false},
		{"from before it was made", "3 4 5 6 7", &hook{before: 2, bound: 3}, hookOrder, false},
		{"not from where it has to be", "6 7", &hook{before: 2, bound: 3}, hookOrder, false},
		{"deleted", "3 4", &hook{deleted: time.Now()}, hookClaims, false},
		{"gone", "3 4 5!", &hook{refused: "id-5"}, hookClaims, false},
		{"never made", "", &hook{unknown: true}, hookClaims, false},
		{"perhaps made, and made", "5 6 7", &hook{unknown: true}, hookClaims, false},
		{"perhaps made, without its end", "5 6", &hook{unknown: true}, hookMissing, false},
		{"another's id", "3 4 5 6 7=3", &hook{}, hookIDs, false},
		{"two ids", "3! 3=9 4 5 6 7", &hook{}, hookIDs, false},
		{"no such event", "3 4 8", &hook{}, hookContent, false},
	} {
		w := &hookWorld{o: &WebhookOptions{}, log: newLastLines(nil)}
		if !c.many {
			w.server = newServer(&Options{}, w.log)
		}
		h := c.hook
		h.version = "1.0"
		for _, word := range strings.Fields(c.posts) {
			var seq, id int64
			if n, _ := fmt.Sscanf(word, "%d=%d", &seq, &id); n < 2 {
				id = seq
			}
			p := &post{id: fmt.Sprintf("id-%d", id), accepted: !strings.HasSuffix(word, "!"), key: "another"}
			for _, el := range log.events {
				if el.Seq == seq {
					p.key = keyOfEvent(el)
				}
			}
			h.posts = append(h.posts, p)
		}
		w.compare(h, log)
		got := hookClaims
		for claim, n := range w.broken {
			if n > 0 {
				got = hookClaim(claim)
			}
		}
		if got != c.want {
			t.Errorf("%s: claim %d is broken, not %d: %.200s", c.name, got, c.want, w.violations)
		}
	}
}
