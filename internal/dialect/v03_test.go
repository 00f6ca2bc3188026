package dialect

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

func v03Sample() *a2a.Task {
	return &a2a.Task{
		ID: "t1", ContextID: "c1", Generation: 3, Version: "0.3",
		Status: a2a.TaskStatus{
			State:     a2a.TaskStateCanceled,
			Timestamp: time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC),
			Message:   &a2a.Message{MessageID: "m2", Role: a2a.RoleAgent, TaskID: "t1", Parts: []*a2a.Part{a2a.TextPart("<no> \"more\"")}},
		},
		Artifacts: []*a2a.Artifact{{ArtifactID: "a1", Name: "n", Parts: []*a2a.Part{
			a2a.RawPart([]byte{0, 255}, "image/png", "i.png"), a2a.URLPart("http://x/y", "text/plain", "y"),
			a2a.DataPart(a2a.JSON(`{"k":[1, 2]}`)), a2a.DataPart(a2a.JSON(`[1]`)),
			{Kind: a2a.PartText, Text: "{}", MediaType: "application/json", Metadata: a2a.JSON(`{"k":1}`)},
		}}},
		History:  []*a2a.Message{{MessageID: "m1", ContextID: "c1", Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart("hi")}, ReferenceTaskIDs: []string{"t0"}}},
		Metadata: a2a.JSON(`{ "big":9007199254740993 }`),
	}
}

func TestV03Results(t *testing.T) {
	hook := &a2a.TaskPushNotificationConfig{Tenant: "x", ID: "p1", TaskID: "t1", URL: "http://h", Token: "s", Authentication: &a2a.AuthenticationInfo{Scheme: "Bearer", Credentials: "c"}}
	hooks := &a2a.ListTaskPushNotificationConfigsResponse{Configs: []*a2a.TaskPushNotificationConfig{hook}}
	bare := &a2a.Task{ID: "t1", ContextID: "c1", Status: a2a.TaskStatus{State: a2a.TaskStateWorking}}
	answer := &a2a.Message{MessageID: "m1", Role: a2a.RoleAgent, Parts: []*a2a.Part{a2a.TextPart("hi")}}
	const (
		tsHook    = `{"taskId":"t1","pushNotificationConfig":{"id":"p1","url":"http://h","token":"s","authentication":{"schemes":["Bearer"],"credentials":"c"}}}`
		protoHook = `{"name":"tasks/t1/pushNotificationConfigs/p1","pushNotificationConfig":{"id":"p1","url":"http://h","token":"s","authentication":{"schemes":["Bearer"],"credentials":"c"}}}`
		tsTask    = `{"kind":"task","id":"t1","contextId":"c1","status":{"state":"working"}}`
		protoTask = `{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING"}}`
	)
	for _, tt := range []struct {
		op        Op
		result    any
		ts, proto string
	}{
		{GetTask, v03Sample(),
			`{"kind":"task","id":"t1","contextId":"c1","status":{"state":"canceled","message":{"kind":"message","messageId":"m2","taskId":"t1","role":"agent","parts":[{"kind":"text","text":"<no> \"more\""}]},"timestamp":"2026-01-02T03:04:05.006Z"},` +
				`"artifacts":[{"artifactId":"a1","name":"n","parts":[{"kind":"file","file":{"bytes":"AP8=","mimeType":"image/png","name":"i.png"}},{"kind":"file","file":{"uri":"http://x/y","mimeType":"text/plain","name":"y"}},` +
				`{"kind":"data","data":{"k":[1, 2]}},{"kind":"data","data":{"value":[1]},"metadata":{"data_part_compat":true}},{"kind":"text","text":"{}","metadata":{"mimeType":"application/json","k":1}}]}],` +
				`"history":[{"kind":"message","messageId":"m1","contextId":"c1","role":"user","parts":[{"kind":"text","text":"hi"}],"referenceTaskIds":["t0"]}],"metadata":{ "big":9007199254740993 }}`,
			`{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_CANCELLED","message":{"messageId":"m2","taskId":"t1","role":"ROLE_AGENT","content":[{"text":"<no> \"more\""}]},"timestamp":"2026-01-02T03:04:05.006Z"},` +
				`"artifacts":[{"artifactId":"a1","name":"n","parts":[{"file":{"fileWithBytes":"AP8=","mimeType":"image/png","name":"i.png"}},{"file":{"fileWithUri":"http://x/y","mimeType":"text/plain","name":"y"}},` +
				`{"data":{"data":{"k":[1, 2]}}},{"data":{"data":{"value":[1]}},"metadata":{"data_part_compat":true}},{"text":"{}","metadata":{"mimeType":"application/json","k":1}}]}],` +
				`"history":[{"messageId":"m1","contextId":"c1","role":"ROLE_USER","content":[{"text":"hi"}],"referenceTaskIds":["t0"]}],"metadata":{ "big":9007199254740993 }}`},
		{SendMessage, &a2a.SendMessageResponse{Task: bare}, tsTask, `{"task":` + protoTask + `}`},
		{SendMessage, &a2a.SendMessageResponse{Message: answer},
			`{"kind":"message","messageId":"m1","role":"agent","parts":[{"kind":"text","text":"hi"}]}`,
			`{"message":{"messageId":"m1","role":"ROLE_AGENT","content":[{"text":"hi"}]}}`},
		{CancelTask, bare, tsTask, protoTask},
		{ListTasks, &a2a.ListTasksResponse{Tasks: []*a2a.Task{bare}, NextPageToken: "n", PageSize: 1, TotalSize: 2},
			`{"tasks":[` + tsTask + `],"nextPageToken":"n","pageSize":1,"totalSize":2}`, `{"tasks":[` + protoTask + `],"nextPageToken":"n","pageSize":1,"totalSize":2}`},
		{CreateTaskPushNotificationConfig, hook, tsHook, protoHook},
		{ListTaskPushNotificationConfigs, hooks, `[` + tsHook + `]`, `{"configs":[` + protoHook + `]}`},
		{ListTaskPushNotificationConfigs, new(a2a.ListTaskPushNotificationConfigsResponse), `[]`, `{"configs":[]}`},
		{DeleteTaskPushNotificationConfig, nil, `null`, `{}`},
	} {
		for c, want := range map[v03Codec]string{{}: tt.ts, {formProto}: tt.proto} {
			if got := string(c.AppendResult(nil, tt.op, nil, tt.result)); got != want {
				t.Errorf("%s\n got %s\nwant %s", tt.op, got, want)
			}
		}
	}
}

