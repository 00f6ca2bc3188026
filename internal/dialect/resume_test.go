package dialect

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

func TestReadResume(t *testing.T) {
	const field = `metadata["` + ResumeURI + `"]`
	own := func(value string) string { return `{"id":"t1","metadata":{"x":1,"` + ResumeURI + `":` + value + `}}` }
	for _, tt := range []struct {
		name   string
		query  string
		params string
		want   Resume
		bad    string // field of the error
	}{
		{name: "nothing"},
		{name: "without metadata", params: `{"id":"t1"}`},
		{name: "other metadata", params: `{"id":"t1","metadata":{"x":{"lastEventId":"4"}}}`},
		{name: "metadata of another kind", params: `{"id":"t1","metadata":[1]}`},
		{name: "no cursor", params: own(`{}`), want: Resume{Asked: true}},
		{name: "empty cursor", params: own(`{"lastEventId":""}`), want: Resume{Asked: true, Field: field + ".lastEventId"}},
		{name: "cursor", params: own(`{"lastEventId":"17","later":true}`), want: Resume{Asked: true, After: 17, Field: field + ".lastEventId"}},
		{name: "slashes escaped", params: strings.ReplaceAll(own(`{"lastEventId":"17"}`), "/", `\/`), want: Resume{Asked: true, After: 17, Field: field + ".lastEventId"}},
		{name: "query", query: "lastEventId=8", want: Resume{Asked: true, After: 8, Field: "lastEventId"}},
		{name: "empty query", query: "lastEventId=", want: Resume{Asked: true, Field: "lastEventId"}},
		{name: "query before body", query: "lastEventId=8", params: own(`{"lastEventId":"17"}`), want: Resume{Asked: true, After: 8, Field: "lastEventId"}},
		{name: "twice", query: "lastEventId=8&lastEventId=8", bad: "lastEventId"},
		{name: "no number in the query", query: "lastEventId=x", bad: "lastEventId"},
		{name: "null", params: own(`null`), bad: field},
		{name: "a string", params: own(`"17"`), bad: field},
		{name: "a number for a cursor", params: own(`{"lastEventId":17}`), bad: field + ".lastEventId"},
		{name: "null for a cursor", params: own(`{"lastEventId":null}`), bad: field + ".lastEventId"},
		{name: "zero", params: own(`{"lastEventId":"0"}`), bad: field + ".lastEventId"},
		{name: "negative", params: own(`{"lastEventId":"-3"}`), bad: field + ".lastEventId"},
		{name: "signed", params: own(`{"lastEventId":"+3"}`), bad: field + ".lastEventId"},
		{name: "leading zero", params: own(`{"lastEventId":"03"}`), bad: field + ".lastEventId"},
		{name: "blank", params: own(`{"lastEventId":" 3"}`), bad: field + ".lastEventId"},
		{name: "fraction", params: own(`{"lastEventId":"3.0"}`), bad: field + ".lastEventId"},
		{name: "too large", params: own(`{"lastEventId":"9223372036854775808"}`), bad: field + ".lastEventId"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			query, err := url.ParseQuery(tt.query)
			if err != nil {
				t.Fatal(err)
			}
			got, err := ReadResume(query, &a2a.SubscribeToTaskRequest{}, []byte(tt.params))
			if got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
			var e *a2a.Error
			switch {
			case tt.bad == "" && err != nil:
				t.Errorf("error %v", err)
			case tt.bad != "" && (!errors.As(err, &e) || e.Code != a2a.CodeInvalidParams || len(e.Fields) != 1 || e.Fields[0].Field != tt.bad):
				t.Errorf("error %#v, want one about %s", err, tt.bad)
			}
		})
	}
}

