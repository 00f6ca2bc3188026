package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/bench/script"
)

func TestWrongAnswersAreRefused(t *testing.T) {
	const right = `{"jsonrpc":"2.0","id":"r1","result":{"task":{"id":"t","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"parts":[{"text":"hello"}]}],"history":[{"parts":[{"text":"echo hello"}]}]}}}`
	if err := rpc10.completedWith([]byte(right), "r1", "hello", true); err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string][2]string{
		"another request's": {`"id":"r1"`, `"id":"r2"`},
		"not completed":     {`COMPLETED`, `WORKING`},
		"another text":      {`"text":"hello"`, `"text":"hello "`},
		"no artifact":       {`[{"parts":[{"text":"hello"}]}]`, `[]`},
	} {
		wrong := strings.Replace(right, change[0], change[1], 1)
		if wrong == right {
			t.Fatal(what)
		}
		if rpc10.completedWith([]byte(wrong), "r1", "hello", false) == nil {
			t.Errorf("%s: taken for right at a look", what)
		}
		if rpc10.completedWith([]byte(wrong), "r1", "hello", true) == nil {
			t.Errorf("%s: taken for right", what)
		}
	}
	// These only a thorough look finds.
	for what, wrong := range map[string]string{
		"no JSON":        right[:len(right)-1],
		"text elsewhere": strings.NewReplacer(`"artifacts"`, `"others"`).Replace(right),
	} {
		if rpc10.completedWith([]byte(wrong), "r1", "hello", true) == nil {
			t.Errorf("%s: taken for right", what)
		}
	}
}

func TestTasksAreFoundInEveryDialect(t *testing.T) {
	for _, answer := range []string{
		`{"id":"1","result":{"task":{"id":"t","contextId":"c"}}}`,
		`{"id":"1","result":{"id":"t","contextId":"c","kind":"task"}}`,
		`{"task":{"id":"t","contextId":"c"}}`,
	} {
		if got, err := taskOf([]byte(answer)); err != nil || got.ID != "t" || got.ContextID != "c" {
			t.Errorf("%s: %+v, %v", answer, got, err)
		}
	}
	for _, answer := range []string{`{"id":"1","error":{"code":-32001}}`, `{"id":"1","result":{"message":{}}}`, `{}`, `no`} {
		if got, err := taskOf([]byte(answer)); err == nil {
			t.Errorf("%s: %+v", answer, got)
		}
	}
}

func TestStreamsAreCheckedChunkByChunk(t *testing.T) {
	event := func(id, result string) string {
		return `data: {"jsonrpc":"2.0","id":"` + id + `","result":{` + result + "}}\n\n"
	}
	chunk := func(id string, n int) string {
		return event(id, `"artifactUpdate":{"artifact":{"parts":[{"text":"`+script.Chunk(n, chunkSize)+`"}]}}`)
	}
	const working, completed = `"statusUpdate":{"status":{"state":"TASK_STATE_WORKING"}}`, `"statusUpdate":{"status":{"state":"TASK_STATE_COMPLETED"}}`
	for what, c := range map[string]struct {
		stream func(id string) string
		right  bool
	}{
		"all":          {func(id string) string { return event(id, working) + chunk(id, 1) + chunk(id, 2) + event(id, completed) }, true},
		"one missing":  {func(id string) string { return chunk(id, 1) + event(id, completed) }, false},
		"first gone":   {func(id string) string { return chunk(id, 2) + event(id, completed) }, false},
		"one twice":    {func(id string) string { return chunk(id, 1) + chunk(id, 1) + chunk(id, 2) + event(id, completed) }, false},
		"no end":       {func(id string) string { return chunk(id, 1) + chunk(id, 2) }, false},
		"more after":   {func(id string) string { return chunk(id, 1) + event(id, completed) + chunk(id, 2) }, false},
		"of another":   {func(id string) string { return chunk(id, 1) + chunk(id+"0", 2) + event(id, completed) }, false},
		"one too many": {func(id string) string { return chunk(id, 1) + chunk(id, 2) + chunk(id, 3) + event(id, completed) }, false},
	} {
		conn := dialled(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			_, rest, _ := strings.Cut(string(body), `"id":"`)
			id, _, _ := strings.Cut(rest, `"`)
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, c.stream(id))
			w.(http.Flusher).Flush()
		})
		s := &streamer{c: conn, d: rpc10, ids: newIDs(0), n: 2}
		if _, err := s.do(t.Context(), 0); (err == nil) != c.right {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestReadersNoticeGaps(t *testing.T) {
	event := func(n int) []byte {
		return fmt.Appendf(nil, `{"result":{"artifactUpdate":{"artifact":{"parts":[{"text":"%s"}]}}}}`, script.Chunk(n, chunkSize))
	}
	var r reader
	// A task as it is at first has many chunks and is none of them.
	if err := r.event([]byte(`{"result":{"task":{"artifacts":[{"parts":[{"text":"chunk 1 "}]}]}}}`)); err != nil || r.seen.Load() != 0 {
		t.Fatal(err)
	}
	for _, n := range []int{5, 6, 7} {
		if err := r.event(event(n)); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range []int{7, 9, 1} {
		if r.event(event(n)) == nil {
			t.Errorf("after 7 came %d, and it was not noticed", n)
		}
	}
}
