package dialect

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/pb/v03"
	"google.golang.org/protobuf/proto"
)

// withoutJSON takes free JSON, and what 0.3 keeps in it, out of most values, so
// that they are made directly.
func withoutJSON(r *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			withoutJSON(r, v.Elem())
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[a2a.JSON]() {
			v.SetZero()
			return
		}
		for i := range v.Len() {
			withoutJSON(r, v.Index(i))
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				withoutJSON(r, v.Field(i))
			}
		}
		if p, ok := v.Addr().Interface().(*a2a.Part); ok {
			if p.Kind == a2a.PartData {
				p.Kind = a2a.PartText
			}
			if p.Kind == a2a.PartText && r.IntN(20) > 0 {
				p.MediaType = ""
			}
		}
	}
}

// A message that is made directly equals one that went through JSON.
func TestV03MessagesAreTheSameWithoutJSON(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	same := func(what any, got, want proto.Message) {
		t.Helper()
		if !proto.Equal(onWire(t, got), onWire(t, want)) {
			t.Fatalf("%+v:\n%v\nwith JSON between:\n%v", what, got, want)
		}
	}
	viaJSON := func(doc []byte, m proto.Message) proto.Message {
		if err := fromJSON(doc, m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	for range many(1500) {
		el, task := new(a2a.StreamResponse), new(a2a.Task)
		random(r, reflect.ValueOf(el).Elem(), 6)
		random(r, reflect.ValueOf(task).Elem(), 6)
		events := v03Proto.Events(SendStreamingMessage, nil)
		doc, _ := events.Append(nil, el, 0)
		if m, _ := v03ElementPB(el, events.Ended()); m != nil {
			same(el, m, viaJSON(doc, new(v03.StreamResponse)))
		} else if len(doc) > 0 {
			t.Fatalf("%s is not made directly", doc)
		}
		for _, res := range []any{task, &a2a.SendMessageResponse{Task: task}, &a2a.SendMessageResponse{Message: el.Message}} {
			op, into := SendMessage, proto.Message(new(v03.SendMessageResponse))
			if res == any(task) {
				op, into = GetTask, new(v03.Task)
			}
			got, _ := v03ResultPB(res)
			same(res, got, viaJSON(v03Proto.AppendResult(nil, op, nil, res), into))
		}
	}
	// What package a2a does not let through becomes empty, as in 1.0.
	for _, odd := range []*a2a.Task{
		{Status: a2a.TaskStatus{State: 99}}, {Status: a2a.TaskStatus{Timestamp: time.Date(12345, 1, 1, 0, 0, 0, 0, time.UTC)}},
		{History: []*a2a.Message{{Role: 7}}}, {Metadata: a2a.JSON(`null`)}, {Metadata: a2a.JSON(`{`)},
		{Artifacts: []*a2a.Artifact{{Parts: []*a2a.Part{{Kind: a2a.PartData, Data: a2a.JSON(`{1}`)}}}}},
	} {
		m, err := v03ResultPB(odd)
		if err != nil {
			t.Fatal(err)
		}
		if got := onWire(t, m).(*v03.Task); len(got.GetMetadata().GetFields()) > 0 || len(got.Artifacts) != len(odd.Artifacts) {
			t.Errorf("%+v becomes %v", odd, got)
		}
	}
	for _, doc := range []string{
		`{}`, `{"a":1e999,"b":-1e999,"c":12345678901234567890,"d":-0,"e":1e-400}`, `{"a":1,"a":2}`, `{"a":"\ud800","\udc00":null}`,
		`{"a":[[],{},null,true,"\u0000"],"":{"":{}}}`, "{\"a\":\"\u2028ä\"} ",
	} {
		for _, p := range []*a2a.Part{
			{Kind: a2a.PartText, Text: "a", Metadata: a2a.JSON(doc)}, {Kind: a2a.PartText, Text: "a", MediaType: "text/x", Metadata: a2a.JSON(doc)},
			{Kind: a2a.PartData, Data: a2a.JSON(doc)}, {Kind: a2a.PartData, Data: a2a.JSON(`[` + doc + `,5]`), MediaType: "a/b", Metadata: a2a.JSON(doc)},
			{Kind: a2a.PartRaw, Raw: []byte("x\xff"), Filename: "f\xff", Metadata: a2a.JSON(doc)}, {Kind: a2a.PartURL, URL: "u", Metadata: a2a.JSON(doc)}, nil,
		} {
			task := &a2a.Task{ID: "t\xff", Metadata: a2a.JSON(doc), Artifacts: []*a2a.Artifact{nil, {Parts: []*a2a.Part{p}}}}
			got, _ := v03ResultPB(task)
			same(task, got, viaJSON(v03Proto.AppendResult(nil, GetTask, nil, task), new(v03.Task)))
		}
	}
	if m, _ := v03ResultPB((*a2a.Task)(nil)); !proto.Equal(m, &v03.Task{Status: new(v03.TaskStatus)}) {
		t.Errorf("made of nothing: %v", m)
	}
}

// A request that is read directly is what it is with JSON between, and whatever is
// wrong is not read directly.
func FuzzV03SendWithoutJSON(f *testing.F) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 50 {
		req := new(a2a.SendMessageRequest)
		random(r, reflect.ValueOf(req).Elem(), 6)
		withoutJSON(r, reflect.ValueOf(req))
		if m, err := (v03GRPC{}).Request(SendMessage, req); err == nil {
			raw, _ := proto.Marshal(m)
			f.Add(raw)
		}
	}
	for _, m := range []*v03.SendMessageRequest{
		{}, {Request: &v03.Message{}}, {Request: &v03.Message{Role: 9, Content: []*v03.Part{{Part: &v03.Part_Text{}}}}},
		{Request: &v03.Message{MessageId: "m", Role: 1, Content: []*v03.Part{{Part: &v03.Part_Text{Text: "a"}}, {}}}},
		{Request: &v03.Message{MessageId: "m", Role: 1, Content: []*v03.Part{{Part: &v03.Part_Text{Text: ""}}}}, Configuration: &v03.SendMessageConfiguration{HistoryLength: -3}},
		{Request: &v03.Message{Extensions: []string{"", "a"}}, Configuration: &v03.SendMessageConfiguration{Blocking: true, HistoryLength: 4, AcceptedOutputModes: []string{"x"}}},
	} {
		raw, _ := proto.Marshal(m)
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m := new(v03.SendMessageRequest)
		if proto.Unmarshal(raw, m) != nil {
			return
		}
		got := sendOfV03PB(m)
		if got == nil {
			return
		}
		doc, err := toJSON(m)
		if err != nil {
			t.Fatal(err)
		}
		want, err := v03Proto.DecodeRequest(SendMessage, doc)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%v:\n%+v %+v\nwith JSON between:\n%+v, %v", m, got, got.Message, want, err)
		}
	})
}
