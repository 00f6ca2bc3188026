package a2a

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	ours "github.com/parley-a2a/parley/internal/json"
)

func decodes[T any, P interface {
	*T
	codec
}](t *testing.T, doc string) T {
	t.Helper()
	var v T
	if err := P(&v).UnmarshalJSON([]byte(doc)); err != nil {
		t.Errorf("%s: %v", doc, err)
	}
	return v
}

// refuses checks the error's code and the path of its one field; "" means none.
func refuses(t *testing.T, v codec, doc string, code Code, field string) {
	t.Helper()
	err := v.UnmarshalJSON([]byte(doc))
	e, ok := err.(*Error)
	if !ok || e.Code != code {
		t.Errorf("%.100s: got %v, want a %v", doc, err, code)
		return
	}
	got := ""
	if len(e.Fields) == 1 {
		got = e.Fields[0].Field
	}
	if got != field {
		t.Errorf("%.100s: the error is about %q, want %q", doc, got, field)
	}
}

func TestFreeFormIsKeptByteForByte(t *testing.T) {
	for _, raw := range []string{
		`12345678901234567890`, `1.0`, `1E+2`, `-0`, `null`, `true`, `""`, `"\u00e9\/ \ud83d\ude00 <&>` + "\u2028" + `"`,
		`{"b":1,"a":2,"b":3}`, "{ \"x\" :\t[ ]\r\n}", `[null,{"a":null}]`, `"\ud800"`, `{"$large":0.1000000000000000055511151231257827}`,
	} {
		p := decodes[Part](t, "{ \"data\" : "+raw+" }")
		if string(p.Data) != raw || p.Kind != PartData {
			t.Errorf("data: got %s, want %s", p.Data, raw)
		}
		if got := string(p.AppendJSON(nil)); got != `{"data":`+raw+`}` {
			t.Errorf("written as %s", got)
		}
		meta := `{"k": ` + raw + ` , "n":null}`
		r := decodes[CancelTaskRequest](t, `{"id":"1","metadata":`+meta+`}`)
		if string(r.Metadata) != meta {
			t.Errorf("metadata: got %s, want %s", r.Metadata, meta)
		}
	}
}

func TestDecodedValuesAreCopies(t *testing.T) {
	doc := []byte(goldenMessage)
	var m Message
	if err := m.UnmarshalJSON(doc); err != nil {
		t.Fatal(err)
	}
	for i := range doc {
		doc[i] = 'x'
	}
	if got := string(m.AppendJSON(nil)); got != goldenMessage {
		t.Errorf("changed to %s", got)
	}
	var j JSON
	doc = []byte(`{"a":1}`)
	if err := json.Unmarshal(doc, &j); err != nil {
		t.Fatal(err)
	}
	doc[2] = 'x'
	if string(j) != `{"a":1}` {
		t.Errorf("changed to %s", j)
	}
	if got, err := json.Marshal([]JSON{j, nil}); err != nil || string(got) != `[{"a":1},null]` {
		t.Errorf("got %s, %v", got, err)
	}
}

// R-131 (DM-PART-001): exactly one content.
func TestPartHasExactlyOneContent(t *testing.T) {
	refuses(t, new(Part), `{}`, CodeInvalidParams, "")
	refuses(t, new(Part), `{"text":null}`, CodeInvalidParams, "")
	refuses(t, new(Part), `{"metadata":{}}`, CodeInvalidParams, "")
	contents := []string{`"text":"x"`, `"raw":"eA=="`, `"url":"u"`, `"data":null`}
	for i, a := range contents {
		decodes[Part](t, `{`+a+`}`)
		for _, b := range contents[i+1:] {
			refuses(t, new(SendMessageRequest), `{"message":{"parts":[{"text":"x"},{`+a+`,`+b+`}]}}`, CodeInvalidParams, "message.parts[1]")
		}
	}
	refuses(t, new(SendMessageRequest), `{"message":{"parts":[{}]}}`, CodeInvalidParams, "message.parts[0]")
}

func TestOneofsHaveAtMostOne(t *testing.T) {
	task, message := `"task":{"id":"1"}`, `"message":{"messageId":"1"}`
	refuses(t, new(StreamResponse), `{`+task+`,`+message+`}`, CodeInvalidParams, "")
	refuses(t, new(SendMessageResponse), `{`+task+`,`+message+`}`, CodeInvalidParams, "")
	refuses(t, new(AgentCard), `{"securitySchemes":{"a_b":{"httpAuthSecurityScheme":{},"mtlsSecurityScheme":{}}}}`, CodeInvalidParams, "securitySchemes.a_b")
	refuses(t, new(OAuth2SecurityScheme), `{"flows":{"implicit":{},"password":{}}}`, CodeInvalidParams, "flows")
	if r := decodes[StreamResponse](t, `{`+task+`,"message":null,"timelineUpdate":{}}`); r.Task == nil || r.Message != nil {
		t.Errorf("got %+v", r)
	}
	decodes[StreamResponse](t, `{"timelineUpdate":{}}`) // of a later version
}

