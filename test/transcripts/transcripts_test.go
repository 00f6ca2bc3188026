package transcripts

import (
	"strings"
	"testing"
)

// What the transcripts show is worth what the comparison finds.
func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		want, got string
		fault     string // what the error names; "" if there is none
	}{
		{`{"a":1,"b":[1,{"c":null}]}`, `{"b":[1.0,{"c":null}],"a":1e0}`, ""},
		{`{"n":12345678901234567890}`, `{"n":12345678901234567891}`, ".n is"},
		{`{"a":1}`, `{}`, ".a is missing"},
		{`{"a":1}`, `{"a":1,"b":2}`, ".b should not be there"},
		{`{"a":1,"$more":true}`, `{"a":1,"b":2}`, ""},
		{`{"a":1,"$more":true}`, `{"a":2,"b":2}`, ".a is"},
		{`[1,2]`, `[1]`, "is [1]"},
		{`[{"a":"x"}]`, `[{"a":"y"}]`, "[0].a is"},
		{`"5"`, `5`, "is 5"},
		{`null`, `{}`, "is {}"},
		{`{"t":"2024-03-15T10:00:00Z"}`, `{"t":"2024-03-15T10:00:00.000Z"}`, ""},
		{`{"t":"2024-03-15T10:00:00Z"}`, `{"t":"2024-03-15T10:00:00.001Z"}`, ".t is"},
		{`{"t":"2024-03-15T10:00:00Z"}`, `{"t":"2024-03-15T12:00:00+02:00"}`, ".t is"},
		{`"$uuid"`, `"9229e770-767c-417b-a0b0-f0741243c589"`, ""},
		{`"$uuid"`, `"m1"`, "no UUID"},
		{`"$time"`, `"2024-03-15T10:00:00"`, "no time"},
		{`["$id1","$id2","$id1"]`, `["a","b","a"]`, ""},
		{`["$id1","$id2","$id1"]`, `["a","b","b"]`, "[2] is"},
		{`"$id"`, `""`, "want a string"},
		{`{"a":"$any"}`, `{"a":[]}`, ""},
		{`{"a":"$any"}`, `{}`, ".a is missing"},
		{`{"a":"$maybe"}`, `{}`, ""},
		{`{"a":"$maybe"}`, `{"a":7}`, ""},
		{`{"a":"$none","b":"$none","c":"$none","d":"$none"}`, `{"a":[],"b":{},"c":false}`, ""},
		{`{"a":"$none"}`, `{"a":true}`, ".a is"},
		{`{"a":"costs $any"}`, `{"a":"nothing"}`, ".a is"},
		{`{}`, `{`, "no JSON"},
	} {
		err := Vars{}.Match(tt.want, tt.got)
		if tt.fault == "" && err != nil || tt.fault != "" && (err == nil || !strings.Contains(err.Error(), tt.fault)) {
			t.Errorf("%s and %s: %v, want %q", tt.want, tt.got, err, tt.fault)
		}
	}
}

func TestMatchEvents(t *testing.T) {
	const want = "id: 1\ndata: {\"a\":1,\"b\":2}\n\n"
	for got, fault := range map[string]string{
		"id: 1\ndata: {\"b\":2,\"a\":1}\n\n":                    "",
		"id: 2\ndata: {\"b\":2,\"a\":1}\n\n":                    "line 1",
		"id: 1\ndata: {\"b\":3,\"a\":1}\n\n":                    "line 2: .b",
		"id: 1\ndata: {\"b\":2,\ndata: \"a\":1}\n\n":            "line 2",
		"id: 1\ndata: {\"b\":2,\"a\":1}\n\n: more\n\n":          "line 4",
		"id: 1\nevent: error\ndata: {\"b\":2,\"a\":1}\n\n":      "line 2",
		"data: {\"b\":2,\"a\":1}\n\n":                           "line 1",
		"id: 1\ndata: {\"b\":2,\"a\":1}\n\nid: 2\ndata: {}\n\n": "line 4",
	} {
		err := Vars{}.MatchBody(want, got, true)
		if fault == "" && err != nil || fault != "" && (err == nil || !strings.Contains(err.Error(), fault)) {
			t.Errorf("%q: %v, want %q", got, err, fault)
		}
	}
}

func TestFillIsWhatMatchBinds(t *testing.T) {
	v := Vars{}
	if err := v.Match(`{"id":"$id1"}`, `{"id":"x"}`); err != nil {
		t.Fatal(err)
	}
	if got := v.Fill(`{"a":"$id1","b":"$none","c":"$maybe"}`); got != `{"a":"x","b":null,"c":null}` {
		t.Error(got)
	}
	filled := v.Fill(`{"u":"$uuid1","t":"$time1"}`)
	if err := v.Match(`{"u":"$uuid1","t":"$time1"}`, filled); err != nil || filled != v.Fill(`{"u":"$uuid1","t":"$time1"}`) {
		t.Error(filled, err)
	}
}

func TestParseRefusesWhatPlaysNothing(t *testing.T) {
	const request, response = "-- request --\nGET /\n\n", "-- response --\n200\n\n{}\n"
	for _, tt := range []struct{ name, data, fault string }{
		{"v1.0/rest/x", "About.\n" + request + response, ""},
		{"x", "About.\n" + request + response, "named"},
		{"v1.0/rest/x", request + response, "first line"},
		{"v1.0/rest/x", "About.\n", "no exchange"},
		{"v1.0/rest/x", "About.\n" + request, "needs a request and a response"},
		{"v1.0/rest/x", "About.\n" + request + "-- reponse --\n", "no such section"},
		{"v1.0/rest/x", "About.\n" + request + "-- response --\nOK\n", "status"},
		{"v1.0/rest/x", "About.\n-- call --\nGetTask\n{}\n" + request + response, "needs an answer or a result"},
		{"v1.0/rest/x", "About.\n-- call --\nGetTask\n{\n" + request + response, "JSON"},
		{"v1.0/rest/x", "About.\n-- call --\nGetTask somehow\n{}\n" + request + response, "anyhow"},
		{"v1.0/rest/foreign-x", "About.\n" + request + response, "foreign"},
	} {
		_, err := Parse(tt.name, tt.data)
		if tt.fault == "" && err != nil || tt.fault != "" && (err == nil || !strings.Contains(err.Error(), tt.fault)) {
			t.Errorf("%s %q: %v, want %q", tt.name, tt.data, err, tt.fault)
		}
	}
}
