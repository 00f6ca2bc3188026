package again

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
)

// whole has everything that a digest is of.
func whole() *a2a.SendMessageRequest {
	return &a2a.SendMessageRequest{
		Message: &a2a.Message{
			MessageID: "m", TaskID: "t", ContextID: "c", Role: a2a.RoleUser,
			Parts: []*a2a.Part{
				{Kind: a2a.PartText, Text: "text", Metadata: a2a.JSON(`{"a":1}`), Filename: "f", MediaType: "text/plain"},
				a2a.RawPart([]byte{1, 2, 3}, "image/png", "x.png"),
				a2a.URLPart("https://example.com", "", ""),
				a2a.DataPart(a2a.JSON(`{"list":[1,null,true,"x",{}],"n":1.5}`)),
			},
			Metadata:         a2a.JSON(`{"b":[1]}`),
			Extensions:       []string{"e1", "e2"},
			ReferenceTaskIDs: []string{"r1", "r2"},
		},
		Metadata:      a2a.JSON(`{"c":"d"}`),
		Configuration: &a2a.SendMessageConfiguration{AcceptedOutputModes: []string{"text/plain"}},
	}
}

func send(text string) *a2a.SendMessageRequest {
	return &a2a.SendMessageRequest{Message: &a2a.Message{MessageID: "m", Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart(text)}}}
}

// A change of any field changes the digest.
func TestDigestOfEachField(t *testing.T) {
	changes := map[string]func(r *a2a.SendMessageRequest, m *a2a.Message){
		"task":             func(r *a2a.SendMessageRequest, m *a2a.Message) { m.TaskID = "t2" },
		"no task":          func(r *a2a.SendMessageRequest, m *a2a.Message) { m.TaskID, m.ContextID = "", "tc" },
		"context":          func(r *a2a.SendMessageRequest, m *a2a.Message) { m.ContextID = "" },
		"task and context": func(r *a2a.SendMessageRequest, m *a2a.Message) { m.TaskID, m.ContextID = m.ContextID, m.TaskID },
		"role":             func(r *a2a.SendMessageRequest, m *a2a.Message) { m.Role = a2a.RoleAgent },
		"text":             func(r *a2a.SendMessageRequest, m *a2a.Message) { m.Parts[0].Text = "texts" },
		"part's metadata":  func(r *a2a.SendMessageRequest, m *a2a.Message) { m.Parts[0].Metadata = a2a.JSON(`{"a":2}`) },
		"no metadata":      func(r *a2a.SendMessageRequest, m *a2a.Message) { m.Parts[0].Metadata = nil },
		"filename":         func(r *a2a.SendMessageRequest, m *a2a.Message) { m.Parts[0].Filename = "" },
		"media type":       func(r *a2a.SendMessageRequest, m *a2a.Message) { m.Parts[0].MediaType = "text/html" },
		"bytes":            func(r *a2a.SendMessageRequest, m *a2a.Message) { m.Parts[1].Raw = []byte{1, 2} },
		"url":              func(r *a2a.SendMessageRequest, m *a2a.Message) { m.Parts[2].URL += "/" },
		"kind":             func(r *a2a.SendMessageRequest, m *a2a.Message) { m.Parts[2] = a2a.TextPart(m.Parts[2].URL) },
		"data, a name": func(r *a2a.SendMessageRequest, m *a2a.Message) {
			m.Parts[3].Data = a2a.JSON(`{"list":[1,null,true,"x",{}],"m":1.5}`)
		},
		"data, a number": func(r *a2a.SendMessageRequest, m *a2a.Message) {
			m.Parts[3].Data = a2a.JSON(`{"list":[1,null,true,"x",{}],"n":1.25}`)
		},
		"data, an order": func(r *a2a.SendMessageRequest, m *a2a.Message) {
			m.Parts[3].Data = a2a.JSON(`{"list":[null,1,true,"x",{}],"n":1.5}`)
		},
		"data, a type": func(r *a2a.SendMessageRequest, m *a2a.Message) {
			m.Parts[3].Data = a2a.JSON(`{"list":["1",null,true,"x",{}],"n":1.5}`)
		},
		"data, false": func(r *a2a.SendMessageRequest, m *a2a.Message) {
			m.Parts[3].Data = a2a.JSON(`{"list":[1,null,false,"x",{}],"n":1.5}`)
		},
		"data, an array": func(r *a2a.SendMessageRequest, m *a2a.Message) {
			m.Parts[3].Data = a2a.JSON(`{"list":[1,null,true,"x",[]],"n":1.5}`)
		},
		"data, no null": func(r *a2a.SendMessageRequest, m *a2a.Message) {
			m.Parts[3].Data = a2a.JSON(`{"list":[1,true,"x",{}],"n":1.5}`)
		},
		"data, null":         func(r *a2a.SendMessageRequest, m *a2a.Message) { m.Parts[3].Data = a2a.JSON(`null`) },
		"order of parts":     func(r *a2a.SendMessageRequest, m *a2a.Message) { m.Parts[0], m.Parts[1] = m.Parts[1], m.Parts[0] },
		"one part less":      func(r *a2a.SendMessageRequest, m *a2a.Message) { m.Parts = m.Parts[:3] },
		"one part more":      func(r *a2a.SendMessageRequest, m *a2a.Message) { m.Parts = append(m.Parts, a2a.TextPart("")) },
		"metadata":           func(r *a2a.SendMessageRequest, m *a2a.Message) { m.Metadata = a2a.JSON(`{"b":[2]}`) },
		"extensions":         func(r *a2a.SendMessageRequest, m *a2a.Message) { m.Extensions = m.Extensions[:1] },
		"extensions, joined": func(r *a2a.SendMessageRequest, m *a2a.Message) { m.Extensions = []string{"e1e2"} },
		"references":         func(r *a2a.SendMessageRequest, m *a2a.Message) { m.ReferenceTaskIDs = []string{"r2", "r1"} },
		"lists": func(r *a2a.SendMessageRequest, m *a2a.Message) {
			m.Extensions, m.ReferenceTaskIDs = nil, []string{"e1", "e2", "r1", "r2"}
		},
		"request's metadata": func(r *a2a.SendMessageRequest, m *a2a.Message) { r.Metadata = nil },
		"metadata elsewhere": func(r *a2a.SendMessageRequest, m *a2a.Message) { r.Metadata, m.Metadata = m.Metadata, r.Metadata },
		"output modes":       func(r *a2a.SendMessageRequest, m *a2a.Message) { r.Configuration.AcceptedOutputModes = nil },
	}
	seen := map[Digest]string{DigestOf(whole()): "the original"}
	for name, change := range changes {
		req := whole()
		change(req, req.Message)
		d := DigestOf(req)
		if other, ok := seen[d]; ok {
			t.Errorf("%s: the digest is that of %s", name, other)
		}
		seen[d] = name
	}
}