// A message activates the extension by the metadata of its request, not by that
// of its own.
func TestReadResumeOfAMessage(t *testing.T) {
	active := a2a.JSON(`{"` + ResumeURI + `":{}}`)
	for _, tt := range []struct {
		req  *a2a.SendMessageRequest
		want bool
	}{
		{&a2a.SendMessageRequest{Metadata: active}, true},
		{&a2a.SendMessageRequest{Message: &a2a.Message{Metadata: active}}, false},
	} {
		got, err := ReadResume(nil, tt.req, []byte(`{"metadata":{"`+ResumeURI+`":{"lastEventId":"4"}}}`))
		if err != nil || got != (Resume{Asked: tt.want}) {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

func TestAppendResume(t *testing.T) {
	for _, d := range []Dialect{V03, V10, V11} {
		for _, binding := range []string{a2a.BindingJSONRPC, a2a.BindingHTTPJSON} {
			doc := CodecOf(d, binding).AppendRequest(nil, SubscribeToTask, &a2a.SubscribeToTaskRequest{ID: "t1"})
			doc = AppendResume(doc, 17)
			got, err := ReadResume(nil, &a2a.SubscribeToTaskRequest{}, doc)
			if err != nil || !got.Asked || got.After != 17 {
				t.Errorf("%s, %s: %+v, %v", d, doc, got, err)
			}
			req, err := CodecOf(d, binding).DecodeRequest(SubscribeToTask, doc)
			if err != nil || req.(*a2a.SubscribeToTaskRequest).ID != "t1" {
				t.Errorf("%s, %s: %+v, %v", d, doc, req, err)
			}
		}
	}
}

func TestEventIDs(t *testing.T) {
	for _, metadata := range []string{
		``, `{"a":1}`, ` { "n" : 12345678901234567890 , "u" : null } `, `{"` + ResumeURI + `x":1}`,
	} {
		for _, el := range kinds(a2a.JSON(metadata)) {
			before := string(el.AppendJSON(nil))
			out := WithEventID(el)
			if string(el.AppendJSON(nil)) != before {
				t.Fatalf("the element was changed: %s", before)
			}
			doc := out.AppendJSON(nil)
			if !json.Valid(doc) || !bytes.Contains(doc, []byte(`"`+ResumeURI+`":{"eventId":"17"}`)) {
				t.Fatalf("no position in %s", doc)
			}
			if id := TakeEventID(out); id != "17" {
				t.Fatalf("took %q of %s", id, doc)
			}
			if got, want := compact(t, out), compact(t, el); got != want {
				t.Errorf("after all: %s, want %s", got, want)
			}
		}
	}
}

// An element without a position stays as it is, and so does one whose metadata
// is no object.
func TestElementsWithoutEventIDs(t *testing.T) {
	for _, metadata := range []string{`[1]`, `broken`, `{`, ` `, `"x"`} {
		for _, el := range kinds(a2a.JSON(metadata)) {
			if out := WithEventID(el); out != el {
				t.Errorf("%s: changed", metadata)
			}
			if id := TakeEventID(el); id != "" {
				t.Errorf("%s: took %q", metadata, id)
			}
		}
	}
	for _, el := range kinds(nil) {
		if el.Seq = 0; WithEventID(el) != el {
			t.Error("a position of nothing")
		}
	}
	if empty := (&a2a.StreamResponse{Seq: 4}); WithEventID(empty) != empty || TakeEventID(empty) != "" {
		t.Error("an element of no kind")
	}
}

// A value that an agent, or a server before us, has put there does not count: a
// position is replaced, and removed in full when it is read.
func TestForeignEventIDs(t *testing.T) {
	for _, value := range []string{`{"eventId":"99"}`, `{"eventId":99}`, `null`, `"99"`, `{"eventId":{"eventId":"99"}}`} {
		for _, el := range kinds(a2a.JSON(`{"a":1,"` + ResumeURI + `":` + value + `}`)) {
			out := WithEventID(el)
			if id := TakeEventID(out); id != "17" || bytes.Contains(out.AppendJSON(nil), []byte(ResumeURI)) {
				t.Errorf("%s: took %q and left %s", value, id, out.AppendJSON(nil))
			}
			id := TakeEventID(el)
			if want := value == `{"eventId":"99"}`; want != (id == "99") || !want && id != "" {
				t.Errorf("%s: took %q", value, id)
			}
		}
	}
}

// kinds returns an element of each kind at position 17.
func kinds(metadata a2a.JSON) []*a2a.StreamResponse {
	return []*a2a.StreamResponse{
		{Seq: 17, Task: &a2a.Task{ID: "t1", Metadata: metadata}},
		{Seq: 17, Message: &a2a.Message{MessageID: "m1", Metadata: metadata}},
		{Seq: 17, StatusUpdate: &a2a.TaskStatusUpdateEvent{TaskID: "t1", Metadata: metadata}},
		{Seq: 17, ArtifactUpdate: &a2a.TaskArtifactUpdateEvent{TaskID: "t1", Metadata: metadata}},
	}
}

func compact(t *testing.T, el *a2a.StreamResponse) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, el.AppendJSON(nil)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Whatever a request has as a cursor, it is read as a position in its one spelling, as
// none, or as an error about a field.
func FuzzResume(f *testing.F) {
	for _, s := range []string{`{}`, `{"metadata":{"` + ResumeURI + `":{"lastEventId":"17"}}}`, `{"metadata":null}`, `[`, "", `{"metadata":{"` + ResumeURI + `":7}}`} {
		f.Add([]byte(s), "17")
	}
	f.Add([]byte(`{"metadata":{"`+strings.ReplaceAll(ResumeURI, "/", `\/`)+`":{"lastEventId":"-1"}}}`), "+1")
	f.Fuzz(func(t *testing.T, params []byte, cursor string) {
		query := url.Values{ResumeQuery: {cursor}}
		for _, q := range []url.Values{nil, query} {
			for _, req := range []any{&a2a.SubscribeToTaskRequest{}, &a2a.SendMessageRequest{Metadata: params}} {
				r, err := ReadResume(q, req, params)
				var e *a2a.Error
				switch {
				case err != nil && (!errors.As(err, &e) || e.Code != a2a.CodeInvalidParams || len(e.Fields) != 1 || r != (Resume{})):
					t.Fatalf("%+v, %v", r, err)
				case r.After < 0 || r.After > 0 && (r.Field == "" || !r.Asked):
					t.Fatalf("%+v", r)
				case q != nil && err == nil && r.After > 0 && FormatEventID(r.After) != cursor:
					t.Fatalf("%q became %d", cursor, r.After)
				}
			}
		}
		for _, el := range kinds(params) {
			out := WithEventID(el)
			if out == el {
				continue
			}
			if doc := out.AppendJSON(nil); !json.Valid(doc) {
				t.Fatalf("no JSON: %s", doc)
			}
			if id := TakeEventID(out); id != "17" {
				t.Fatalf("took %q", id)
			}
		}
	})
}
