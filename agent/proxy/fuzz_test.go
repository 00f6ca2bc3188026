package proxy

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

// FuzzDifference: the difference turns any artifact into the agent's; then there is no
// difference left.
func FuzzDifference(f *testing.F) {
	for _, s := range [][2]string{
		{"a|b", "a|b|c"}, {"a|b", "ab"}, {"ab", "a|b|c"}, {"a", "b"}, {"", "x"}, {"a", ""},
		{"{1}|a", "{1}|a|{2}"}, {"{ 1}", "{1}"}, {"a|#x", "a|#y"},
	} {
		f.Add(s[0], s[1], "n", "m")
		f.Add(s[0], s[1], "", "m")
	}
	f.Fuzz(func(t *testing.T, a, b, nameA, nameB string) {
		have, want := artifactOf(a, nameA), artifactOf(b, nameB)
		if len(want.Parts) == 0 {
			return
		}
		var task a2a.Task
		begin := have
		if len(have.Parts) == 0 {
			begin = nil
		} else {
			task.ApplyEvent(&a2a.StreamResponse{ArtifactUpdate: &a2a.TaskArtifactUpdateEvent{Artifact: have}})
		}
		chunk, add := difference(begin, want)
		if chunk != nil {
			task.ApplyEvent(&a2a.StreamResponse{ArtifactUpdate: &a2a.TaskArtifactUpdateEvent{Artifact: chunk, Append: add}})
		}
		got := task.Artifacts[0]
		if again, _ := difference(got, want); again != nil {
			t.Fatalf("%q to %q leaves a difference: %+v", a, b, again)
		}
		x, ok := plainText(got.Parts)
		y, ok2 := plainText(want.Parts)
		if ok != ok2 || x != y {
			t.Fatalf("%q to %q became %q", a, b, x)
		}
	})
}

// artifactOf makes an artifact with a part for each word: text, data in braces, a
// reference behind #.
func artifactOf(s, name string) *a2a.Artifact {
	a := &a2a.Artifact{ArtifactID: "a", Name: name}
	for word := range strings.SplitSeq(s, "|") {
		data, isData := strings.CutPrefix(word, "{")
		ref, isRef := strings.CutPrefix(word, "#")
		switch {
		case word == "":
		case isData && json.Valid([]byte(strings.TrimSuffix(data, "}"))):
			a.Parts = append(a.Parts, a2a.DataPart(a2a.JSON(strings.TrimSuffix(data, "}"))))
		case isRef:
			a.Parts = append(a.Parts, a2a.URLPart(ref, "", ""))
		default:
			a.Parts = append(a.Parts, a2a.TextPart(word))
		}
	}
	return a
}

// FuzzOrigin: metadata of any agent stays what it is, and has the origin.
func FuzzOrigin(f *testing.F) {
	f.Add("", "t", "c")
	f.Add(`{"a":1}`, "t", "")
	f.Add(`{"`+OriginKey+`":{"taskId":"false"},"b":[1e400,"\u0000"]}`, "t", "c")
	f.Add(`null`, "t", "c")
	f.Add(`[1]`, "", "")
	f.Fuzz(func(t *testing.T, metadata, task, context string) {
		if !json.Valid([]byte(metadata)) && metadata != "" {
			return
		}
		in := a2a.JSON(metadata)
		_, _ = origin(in)
		if !strings.HasPrefix(strings.TrimSpace(metadata), "{") && metadata != "" || !idOK(task) || !idOK(context) || task == "" {
			return
		}
		out := mark(in, Origin{TaskID: task, ContextID: context})
		if got, ok := origin(out); !ok || got.TaskID != task || got.ContextID != context {
			t.Fatalf("%s became %s, which says %+v", metadata, out, got)
		}
		var before, after map[string]any
		if len(in) > 0 {
			if json.Unmarshal(in, &before) != nil {
				return // a number that Go has not
			}
		}
		if err := json.Unmarshal(out, &after); err != nil {
			t.Fatal(err)
		}
		delete(before, OriginKey)
		delete(after, OriginKey)
		if len(before) != len(after) {
			t.Fatalf("%s became %s", metadata, out)
		}
	})
}

// FuzzHooks: nobody gets in by an address that was not given out.
func FuzzHooks(f *testing.F) {
	base, _ := url.Parse("https://here.example/callbacks/x")
	h := newHooks(base, "secret")
	good := strings.TrimPrefix(h.config("id").URL, "https://here.example/callbacks/x")
	f.Add(good, "")
	f.Add(good+"/", "x")
	f.Add("/id/", "")
	f.Add("/id/x?validationToken=a", "")
	f.Add("//", "")
	f.Fuzz(func(t *testing.T, path, token string) {
		u, err := url.Parse(path)
		if err != nil {
			return
		}
		hint, leave := h.join("id")
		defer leave()
		r := &http.Request{Method: http.MethodPost, URL: u, Header: http.Header{"X-A2a-Notification-Token": {token}}, Body: http.NoBody}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if known := strings.Trim(u.Path, "/") == strings.Trim(good, "/"); len(hint) > 0 && !known || w.Code == http.StatusNotFound && known {
			t.Fatalf("%q is answered %d", path, w.Code)
		}
	})
}