//
func TestEnumerationsInEverySpelling(t *testing.T) {
	for _, s := range TaskStates() {
		old := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(s.String(), "TASK_STATE_"), "_", "-"))
		for _, in := range []string{fmt.Sprintf("%q", s), fmt.Sprint(int(s)), fmt.Sprintf("%q", old)} {
			if got := decodes[TaskStatus](t, `{"state":`+in+`}`); got.State != s {
				t.Errorf("%s: got %v", in, got.State)
			}
		}
		var got TaskState
		if err := got.UnmarshalText([]byte(old)); err != nil || got != s {
			t.Errorf("%s: got %v, %v", old, got, err)
		}
	}
	for in, want := range map[string]TaskState{`"TASK_STATE_CANCELLED"`: TaskStateCanceled, `"cancelled"`: TaskStateCanceled, `0`: 0, `null`: 0, `3.0`: TaskStateCompleted} {
		if got := decodes[TaskStatus](t, `{"state":`+in+`}`); got.State != want {
			t.Errorf("%s: got %v", in, got.State)
		}
	}
	for in, want := range map[string]Role{`"user"`: RoleUser, `"agent"`: RoleAgent, `"ROLE_AGENT"`: RoleAgent, `1`: RoleUser, `null`: 0} {
		if got := decodes[Message](t, `{"role":`+in+`}`); got.Role != want {
			t.Errorf("%s: got %v", in, got.Role)
		}
	}
	for _, in := range []string{`"USER"`, `"Completed"`, `"TASK_STATE_X"`, `9`, `-1`, `1.5`, `true`, `{}`} {
		refuses(t, new(ListTasksRequest), `{"status":`+in+`}`, CodeInvalidParams, "status")
		refuses(t, new(Message), `{"role":`+in+`}`, CodeInvalidParams, "role")
	}
	var s TaskState
	if err := s.UnmarshalText([]byte("lost")); err == nil {
		t.Error("an unknown name is read")
	}
}

func TestIntegers(t *testing.T) {
	for in, want := range map[string]int32{`0`: 0, `-0`: 0, `5`: 5, `"5"`: 5, `1.0`: 1, `"1.0"`: 1, `1e2`: 100, `2147483647`: 1<<31 - 1, `-2147483648`: -1 << 31, `"-7"`: -7} {
		if got := decodes[GetTaskRequest](t, `{"historyLength":`+in+`}`); got.HistoryLength == nil || *got.HistoryLength != want {
			t.Errorf("%s: got %v", in, got.HistoryLength)
		}
	}
	for _, in := range []string{`1.5`, `25e-1`, `2147483648`, `-2147483649`, `1e400`, `"1.5"`, `""`, `" 1"`, `"+1"`, `"01"`, `"0x1"`, `"inf"`, `"NaN"`, `"1_0"`, `"\u0031"`, `true`, `"` + strings.Repeat("0", 100) + `"`} {
		refuses(t, new(GetTaskRequest), `{"history_length":`+in+`}`, CodeInvalidParams, "historyLength")
	}
}

func TestBase64InEveryForm(t *testing.T) {
	for _, want := range [][]byte{{}, {0xfb}, {0xfb, 0xff}, {0xfb, 0xff, 0xfe}, bytes.Repeat([]byte{0xff, 0xef, 0x3e}, 100)} {
		for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
			text := enc.EncodeToString(want)
			for _, in := range []string{text, strings.ReplaceAll(text, "/", `\/`), strings.ReplaceAll(text, "+", `\u002B`)} {
				if got := decodes[Part](t, `{"raw":"`+in+`"}`); got.Kind != PartRaw || !bytes.Equal(got.Raw, want) {
					t.Errorf("%s: got %x, want %x", in, got.Raw, want)
				}
			}
		}
	}
	for _, in := range []string{"a", "====", "a+_b", "ab=", "a=bc", "ab==cd==", "é"} {
		refuses(t, new(SendMessageRequest), `{"message":{"parts":[{"raw":"`+in+`"}]}}`, CodeInvalidParams, "message.parts[0].raw")
	}
}

