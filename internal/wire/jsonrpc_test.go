package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestParseRequest(t *testing.T) {
	for _, tt := range []struct {
		name, in           string
		id, method, params string
		code               int
		message            string
	}{
		{"plain", `{"jsonrpc":"2.0","id":1,"method":"M","params":{"a":[1,"}"]}}`, `1`, "M", `{"a":[1,"}"]}`, 0, ""},
		{"blanks", " {\n\"jsonrpc\" : \"2.0\" , \"id\" : \"x\" , \"method\":\"M\" , \"params\" : { } }\n", `"x"`, "M", `{ }`, 0, ""},
		{"other members", `{"jsonrpc":"2.0","id":1,"method":"M","trace":{"id":5}}`, `1`, "M", "", 0, ""},
		{"null params", `{"jsonrpc":"2.0","id":1,"method":"M","params":null}`, `1`, "M", "", 0, ""},
		{"escaped names", `{"jsonrpc":"2.0","id":1,"m\u0065thod":"\u004d"}`, `1`, "M", "", 0, ""},
		{"id 1.0", `{"jsonrpc":"2.0","id":1.0,"method":"M"}`, `1.0`, "M", "", 0, ""},
		{"big id", `{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"M"}`, `123456789012345678901234567890`, "M", "", 0, ""},
		{"escaped id", `{"jsonrpc":"2.0","id":"\u0041\/","method":"M"}`, `"\u0041\/"`, "M", "", 0, ""},
		{"null id", `{"jsonrpc":"2.0","id":null,"method":"M"}`, `null`, "M", "", 0, ""},

		{"empty", ``, "", "", "", CodeParse, "empty"},
		{"blank", " \n", "", "", "", CodeParse, "empty"},
		{"cut", `{"jsonrpc":"2.0",`, "", "", "", CodeParse, "at byte 17"},
		{"two values", `{} {}`, "", "", "", CodeParse, "at byte 4"},
		{"not UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", "", "", "", CodeParse, "UTF-8"},
		{"too deep", strings.Repeat("[", 20000) + strings.Repeat("]", 20000), "", "", "", CodeParse, "depth"},
		{"batch", `[{"jsonrpc":"2.0","id":1,"method":"M"}]`, "", "", "", CodeInvalidRequest, "batches"},
		{"string", `"x"`, "", "", "", CodeInvalidRequest, "not a string"},
		{"number", `1`, "", "", "", CodeInvalidRequest, "not a number"},
		{"null", `null`, "", "", "", CodeInvalidRequest, "not null"},
		{"no version", `{"id":1,"method":"M"}`, "1", "", "", CodeInvalidRequest, "jsonrpc is missing"},
		{"version 1.0", `{"jsonrpc":"1.0","id":1,"method":"M"}`, "1", "", "", CodeInvalidRequest, `must be "2.0"`},
		{"numeric version", `{"jsonrpc":2.0,"id":1,"method":"M"}`, "1", "", "", CodeInvalidRequest, `must be "2.0"`},
		{"no method", `{"jsonrpc":"2.0","id":"a"}`, `"a"`, "", "", CodeInvalidRequest, "method is missing"},
		{"Method", `{"jsonrpc":"2.0","id":1,"Method":"M"}`, "1", "", "", CodeInvalidRequest, "method is missing"},
		{"numeric method", `{"jsonrpc":"2.0","id":1,"method":5}`, "1", "", "", CodeInvalidRequest, "not a number"},
		{"notification", `{"jsonrpc":"2.0","method":"M"}`, "", "M", "", CodeInvalidRequest, "notifications"},
		{"object id", `{"jsonrpc":"2.0","id":{},"method":"M"}`, "", "M", "", CodeInvalidRequest, "not an object"},
		{"array id", `{"jsonrpc":"2.0","id":[1],"method":"M"}`, "", "M", "", CodeInvalidRequest, "not an array"},
		{"boolean id", `{"jsonrpc":"2.0","id":true,"method":"M"}`, "", "M", "", CodeInvalidRequest, "not a boolean"},
		{"long id", `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", maxID) + `","method":"M"}`, "", "M", "", CodeInvalidRequest, "longer"},
		{"two ids", `{"jsonrpc":"2.0","id":1,"id":2,"method":"M"}`, "2", "", "", CodeInvalidRequest, "twice"},
		{"empty object", `{}`, "", "", "", CodeInvalidRequest, "jsonrpc is missing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req, err := ParseRequest([]byte(tt.in))
			if string(req.ID) != tt.id || req.Method != tt.method || string(req.Params) != tt.params {
				t.Errorf("got id %s, method %q, params %s", req.ID, req.Method, req.Params)
			}
			if tt.code == 0 {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || err.Code != tt.code || !strings.Contains(err.Message, tt.message) {
				t.Errorf("error %v, want %d with %q", err, tt.code, tt.message)
			}
		})
	}
}

func TestParseLaxRequest(t *testing.T) {
	for _, tt := range []struct{ in, id, message string }{
		{`{"method":"M","params":{}}`, `1`, ""},
		{`{"id":"a","method":"M"}`, `"a"`, ""},
		{`{"jsonrpc":"2.0","method":"M"}`, `1`, ""},
		{`{"jsonrpc":"2.0","id":null,"method":"M"}`, `null`, ""},
		{`{"jsonrpc":null,"id":1,"method":"M"}`, `1`, `must be "2.0"`},
		{`{"jsonrpc":"1.0","method":"M"}`, `1`, `must be "2.0"`},
		{`{"id":{},"method":"M"}`, "", "not an object"},
		{`{"id":1,"id":2,"method":"M"}`, "2", "twice"},
		{`{"params":{}}`, "1", "method is missing"},
		{`[{"method":"M"}]`, "", "batches"},
		{`{`, "", "not valid JSON"},
	} {
		req, err := ParseLaxRequest([]byte(tt.in))
		if string(req.ID) != tt.id || tt.message == "" && (err != nil || req.Method != "M") {
			t.Errorf("%s: id %s, method %q, error %v", tt.in, req.ID, req.Method, err)
		}
		if tt.message != "" && (err == nil || !strings.Contains(err.Message, tt.message)) {
			t.Errorf("%s: error %v, want %q", tt.in, err, tt.message)
		}
	}
}

func TestParseResponse(t *testing.T) {
	for _, tt := range []struct {
		name, in   string
		id, result string
		err        *Error
	}{
		{"result", `{"jsonrpc":"2.0","id":"a","result":{"x":null}}`, `"a"`, `{"x":null}`, nil},
		{"null result", `{"jsonrpc":"2.0","id":1,"result":null}`, `1`, `null`, nil},
		{"no result", `{"jsonrpc":"2.0","id":1}`, `1`, ``, nil},
		{"null error", `{"jsonrpc":"2.0","id":1,"result":{},"error":null}`, `1`, `{}`, nil},
		{"error", `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"no","data":[{"@type":"t"}]}}`, `null`, ``,
			&Error{-32001, "no", []byte(`[{"@type":"t"}]`)}},
		{"bare error", `{"error":{}}`, ``, ``, &Error{}},
		{"odd error", `{"id":1,"error":"boom"}`, `1`, ``, &Error{Message: "boom"}},
		{"code as float", `{"id":1,"error":{"code":-32001.0,"message":null,"data":null}}`, `1`, ``, &Error{Code: -32001}},
		{"code as string", `{"id":1,"error":{"code":"-32001"}}`, `1`, ``, &Error{Code: -32001}},
		{"absurd code", `{"id":1,"error":{"code":1e300}}`, `1`, ``, &Error{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res, err := ParseResponse([]byte(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			if string(res.ID) != tt.id || string(res.Result) != tt.result {
				t.Errorf("got id %s, result %s", res.ID, res.Result)
			}
			if (res.Err == nil) != (tt.err == nil) {
				t.Fatalf("error %v, want %v", res.Err, tt.err)
			}
			if e := res.Err; e != nil && (e.Code != tt.err.Code || e.Message != tt.err.Message || !bytes.Equal(e.Data, tt.err.Data)) {
				t.Errorf("error %+v, want %+v", e, tt.err)
			}
		})
	}
	for _, in := range []string{"", "x", "[]", "null", "{}", `{"task":{}}`, "<html>"} {
		if res, err := ParseResponse([]byte(in)); err == nil {
			t.Errorf("%q was taken for the response %+v", in, res)
		}
	}
}

func TestAppendEnvelopes(t *testing.T) {
	for _, tt := range []struct{ got, want []byte }{
		{AppendRequest(nil, []byte(`1`), "M", []byte(`{}`)), []byte(`{"jsonrpc":"2.0","id":1,"method":"M","params":{}}`)},
		{AppendRequest(nil, []byte(`"a"`), `a"b`, nil), []byte(`{"jsonrpc":"2.0","id":"a","method":"a\"b"}`)},
		{append(AppendResultPrefix(nil, []byte(`1.0`)), `null}`...), []byte(`{"jsonrpc":"2.0","id":1.0,"result":null}`)},
		{AppendError(nil, nil, []byte(`{"code":1}`)), []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":1}}`)},
	} {
		if !bytes.Equal(tt.got, tt.want) {
			t.Errorf("got %s, want %s", tt.got, tt.want)
		}
	}
}

// The envelope is read as encoding/json reads it, where that accepts it.
func FuzzRPC(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"x"}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":"\u0041","result":[{}, "]", -1e5],"error":{"code":-1,"message":"\"","data":[]}}`))
	f.Add([]byte(` [ ] `))
	f.Fuzz(func(t *testing.T, in []byte) {
		req, err := ParseRequest(in)
		if err == nil {
			var want map[string]json.RawMessage
			if e := json.Unmarshal(in, &want); e != nil {
				t.Fatalf("accepted, but %v", e)
			}
			if !bytes.Equal(req.ID, want["id"]) {
				t.Errorf("id %s, want %s", req.ID, want["id"])
			}
			var method string
			if json.Unmarshal(want["method"], &method) != nil || method != req.Method {
				t.Errorf("method %q, want %s", req.Method, want["method"])
			}
			if req.Params != nil && !bytes.Equal(req.Params, want["params"]) {
				t.Errorf("params %s, want %s", req.Params, want["params"])
			}
			again, err := ParseRequest(AppendRequest(nil, req.ID, req.Method, req.Params))
			if err != nil || again.Method != req.Method || !bytes.Equal(again.ID, req.ID) || !bytes.Equal(again.Params, req.Params) {
				t.Errorf("written and read again: %+v, %v", again, err)
			}
		} else if req.ID != nil && !json.Valid(req.ID) {
			t.Errorf("id %q is not JSON", req.ID)
		}
		if err := CheckJSON(in); (err == nil) != (utf8.Valid(in) && json.Valid(in)) {
			t.Errorf("%v, which is not what encoding/json says", err)
		}
		lax, laxErr := ParseLaxRequest(in)
		if laxErr != nil && err == nil || err == nil && !bytes.Equal(lax.ID, req.ID) {
			t.Errorf("read strictly as %+v, but otherwise as %+v, %v", req, lax, laxErr)
		}
		_, _ = ParseResponse(in)
	})
}

// The error for a document that nests too deep is that of encoding/json, which would take
// memory for each level.
func TestCheckJSONOfDeepDocuments(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("[", 100_000), ` {"a": ` + strings.Repeat(`{"b":[`, 20_000), strings.Repeat("[ ", 10_001), strings.Repeat("[", 10_000) + "{",
	} {
		var syntax *json.SyntaxError
		if !errors.As(json.Unmarshal([]byte(text), new(json.RawMessage)), &syntax) {
			t.Fatal("encoding/json takes it")
		}
		want := fmt.Sprintf("the body is not valid JSON: %v at byte %d", syntax, syntax.Offset)
		if err := CheckJSON([]byte(text)); err == nil || err.Message != want {
			t.Errorf("%.12s...: %v, want %s", text, err, want)
		}
	}
	deep := []byte(strings.Repeat("[", 100_000))
	if n := testing.AllocsPerRun(10, func() { CheckJSON(deep) }); n > 20 {
		t.Errorf("%v allocations", n)
	}
}
