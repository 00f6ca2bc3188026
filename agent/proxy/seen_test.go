package proxy_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

// What an agent said comes once, also if it said much before its stream broke.
func TestManyWordsComeOnce(t *testing.T) {
	t.Parallel()
	const said = 1010
	ends := task("up", a2a.TaskStateCompleted)
	up := &puppet{get: func(string) (*a2a.Task, error) { return ends.Task, nil }}
	up.stream = func(_ context.Context, _ *a2a.SendMessageRequest, yield func(*a2a.StreamResponse, error) bool) {
		for i := range said {
			el := status("up", a2a.TaskStateWorking, fmt.Sprint("word ", i))
			if i >= said-50 {
				ends.Task.History = append(ends.Task.History, el.StatusUpdate.Status.Message)
			}
			if !yield(el, nil) {
				return
			}
		}
		yield(nil, a2a.Errorf(a2a.CodeUnavailable, "restarting"))
	}
	front := behind(t, up.serve(t).url, nil, nil)
	got := send(t, dial(t, front, nil), say("x"))
	want(t, got, a2a.TaskStateCompleted, "")
	words := map[string]int{}
	for _, m := range got.History {
		words[m.Text()]++
	}
	if n := len(got.History); n != said+1 {
		t.Errorf("%d messages; word 970 is there %d times", n, words["word 970"])
	}
}