func TestV03Requests(t *testing.T) {
	n, zero := int32(3), int32(0)
	message := &a2a.Message{MessageID: "m1", TaskID: "t1", Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart("hi")}}
	const (
		tsMessage    = `{"kind":"message","messageId":"m1","taskId":"t1","role":"user","parts":[{"kind":"text","text":"hi"}]}`
		protoMessage = `{"messageId":"m1","taskId":"t1","role":"ROLE_USER","content":[{"text":"hi"}]}`
	)
	for _, tt := range []struct {
		op        Op
		req       any
		ts, proto string
	}{
		{SendMessage, &a2a.SendMessageRequest{Tenant: "x", Message: message}, `{"message":` + tsMessage + `}`, `{"message":` + protoMessage + `,"configuration":{"acceptedOutputModes":[],"blocking":true}}`},
		{SendMessage, &a2a.SendMessageRequest{Message: message, Metadata: a2a.JSON(`{}`), Configuration: &a2a.SendMessageConfiguration{
			AcceptedOutputModes: []string{"text/plain"}, HistoryLength: &n, ReturnImmediately: true, TaskPushNotificationConfig: &a2a.TaskPushNotificationConfig{URL: "http://h"},
		}},
			`{"message":` + tsMessage + `,"configuration":{"acceptedOutputModes":["text/plain"],"historyLength":3,"blocking":false,"pushNotificationConfig":{"url":"http://h"}},"metadata":{}}`,
			`{"message":` + protoMessage + `,"configuration":{"acceptedOutputModes":["text/plain"],"historyLength":3,"blocking":false,"pushNotification":{"url":"http://h"}},"metadata":{}}`},
		{GetTask, &a2a.GetTaskRequest{ID: "t1", HistoryLength: &n}, `{"id":"t1","historyLength":3}`, `{"name":"tasks/t1","historyLength":3}`},
		{GetTask, &a2a.GetTaskRequest{ID: "t1", HistoryLength: &zero}, `{"id":"t1"}`, `{"name":"tasks/t1"}`},
		{CancelTask, &a2a.CancelTaskRequest{ID: "t1", Metadata: a2a.JSON(`{"a":1}`)}, `{"id":"t1","metadata":{"a":1}}`, `{"name":"tasks/t1"}`},
		{SubscribeToTask, &a2a.SubscribeToTaskRequest{ID: "t1", After: 4}, `{"id":"t1"}`, `{"name":"tasks/t1"}`},
		{ListTasks, &a2a.ListTasksRequest{ContextID: "c", Status: a2a.TaskStateCanceled, PageSize: &n, StatusTimestampAfter: time.UnixMilli(0), IncludeArtifacts: true},
			`{"contextId":"c","status":"canceled","pageSize":3,"lastUpdatedAfter":"1970-01-01T00:00:00.000Z","includeArtifacts":true}`,
			`{"contextId":"c","status":"TASK_STATE_CANCELLED","pageSize":3,"lastUpdatedAfter":"1970-01-01T00:00:00.000Z","includeArtifacts":true}`},
		{CreateTaskPushNotificationConfig, &a2a.TaskPushNotificationConfig{TaskID: "t1", ID: "p1", URL: "http://h"},
			`{"taskId":"t1","pushNotificationConfig":{"id":"p1","url":"http://h"}}`,
			`{"parent":"tasks/t1","configId":"p1","config":{"name":"tasks/t1/pushNotificationConfigs/p1","pushNotificationConfig":{"id":"p1","url":"http://h"}}}`},
		{GetTaskPushNotificationConfig, &a2a.GetTaskPushNotificationConfigRequest{TaskID: "t1", ID: "p1"},
			`{"id":"t1","pushNotificationConfigId":"p1"}`, `{"name":"tasks/t1/pushNotificationConfigs/p1"}`},
		{DeleteTaskPushNotificationConfig, &a2a.DeleteTaskPushNotificationConfigRequest{TaskID: "t1", ID: "p1"},
			`{"id":"t1","pushNotificationConfigId":"p1"}`, `{"name":"tasks/t1/pushNotificationConfigs/p1"}`},
		{ListTaskPushNotificationConfigs, &a2a.ListTaskPushNotificationConfigsRequest{TaskID: "t1", PageSize: 3, PageToken: "p"},
			`{"id":"t1"}`, `{"parent":"tasks/t1","pageSize":3,"pageToken":"p"}`},
		{GetExtendedAgentCard, &a2a.GetExtendedAgentCardRequest{Tenant: "x"}, ``, `{}`},
	} {
		for c, want := range map[v03Codec]string{{}: tt.ts, {formProto}: tt.proto} {
			if got := string(c.AppendRequest(nil, tt.op, tt.req)); got != want {
				t.Errorf("%s\n got %s\nwant %s", tt.op, got, want)
			}
		}
	}
}