// timestamps in every form that peers send.
func TestTimestamps(t *testing.T) {
	for in, want := range map[string]string{
		"2026-01-02T03:04:05.678Z":            "2026-01-02T03:04:05.678Z",
		"2026-01-02T03:04:05Z":                "2026-01-02T03:04:05.000Z",
		"2026-01-02t03:04:05z":                "2026-01-02T03:04:05.000Z",
		"2026-01-02 03:04:05.5Z":              "2026-01-02T03:04:05.500Z",
		"2026-01-02T03:04:05.678999999Z":      "2026-01-02T03:04:05.678Z",
		"2026-01-02T03:04:05.6789999999999Z":  "2026-01-02T03:04:05.678Z",
		"2026-01-02T03:04:05.678+05:30":       "2026-01-01T21:34:05.678Z",
		"2025-12-31T23:30:00-01:00":           "2026-01-01T00:30:00.000Z",
		"2025-04-02T16:59:25.331844":          "2025-04-02T16:59:25.331Z", // version 0.1 samples
		"2025-04-02T16:59:25":                 "2025-04-02T16:59:25.000Z",
		"2024-02-29T00:00:00+00:00":           "2024-02-29T00:00:00.000Z",
		"9999-12-31T23:59:59.999Z":            "9999-12-31T23:59:59.999Z",
		"0001-01-01T00:00:00.001Z":            "0001-01-01T00:00:00.001Z",
		"1969-12-31T23:59:59.9999Z":           "1969-12-31T23:59:59.999Z",
		`2026-01-02T03\u003a04:05Z`:           "2026-01-02T03:04:05.000Z",
		"2026-01-02T03:04:05.678900000-00:00": "2026-01-02T03:04:05.678Z",
	} {
		s := decodes[TaskStatus](t, `{"timestamp":"`+in+`"}`)
		if got := string(s.AppendJSON(nil)); got != `{"state":"TASK_STATE_UNSPECIFIED","timestamp":"`+want+`"}` {
			t.Errorf("%s: got %s", in, got)
		}
		if s.Timestamp.Location() != time.UTC {
			t.Errorf("%s: is in %v", in, s.Timestamp.Location())
		}
	}
	for _, in := range []string{
		"", "now", "2026-01-02", "2026-01-02T03:04Z", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-02-29T00:00:00Z", "2026-01-02T24:00:00Z",
		"2026-01-02T03:60:05Z", "2026-01-02T03:04:60Z", "2026-01-02T03:04:05.Z", "2026-01-02T03:04:05,5Z", "2026-01-02T03:04:05+0530",
		"2026-01-02T03:04:05+24:00", "2026-01-02T03:04:05+01:60", "2026-01-02T03:04:05 UTC", "2026-01-02T03:04:05ZZ", "9999-12-31T23:59:59-01:00",
		"0001-01-01T00:00:00+01:00", "0000-01-01T00:00:00Z", "2026-1-02T03:04:05.000Z", "2026-01-02T03:04:05*01:00",
	} {
		refuses(t, new(ListTasksRequest), `{"statusTimestampAfter":"`+in+`"}`, CodeInvalidParams, "statusTimestampAfter")
	}
	offset := time.Date(2026, 1, 2, 4, 4, 5, 678999999, time.FixedZone("", 3600))
	if got := string((&TaskStatus{Timestamp: offset}).AppendJSON(nil)); !strings.Contains(got, `"2026-01-02T03:04:05.678Z"`) {
		t.Errorf("written as %s", got)
	}
}

// DIALECTS 1.10: names in drafts and release candidates of 1.0.
func TestDraftSpellingsAreRead(t *testing.T) {
	for in, want := range map[string]bool{
		`{}`: false, `{"blocking":true}`: false, `{"blocking":false}`: true, `{"blocking":null}`: false,
		`{"blocking":false,"returnImmediately":false}`: false, `{"returnImmediately":true,"blocking":true}`: true,
		`{"blocking":false,"return_immediately":null}`: true,
	} {
		if got := decodes[SendMessageConfiguration](t, in); got.ReturnImmediately != want {
			t.Errorf("%s: got %v", in, got.ReturnImmediately)
		}
	}
	refuses(t, new(SendMessageRequest), `{"configuration":{"blocking":"no"}}`, CodeInvalidParams, "configuration.blocking")
	c := decodes[SendMessageConfiguration](t, `{"pushNotificationConfig":{"url":"u","authentication":{"schemes":["Bearer","Basic"],"credentials":"s"}}}`)
	if p := c.TaskPushNotificationConfig; p == nil || p.URL != "u" || p.Authentication.Scheme != "Bearer" {
		t.Errorf("got %+v", c.TaskPushNotificationConfig)
	}
	c = decodes[SendMessageConfiguration](t, `{"taskPushNotificationConfig":{"url":"new"},"push_notification_config":{"url":"old"}}`)
	if c.TaskPushNotificationConfig.URL != "new" {
		t.Errorf("got %+v", c.TaskPushNotificationConfig)
	}
	for _, in := range []string{
		`{"taskId":"1","id":"w","config":{"url":"u","token":"t"}}`,
		`{"taskId":"1","pushNotificationConfig":{"id":"w","url":"u","token":"t"}}`,
		`{"taskId":"1","configId":"w","config":{"url":"u","token":"t"}}`, // of 1.0.0-rc
	} {
		p := decodes[TaskPushNotificationConfig](t, in)
		if got := string(p.AppendJSON(nil)); got != `{"id":"w","taskId":"1","url":"u","token":"t"}` {
			t.Errorf("%s: got %s", in, got)
		}
	}
}