// What only says how to answer, or names the message, is no part of it.
func TestDigestIsOfWhatIsAsked(t *testing.T) {
	req := whole()
	req.Message.MessageID = "another"
	req.Tenant, req.IdempotencyKey, req.After = "tenant", "key", 7
	req.Legacy = &a2a.Legacy{Version: "0.3"}
	req.Configuration.ReturnImmediately = true
	req.Configuration.HistoryLength = new(int32(3))
	req.Configuration.IfGenerationMatch = new(int64(3))
	req.Configuration.TaskPushNotificationConfig = &a2a.TaskPushNotificationConfig{URL: "https://example.com"}
	if DigestOf(req) != DigestOf(whole()) {
		t.Error("the digest is another one")
	}
	bare, empty := send("x"), send("x")
	empty.Configuration = &a2a.SendMessageConfiguration{}
	empty.Metadata, empty.Message.Metadata = a2a.JSON(`{ }`), a2a.JSON(`{}`)
	empty.Message.Extensions = []string{}
	if DigestOf(bare) != DigestOf(empty) {
		t.Error("empty and absent differ")
	}
}

// Values that are the same however they are spelt, and what protocol buffers
// make of them.
func TestDigestOfJSON(t *testing.T) {
	of := func(j string) Digest {
		req := send("")
		req.Message.Parts = []*a2a.Part{a2a.DataPart(a2a.JSON(j))}
		return DigestOf(req)
	}
	for _, same := range [][]string{
		{`{"a":1,"b":2}`, `{"b":2,"a":1}`, ` { "b" : 2.0, "a" : 1e0 } `, `{"a":3,"b":2,"a":1}`, `{"\u0061":1,"b":20e-1}`},
		{`9007199254740993`, `9007199254740992`, `9.007199254740992e15`},
		{`1e999`, `1.7976931348623157e308`, `2e308`},
		{`-1e999`, `-1.7976931348623157e308`},
		{`0`, `-0`, `0.0`, `1e-999`},
		{`"\ud800"`, `"\ufffd"`},
		{`"é"`, `"\u00e9"`},
		{`null`, ``, ` null`},
		{`{"x":{"b":[1,{"d":1,"c":2}],"a":null}}`, `{"x":{"a":null,"b":[1.0,{"c":2,"d":1}]}}`},
	} {
		for _, j := range same[1:] {
			if of(j) != of(same[0]) {
				t.Errorf("%s and %s differ", j, same[0])
			}
		}
	}
	seen := map[Digest]string{}
	for _, j := range []string{`{}`, `[]`, `""`, `null`, `0`, `false`, `true`, `1`, `"1"`, `[1]`, `[[1]]`, `{"a":null}`, `[null]`, `[[],[]]`, `[[[]]]`,
		`["a","b"]`, `["ab"]`, `{"a":"b"}`, `["a",["b"]]`, `[["a"],"b"]`, `not JSON`, `not`} {
		d := of(j)
		if other, ok := seen[d]; ok {
			t.Errorf("%s has the digest of %s", j, other)
		}
		seen[d] = j
	}
}