// v03Send decodes a send and returns it in the form of 1.0.
func v03Send(t *testing.T, c v03Codec, doc string) (*a2a.SendMessageRequest, string) {
	t.Helper()
	v, err := c.DecodeRequest(SendMessage, []byte(doc))
	if err != nil {
		t.Errorf("%s: %v", doc, err)
		return new(a2a.SendMessageRequest), ""
	}
	r := v.(*a2a.SendMessageRequest)
	return r, string(r.AppendJSON(nil))
}

// What clients of 0.2, 0.3 and the drafts send besides what the schema says.
func TestV03ReadsWhatClientsSend(t *testing.T) {
	const want = `{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"hi"}]}}`
	for name, doc := range map[string]string{
		"schema":                `{"message":{"kind":"message","messageId":"m1","role":"user","parts":[{"kind":"text","text":"hi"}]}}`,
		"no kind of message":    `{"message":{"messageId":"m1","role":"user","parts":[{"kind":"text","text":"hi"}]}}`,
		"no discriminator":      `{"message":{"messageId":"m1","role":"user","parts":[{"text":"hi"}]}}`,
		"type for kind":         `{"message":{"messageId":"m1","role":"user","parts":[{"type":"text","text":"hi"}]}}`,
		"another discriminator": `{"message":{"messageId":"m1","role":"user","parts":[{"kind":"file","text":"hi"}]}}`,
		"id beside the message": `{"messageId":"m1","message":{"role":"user","parts":[{"kind":"text","text":"hi"}]}}`,
		"proto form":            `{"message":{"messageId":"m1","role":"ROLE_USER","content":[{"text":"hi"}]}}`,
		"late proto form":       `{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"hi"}]}}`,
		"parts before content":  `{"message":{"messageId":"m1","role":"user","content":[{"text":"no"}],"parts":[{"text":"hi"}]}}`,
		"content before data":   `{"message":{"messageId":"m1","role":"user","data":[{"text":"no"}],"content":[{"text":"hi"}]}}`,
		"data for parts":        `{"message":{"messageId":"m1","role":"user","data":[{"text":"hi"}]}}`,
		"snake case":            `{"message":{"message_id":"m1","role":"ROLE_USER","content":[{"text":"hi"}]}}`,
		"name in the proto":     `{"request":{"message_id":"m1","role":"ROLE_USER","content":[{"text":"hi"}]}}`,
		"number for a role":     `{"message":{"messageId":"m1","role":1,"parts":[{"text":"hi"}]}}`,
		"null":                  `{"message":{"messageId":"m1","role":"user","taskId":null,"metadata":null,"parts":[{"text":"hi","metadata":null}]},"configuration":null}`,
		"unknown members":       `{"message":{"messageId":"m1","role":"user","x":1,"parts":[{"text":"hi","y":{}}]},"z":[]}`,
	} {
		for form, c := range v03Forms {
			if _, got := v03Send(t, c, doc); got != want {
				t.Errorf("%s, %s:\n got %s\nwant %s", name, form, got, want)
			}
		}
	}
}

