package conformance

import (
	"testing"
	"time"
)

// TestConformanceBindings asks one server over both bindings.
func TestConformanceBindings(t *testing.T) {
	eachDemo(t, func(t *testing.T, w *wire) {
		other := w.over(map[string]string{jsonrpc: rest, rest: jsonrpc, grpcBinding: jsonrpc}[w.binding])
		t.Run("R-124 R-159 R-160 what one binding makes the other sees alike", func(t *testing.T) {
			for _, sent := range []string{"echo x", "file", "data", "ask", "fail", "stream 3 1"} {
				task := w.send(t, say(sent))
				id := text(task, "id")
				equal(t, "task by the other binding", sameTimes(other.get(t, id)), sameTimes(task))
			}
			p := obj{"includeArtifacts": true, "pageSize": 2}
			page := w.ok(t, "ListTasks", p)
			token := in(page, "nextPageToken")
			equal(t, "page by the other binding", withoutToken(other.ok(t, "ListTasks", p)), withoutToken(page))
			p["pageToken"] = token // tokens are good for both
			equal(t, "next page by the other binding", withoutToken(other.ok(t, "ListTasks", p)), withoutToken(w.ok(t, "ListTasks", p)))
		})
	})
}

func withoutToken(page any) any {
	delete(page.(obj), "nextPageToken")
	return sameTimes(page)
}

// sameTimes writes each time in its shortest form: over gRPC it is a number, and of a whole
// second the tests' decoder leaves out the ".000" that is there over the others.
func sameTimes(v any) any {
	switch v := v.(type) {
	case obj:
		for k, member := range v {
			v[k] = sameTimes(member)
		}
	case []any:
		for i, member := range v {
			v[i] = sameTimes(member)
		}
	case string:
		if at, err := time.Parse(time.RFC3339Nano, v); err == nil {
			return at.Format(time.RFC3339Nano)
		}
	}
	return v
}