// overGRPC returns a request as it comes over gRPC.
func overGRPC(req *a2a.SendMessageRequest) (*a2a.SendMessageRequest, error) {
	g := dialect.GRPCOf(dialect.V10)
	m, err := g.Request(dialect.SendMessage, req)
	if err != nil {
		return nil, err
	}
	over, err := g.DecodeRequest(dialect.SendMessage, m)
	if err != nil {
		return nil, err
	}
	return over.(*a2a.SendMessageRequest), nil
}

// The same message over gRPC is the same.
func TestDigestOverAnotherBinding(t *testing.T) {
	reqs := []*a2a.SendMessageRequest{whole(), send("x"), send("")}
	reqs[2].Message.Parts = []*a2a.Part{
		{Kind: a2a.PartText, Text: "text \u2028 \"x\"", Metadata: a2a.JSON(`{"big":12345678901234567890}`), MediaType: "text/plain"},
		a2a.RawPart([]byte{0, 255, 128}, "image/png", "x.png"),
		a2a.RawPart(make([]byte, 32<<10), "", ""),
		a2a.URLPart("https://example.com/?a=b&c", "", "f"),
		a2a.DataPart(a2a.JSON(`{"b":[1.50,null],"a":{"deep":` + strings.Repeat("[", 50) + strings.Repeat("]", 50) + `}}`)),
		a2a.DataPart(a2a.JSON(`null`)),
	}
	for i, req := range reqs {
		over, err := overGRPC(req)
		if err != nil {
			t.Fatal(err)
		}
		if DigestOf(over) != DigestOf(req) {
			t.Errorf("request %d has another digest", i)
		}
	}
}

// FuzzDigest re-encodes values as another binding would: keys in another order,
// numbers as float64.
func FuzzDigest(f *testing.F) {
	for _, j := range []string{`{"b":[1,2.50,{"y":null,"x":"\ud83d\ude00"}],"a":1e2}`, `[1e400,-0.0,9007199254740993]`, `"\ud800\u0000"`, `{"a":1,"a":2}`} {
		f.Add(j)
	}
	f.Fuzz(func(t *testing.T, j string) {
		var req a2a.SendMessageRequest
		doc := fmt.Sprintf(`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":%s}]}}`, j)
		if req.UnmarshalJSON([]byte(doc)) != nil || req.Validate() != nil || len(req.Message.Parts) != 1 {
			return
		}
		if over, err := overGRPC(&req); err == nil && DigestOf(over) != DigestOf(&req) {
			t.Errorf("%s has another digest over gRPC", j)
		}
		var v any
		if err := json.Unmarshal(req.Message.Parts[0].Data, &v); err != nil {
			return // a number beyond float64
		}
		again, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		other := req
		m := *req.Message
		m.Parts = []*a2a.Part{a2a.DataPart(again)}
		other.Message = &m
		if DigestOf(&req) != DigestOf(&other) {
			t.Errorf("%s and %s differ", j, again)
		}
	})
}

// A document is summed up without becoming a tree of fifty times its size: many
// may come at once.
func TestDigestTakesLittleMemory(t *testing.T) {
	const size = 1 << 20
	for _, element := range []string{`{}`, `[]`, `0`, `""`, `{"a":[]}`, `[[[[{}]]]]`} {
		req := send("")
		req.Message.Parts = []*a2a.Part{a2a.DataPart(a2a.JSON("[" + strings.Repeat(element+",", size/(len(element)+1)) + "0]"))}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		DigestOf(req)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 16*size {
			t.Errorf("%s: %d bytes were allocated", element, n)
		}
	}
}