func TestV03ReadsFiles(t *testing.T) {
	const raw, url = `{"raw":"AP8=","filename":"f","mediaType":"a/b"}`, `{"url":"http://x","filename":"f","mediaType":"a/b"}`
	for doc, want := range map[string]string{
		`{"kind":"file","file":{"bytes":"AP8=","name":"f","mimeType":"a/b"}}`:                 raw,
		`{"kind":"file","file":{"bytes":"AP8","name":"f","mimeType":"a/b"}}`:                  raw, // not padded
		`{"kind":"file","file":{"bytes":"AP8=","name":"f","mediaType":"a/b"}}`:                raw,
		`{"kind":"file","file":{"data":"AP8=","name":"f","mimeType":"a/b"}}`:                  raw,
		`{"file":{"fileWithBytes":"AP8=","name":"f","mediaType":"a/b"}}`:                      raw, // a draft
		`{"file":{"file_with_bytes":"AP8=","name":"f","mime_type":"a/b","file_with_uri":""}}`: raw,
		`{"raw":"AP8=","filename":"f","mediaType":"a/b"}`:                                     raw,
		`{"kind":"file","file":{"uri":"http://x","name":"f","mimeType":"a/b"}}`:               url,
		`{"file":{"fileWithUri":"http://x","name":"f","mimeType":"a/b"}}`:                     url,
		`{"kind":"text","file":{"uri":"http://x","name":"f","mimeType":"a/b"}}`:               url,
		`{"kind":"data","data":{"a":1}}`:                                                      `{"data":{"a":1}}`,
		`{"kind":"data","data":[1]}`:                                                          `{"data":[1]}`,
		`{"kind":"data","data":{"data":{"a":1}}}`:                                             `{"data":{"data":{"a":1}}}`,
		`{"kind":"data","data":{"value":[1]},"metadata":{"data_part_compat":true,"k":1}}`:     `{"data":[1],"metadata":{"k":1}}`,
		`{"kind":"data","data":{"value":[1]},"metadata":{"k":1}}`:                             `{"data":{"value":[1]},"metadata":{"k":1}}`,
	} {
		for form, c := range v03Forms {
			if _, got := v03Send(t, c, `{"message":{"parts":[`+doc+`]}}`); !strings.Contains(got, `"parts":[`+want+`]`) {
				t.Errorf("%s of %s becomes %s", doc, form, got)
			}
		}
	}
	for doc, want := range map[string]string{
		`{"data":{"data":{"a":1}}}`:          `{"data":{"a":1}}`,
		`{"data":{"data":{"data":{"a":1}}}}`: `{"data":{"data":{"a":1}}}`,
		`{"data":{"a":1}}`:                   `{"data":{"a":1}}`,
		`{"data":{}}`:                        `{"data":{}}`,
	} {
		if _, got := v03Send(t, v03Codec{formProto}, `{"message":{"parts":[`+doc+`]}}`); !strings.Contains(got, `"parts":[`+want+`]`) {
			t.Errorf("%s of the proto form becomes %s", doc, got)
		}
	}
}

