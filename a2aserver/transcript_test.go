package a2aserver

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the bodies of wire transcripts with what the server answers")

const requestMark, responseMark = "-- request --\n", "-- response --\n"

// TestTranscripts plays testdata/wire against the server. A transcript is a
// txtar archive of requests and responses in turn: a request is method and
// target, headers, a blank line, the body; a response is the status, the
// headers that matter, a blank line, the body. JSON is compared by meaning,
// anything else to the byte.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("../testdata/wire/v1.0/*/*.txtar")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d transcripts, %v", len(files), err)
	}
	for _, file := range files {
		name, _ := filepath.Rel("../testdata/wire", file)
		t.Run(strings.TrimSuffix(filepath.ToSlash(name), ".txtar"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			h := New(canned{}, cannedCard(), nil)
			out, exchanges, _ := strings.Cut(string(data), requestMark)
			for exchange := range strings.SplitSeq(exchanges, requestMark) {
				request, response, ok := strings.Cut(exchange, responseMark)
				if !ok {
					t.Fatalf("no response to %s", request)
				}
				out += requestMark + request + responseMark + play(t, h, request, response)
			}
			if *update {
				if err := os.WriteFile(file, []byte(out), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// play sends the request, judges the answer, and returns it as a transcript.
func play(t *testing.T, h http.Handler, request, response string) string {
	t.Helper()
	head, body := parts(request)
	method, target, _ := strings.Cut(head[0], " ")
	w := do(h, method, target, body, head[1:]...)
	t.Log(head[0])

	head, want := parts(response)
	if head[0] != fmt.Sprint(w.Code) {
		t.Errorf("status %d, want %s", w.Code, head[0])
	}
	for _, line := range head[1:] {
		name, value, _ := strings.Cut(line, ": ")
		if got := w.Header().Get(name); got != value {
			t.Errorf("%s: %q, want %q", name, got, value)
		}
	}
	got := w.Body.String()
	if w.Header().Get("Content-Type") == "text/event-stream" {
		want += "\n" // the editor's blank line at the end of a file is the last event's
	} else if wantDoc := decode([]byte(want)); wantDoc != nil {
		if d := cmp.Diff(wantDoc, decode([]byte(got))); d != "" {
			t.Error(d)
		}
		return answer(w, head, got)
	}
	if d := cmp.Diff(strings.TrimRight(want, "\n"), strings.TrimRight(got, "\n")); d != "" {
		t.Error(d)
	}
	return answer(w, head, got)
}

func parts(data string) (head []string, body string) {
	top, body, _ := strings.Cut(data, "\n\n")
	return strings.Split(strings.TrimRight(top, "\n"), "\n"), strings.TrimSuffix(body, "\n")
}

func decode(doc []byte) any {
	var v any
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return nil
	}
	return v
}

func answer(w *httptest.ResponseRecorder, head []string, body string) string {
	var b strings.Builder
	fmt.Fprintln(&b, w.Code)
	for _, line := range head[1:] {
		name, _, _ := strings.Cut(line, ": ")
		fmt.Fprintf(&b, "%s: %s\n", name, w.Header().Get(name))
	}
	fmt.Fprintf(&b, "\n%s\n", strings.TrimRight(body, "\n"))
	return b.String()
}