func TestRequestsHaveLimits(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	request := func(data string) string { return `{"message":{"parts":[{"data":` + data + `}]}}` }
	decodes[SendMessageRequest](t, request(nested(MaxDepth-4)))
	refuses(t, new(SendMessageRequest), request(nested(MaxDepth-3)), CodeInvalidParams, "")
	refuses(t, new(SendMessageRequest), request(nested(1e6)), CodeInvalidParams, "")
	refuses(t, new(SendMessageRequest), strings.Repeat(`{"configuration":`, 1e5), CodeInvalidParams, "")
	// An accepted value must stay readable when it is wrapped more deeply.
	decodes[Task](t, `{"history":[{"parts":[{"data":`+nested(MaxDepth)+`}]}]}`)

	many := func(n int) string { return `"parts":[` + strings.Repeat(`{"text":""},`, n-1) + `{"text":""}]` }
	decodes[SendMessageRequest](t, `{"message":{`+many(MaxParts)+`}}`)
	refuses(t, new(SendMessageRequest), `{"message":{`+many(MaxParts+1)+`}}`, CodeInvalidParams, "message.parts")
	decodes[Task](t, `{"artifacts":[{`+many(10*MaxParts)+`}]}`)
}

func TestErrorsDoNotRepeatLongInput(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, doc := range []string{`{"status":"` + long + `"}`, `{"statusTimestampAfter":"` + long + `"}`, `{"pageSize":"` + long + `"}`, `{"pageSize":` + strings.Repeat("9", 1<<20) + `}`} {
		if err := new(ListTasksRequest).UnmarshalJSON([]byte(doc)); err == nil || len(err.Error()) > 500 {
			t.Errorf("got %.600v", err)
		}
	}
}

func FuzzStrings(f *testing.F) {
	for _, s := range []string{"", "plain", "\"\\/\b\f\n\r\t\x00\x1f\x7f", "é😀\u2028\ufffd", "\xff\xc0\x80\xed\xa0\x80", `\ud83d\ude00\ud800\ud800\udc00\u0041\ud800\u0041`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := ours.AppendString(nil, s)
		var back string
		if err := json.Unmarshal(got, &back); err != nil {
			t.Fatalf("%s: %v", got, err)
		}
		std, _ := json.Marshal(s)
		var want string
		_ = json.Unmarshal(std, &want)
		if back != want {
			t.Fatalf("%q was written as %s", s, got)
		}
		// The other way: s as the inside of a string, with any escapes.
		doc := []byte(`{"id":"` + s + `"}`)
		var ref struct{ ID string }
		if check(doc, MaxDepth) != nil || json.Unmarshal(doc, &ref) != nil || strings.Contains(s, `"`) {
			return
		}
		var r GetTaskRequest
		if err := r.UnmarshalJSON(doc); err != nil || r.ID != ref.ID {
			t.Fatalf("%s was read as %q, %v, want %q", doc, r.ID, err, ref.ID)
		}
	})
}

// rfc3339 matches the timestamps that both readers of FuzzTimestamps must accept;
// package time also accepts 3:04:05, a comma before the fraction and an offset of
// 00:60.
var rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

func FuzzTimestamps(f *testing.F) {
	for _, s := range []string{"2026-01-02T03:04:05.678Z", "2025-12-31T23:30:00-01:00", "2024-02-29T00:00:00+00:00", "2026-02-30T00:00:00Z"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := ours.ParseTime([]byte(s))
		var want time.Time
		if err := want.UnmarshalText([]byte(s)); err == nil && rfc3339.MatchString(s) {
			want = want.UTC().Truncate(time.Millisecond)
			if inRange := want.Year() >= 1 && want.Year() <= 9999; ok != inRange || ok && !got.Equal(want) {
				t.Fatalf("%s: got %v, %v, want %v", s, got, ok, want)
			}
		}
		if ok {
			again, ok := ours.ParseTime(bytes.Trim(ours.AppendTime(nil, got), `"`))
			if !ok || !again.Equal(got) {
				t.Fatalf("%s: %v became %v, %v", s, got, again, ok)
			}
		}
	})
}