// fileWithBytes may be base64 of base64, which others write and we do not.
func TestV03BytesInTwoLayers(t *testing.T) {
	png := []byte("\x89PNG\r\n\x1a\n")
	twice := func(b string) []byte { return []byte(base64.StdEncoding.EncodeToString([]byte(b))) }
	long := strings.Repeat("\x00\x01\x02", 20)
	for _, tt := range []struct {
		name, mediaType string
		sent, want      []byte
	}{
		{"an image once", "image/png", png, png},
		{"an image twice", "image/png", twice(string(png)), png},
		{"a long image without padding", "image/png", twice(long), []byte(long)},
		{"a text once", "text/plain", []byte("hello world"), []byte("hello world")},
		{"a text twice", "text/plain", twice("Hello, wörld\n"), []byte("Hello, wörld\n")},
		{"a text of unknown type twice", "", twice("Hello, wörld\n"), []byte("Hello, wörld\n")},
		{"a word that could be base64", "text/plain", []byte("test"), []byte("test")},
		{"another", "application/octet-stream", []byte("filedata"), []byte("filedata")},
		{"a short one that says image", "image/png", []byte("fakeimagedata123"), []byte("fakeimagedata123")},
		{"a checksum", "", []byte("9f86d081884c7d659a2feaa0c55ad015"), []byte("9f86d081884c7d659a2feaa0c55ad015")},
		{"nothing", "", nil, nil},
	} {
		part := `{"file":{"fileWithBytes":"` + base64.StdEncoding.EncodeToString(tt.sent) + `","mimeType":"` + tt.mediaType + `"}}`
		r, _ := v03Send(t, v03Codec{formProto}, `{"message":{"content":[`+part+`]}}`)
		if got := r.Message.Parts[0].Raw; string(got) != string(tt.want) {
			t.Errorf("%s: %q", tt.name, got)
		}
		r, _ = v03Send(t, v03Codec{}, strings.ReplaceAll(`{"message":{"parts":[`+part+`]}}`, "fileWithBytes", "bytes"))
		if got := r.Message.Parts[0].Raw; string(got) != string(tt.sent) {
			t.Errorf("%s in the TS form: %q", tt.name, got)
		}
	}
}

func TestV03Configuration(t *testing.T) {
	for _, tt := range []struct {
		doc       string
		ts, proto bool // whether it returns at once
	}{
		{`{}`, false, false},
		{`{"configuration":{}}`, false, true},
		{`{"configuration":{"blocking":true}}`, false, false},
		{`{"configuration":{"blocking":false}}`, true, true},
		{`{"configuration":{"blocking":null}}`, false, true},
	} {
		for c, want := range map[v03Codec]bool{{}: tt.ts, {formProto}: tt.proto} {
			r, _ := v03Send(t, c, tt.doc)
			if got := r.Configuration != nil && r.Configuration.ReturnImmediately; got != want {
				t.Errorf("%s (proto: %v) returns immediately: %v", tt.doc, c.form == formProto, got)
			}
			if r.Legacy == nil || *r.Legacy != (a2a.Legacy{Version: "0.3"}) {
				t.Errorf("%s: %+v", tt.doc, r.Legacy)
			}
		}
	}
	for _, n := range []string{"0", "null"} {
		r, _ := v03Send(t, v03Codec{}, `{"configuration":{"historyLength":`+n+`}}`)
		if r.Configuration.HistoryLength != nil {
			t.Errorf("history of length %s is limited", n)
		}
	}
	for c, name := range map[v03Codec]string{{}: "pushNotificationConfig", {formProto}: "pushNotification"} {
		r, _ := v03Send(t, c, `{"configuration":{"`+name+`":{"id":"p","url":"http://h","authentication":{"schemes":["Basic","Bearer"],"credentials":"c"}}}}`)
		p := r.Configuration.TaskPushNotificationConfig
		if p == nil || p.ID != "p" || p.URL != "http://h" || p.TaskID != "" || p.Authentication.Scheme != "Basic" || p.Authentication.Credentials != "c" {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

func TestV03ReadsOtherRequests(t *testing.T) {
	for _, tt := range []struct {
		op        Op
		doc, want string
	}{
		{GetTask, `{"id":"t1","historyLength":5,"metadata":{}}`, `{"id":"t1","historyLength":5}`},
		{GetTask, `{"id":"t1","historyLength":0}`, `{"id":"t1"}`},
		{GetTask, `{"id":"t1","historyLength":-3}`, `{"id":"t1","historyLength":-3}`},
		{GetTask, `{"name":"tasks/a/b","history_length":"5"}`, `{"id":"a/b","historyLength":5}`},
		{GetTask, `{"name":"t1"}`, `{"id":"t1"}`},
		{CancelTask, `{"id":"t1","metadata":{"a":1}}`, `{"id":"t1","metadata":{"a":1}}`},
		{CancelTask, `{"name":"tasks/t1"}`, `{"id":"t1"}`},
		{SubscribeToTask, `{"name":"tasks/t1"}`, `{"id":"t1"}`},
		{ListTasks, `{"context_id":"c","status":"input-required","page_size":0,"last_updated_after":"2026-01-02T03:04:05+01:00"}`,
			`{"contextId":"c","status":"TASK_STATE_INPUT_REQUIRED","statusTimestampAfter":"2026-01-02T02:04:05.000Z"}`},
		{ListTasks, `{"status":"","statusTimestampAfter":"2026-01-02T03:04:05Z","includeArtifacts":true}`, `{"statusTimestampAfter":"2026-01-02T03:04:05.000Z","includeArtifacts":true}`},
		{GetTaskPushNotificationConfig, `{"id":"t1","pushNotificationConfigId":"p"}`, `{"taskId":"t1","id":"p"}`},
		{GetTaskPushNotificationConfig, `{"id":"t1"}`, `{"taskId":"t1","id":""}`}, // before 0.2.5: the first one
		{GetTaskPushNotificationConfig, `{"name":"tasks/t1/pushNotificationConfigs/p"}`, `{"taskId":"t1","id":"p"}`},
		{DeleteTaskPushNotificationConfig, `{"id":"t1","pushNotificationConfigId":"p"}`, `{"taskId":"t1","id":"p"}`},
		{DeleteTaskPushNotificationConfig, `{"pushNotificationConfigId":"p"}`, `{"taskId":"","id":"p"}`},
		{ListTaskPushNotificationConfigs, `{"id":"t1"}`, `{"taskId":"t1"}`},
		{ListTaskPushNotificationConfigs, `{"parent":"tasks/t1","pageSize":2,"pageToken":"x"}`, `{"taskId":"t1","pageSize":2,"pageToken":"x"}`},
		{GetExtendedAgentCard, ``, `{}`},
	} {
		for form, c := range v03Forms {
			v, err := c.DecodeRequest(tt.op, []byte(tt.doc))
			if err != nil {
				t.Errorf("%s %s: %v", tt.op, tt.doc, err)
				continue
			}
			if got := string(v.(appender).AppendJSON(nil)); got != tt.want {
				t.Errorf("%s, %s: %s becomes %s", tt.op, form, tt.doc, got)
			}
			if r, ok := v.(*a2a.GetTaskPushNotificationConfigRequest); ok && (r.Legacy == nil || *r.Legacy != a2a.Legacy{Version: "0.3"}) {
				t.Errorf("%+v", r.Legacy)
			}
			if r, ok := v.(*a2a.SubscribeToTaskRequest); ok && (r.Legacy == nil || *r.Legacy != a2a.Legacy{Version: "0.3", FinishedToo: true}) {
				t.Errorf("%+v", r.Legacy)
			}
		}
	}
}

// The shapes that a webhook is created with.
func TestV03Webhooks(t *testing.T) {
	const want = `{"id":"p","taskId":"t1","url":"http://h"}`
	for _, doc := range []string{
		`{"taskId":"t1","pushNotificationConfig":{"id":"p","url":"http://h"}}`,
		`{"parent":"tasks/t1","configId":"p","config":{"name":"tasks/t1/pushNotificationConfigs/p","pushNotificationConfig":{"url":"http://h"}}}`,
		`{"parent":"tasks/t1","config":{"pushNotificationConfig":{"id":"p","url":"http://h"}}}`,
		`{"config":{"name":"tasks/t1/pushNotificationConfigs/p","pushNotificationConfig":{"url":"http://h"}}}`,
		`{"config":{"taskId":"t1","pushNotificationConfig":{"id":"p","url":"http://h"}}}`,
		`{"name":"tasks/t1/pushNotificationConfigs/p","pushNotificationConfig":{"id":"","url":"http://h"}}`,
		`{"name":"tasks/t1/pushNotificationConfigs/","pushNotificationConfig":{"id":"p","url":"http://h"}}`,
		`{"parent":"tasks/t1","config":{"id":"p","url":"http://h"}}`,
		`{"taskId":"t1","id":"p","url":"http://h"}`,
		`{"task_id":"t1","push_notification_config":{"id":"p","url":"http://h"}}`,
	} {
		for form, c := range v03Forms {
			v, err := c.DecodeRequest(CreateTaskPushNotificationConfig, []byte(doc))
			if err != nil {
				t.Errorf("%s: %v", doc, err)
			} else if got := string(v.(appender).AppendJSON(nil)); got != want {
				t.Errorf("%s: %s becomes %s", form, doc, got)
			} else if l := v.(*a2a.TaskPushNotificationConfig).Legacy; l == nil || *l != (a2a.Legacy{Version: "0.3"}) {
				t.Errorf("%s: %s is of %+v", form, doc, l)
			}
		}
	}
	v, err := v03Codec{}.DecodeRequest(CreateTaskPushNotificationConfig, []byte(`{"taskId":"t1","pushNotificationConfig":{"url":"http://h"}}`))
	if err != nil || v.(*a2a.TaskPushNotificationConfig).ID != "t1" {
		t.Errorf("a webhook without id: %+v, %v", v, err)
	}
	task, id := cutWebhookName(webhookName("a/b", "c/d"), "c/d")
	if task != "a/b" || id != "c/d" {
		t.Errorf("ids with slashes become %q and %q", task, id)
	}
}

func TestV03RefusesWhatIsWrong(t *testing.T) {
	for _, tt := range []struct {
		op         Op
		doc, field string
	}{
		{SendMessage, `{"message":{"messageId":5}}`, "message.messageId"},
		{SendMessage, `{"message":{"parts":[{"kind":"text"}]}}`, "message.parts[0]"},
		{SendMessage, `{"message":{"parts":[{"text":"a","file":{}}]}}`, "message.parts[0]"},
		{SendMessage, `{"message":{"parts":[{"file":{"bytes":"!"}}]}}`, "message.parts[0].file.bytes"},
		{SendMessage, `{"message":{"role":"boss"}}`, "message.role"},
		{SendMessage, `{"message":[]}`, "message"},
		{SendMessage, `{"configuration":{"blocking":"yes"}}`, "configuration.blocking"},
		{SendMessage, `{"metadata":[]}`, "metadata"},
		{SendMessage, `[]`, "params"},
		{SendMessage, `{"metadata":` + strings.Repeat(`{"a":`, a2a.MaxDepth) + `1` + strings.Repeat(`}`, a2a.MaxDepth+1), "params"},
		{SendMessage, `{"message":{"extensions":"urn:x"}}`, "message.extensions"},
		{SendMessage, `{"message":{"extensions":["urn:x",null]}}`, "message.extensions[1]"},
		{GetTask, `{"id":1}`, "id"},
		{GetTask, `{"id":"t","historyLength":1.5}`, "historyLength"},
		{ListTasks, `{"status":"asleep"}`, "status"},
		{CreateTaskPushNotificationConfig, `{"taskId":"t","pushNotificationConfig":{"authentication":{"schemes":[1]}}}`, "pushNotificationConfig.authentication.schemes[0]"},
		{DeleteTaskPushNotificationConfig, `{"id":"t"}`, "pushNotificationConfigId"},
	} {
		for form, c := range v03Forms {
			field := tt.field
			if c.form == formProto && field == "params" {
				field = "request" // it has no params
			}
			_, err := c.DecodeRequest(tt.op, []byte(tt.doc))
			var e *a2a.Error
			if !errors.As(err, &e) || e.Code != a2a.CodeInvalidParams || len(e.Fields) == 0 || e.Fields[0].Field != field {
				t.Errorf("%s, %s: %v", form, tt.doc, err)
			}
		}
	}
}

// What servers answer besides what the schema says.
func TestV03ReadsWhatServersAnswer(t *testing.T) {
	n := int32(1)
	for _, tt := range []struct {
		op        Op
		req       any
		doc, want string
	}{
		{SendMessage, nil, `{"kind":"task","id":"t"}`, `{"task":{"id":"t","status":{"state":"TASK_STATE_UNSPECIFIED"}}}`},
		{SendMessage, nil, `{"id":"t","status":{"state":"completed"}}`, `{"task":{"id":"t","status":{"state":"TASK_STATE_COMPLETED"}}}`},
		{SendMessage, nil, `{"task":{"id":"t","status":{"state":"TASK_STATE_CANCELLED"}}}`, `{"task":{"id":"t","status":{"state":"TASK_STATE_CANCELED"}}}`},
		{SendMessage, nil, `{"messageId":"m","role":"agent","parts":[]}`, `{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[]}}`},
		{SendMessage, nil, `{"msg":{"messageId":"m","role":"ROLE_AGENT","content":[{"text":"x"}]}}`, `{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"x"}]}}`},
		{GetTask, nil, `{"id":"t","status":{"state":"unknown","timestamp":"2025-04-02T16:59:25.331844"}}`, `{"id":"t","status":{"state":"TASK_STATE_UNSPECIFIED","timestamp":"2025-04-02T16:59:25.331Z"}}`},
		{GetTask, &a2a.GetTaskRequest{HistoryLength: &n}, `{"id":"t","history":[{"messageId":"1"},{"messageId":"2"}]}`,
			`{"id":"t","status":{"state":"TASK_STATE_UNSPECIFIED"},"history":[{"messageId":"2","role":"ROLE_UNSPECIFIED","parts":[]}]}`},
		{GetTask, &a2a.GetTaskRequest{HistoryLength: new(int32)}, `{"id":"t","history":[{"messageId":"1"}]}`, `{"id":"t","status":{"state":"TASK_STATE_UNSPECIFIED"}}`},
		{ListTasks, nil, `[{"id":"t"}]`, `{"tasks":[{"id":"t","status":{"state":"TASK_STATE_UNSPECIFIED"}}],"nextPageToken":"","pageSize":0,"totalSize":0}`},
		{ListTaskPushNotificationConfigs, nil, ` [{"taskId":"t","pushNotificationConfig":{"url":"u"}}]`, `{"configs":[{"taskId":"t","url":"u"}]}`},
		{ListTaskPushNotificationConfigs, nil, `{"configs":[{"name":"tasks/t/pushNotificationConfigs/p","pushNotificationConfig":{"url":"u"}}]}`, `{"configs":[{"id":"p","taskId":"t","url":"u"}]}`},
		{ListTaskPushNotificationConfigs, nil, `{}`, `{}`},
	} {
		if tt.req == nil {
			tt.req = NewRequest(tt.op)
		}
		for form, c := range v03Forms {
			v, err := c.DecodeResult(tt.op, tt.req, []byte(tt.doc))
			if err != nil {
				t.Errorf("%s: %v", tt.doc, errors.Unwrap(err))
			} else if got := string(v.(appender).AppendJSON(nil)); got != tt.want {
				t.Errorf("%s: %s becomes %s", form, tt.doc, got)
			}
		}
	}
	for op, docs := range map[Op][]string{
		SendMessage: {``, `null`, `[]`, `{}`, `{"kind":"status-update","status":{}}`, `{"kind":"task","id":1}`},
		GetTask:     {``, `null`, `[]`, `"x"`, `{"status":{"state":"asleep"}}`},
		ListTasks:   {`null`, `{"tasks":{}}`, `[1]`},
	} {
		for _, doc := range docs {
			for _, c := range v03Forms {
				if v, err := c.DecodeResult(op, NewRequest(op), []byte(doc)); !errors.Is(err, a2a.ErrInvalidAgentResponse) {
					t.Errorf("%s %s: %v, %v", op, doc, v, err)
				}
			}
		}
	}
	for _, doc := range []string{``, `null`, `{}`, `{"x":1}`, `<`} {
		if v, err := (v03Codec{}).DecodeResult(DeleteTaskPushNotificationConfig, nil, []byte(doc)); v != nil || err != nil {
			t.Errorf("%q after a delete: %v, %v", doc, v, err)
		}
	}
}

func TestV03JSONIsEscaped(t *testing.T) {
	in := "a\x00\x1f\"\\\n\t\r\u2028<é\xff😀"
	var out string
	if err := json.Unmarshal(appendText(nil, in), &out); err != nil || out != strings.ToValidUTF8(in, "\uFFFD") {
		t.Errorf("%q %v", out, err)
	}
}
