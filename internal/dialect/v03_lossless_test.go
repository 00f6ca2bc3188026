package dialect

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/parley-a2a/parley/a2a"
)

var v03Forms = map[string]v03Codec{"TS form": {}, "proto form": {formProto}}

// lossy removes from a value what v03Codec says that it cannot carry.
type lossy struct{ proto bool }

func (l lossy) value(v any) {
	switch v := v.(type) {
	case *a2a.SendMessageRequest:
		v.Tenant, v.Legacy = "", &a2a.Legacy{Version: "0.3"}
		v.IdempotencyKey, v.After = "", 0 // travel as headers
		l.message(v.Message)
		if v.Configuration == nil && l.proto {
			v.Configuration = new(a2a.SendMessageConfiguration)
		}
		if c := v.Configuration; c != nil {
			c.IfGenerationMatch, c.TimelineLength = nil, nil
			c.HistoryLength = positiveOnly(c.HistoryLength)
			if c.TaskPushNotificationConfig != nil {
				l.value(c.TaskPushNotificationConfig)
				c.TaskPushNotificationConfig.TaskID = ""
			}
		}
	case *a2a.GetTaskRequest:
		v.Tenant, v.CurrentGeneration, v.TimelineLength, v.HistoryLength = "", nil, nil, positiveOnly(v.HistoryLength)
	case *a2a.ListTasksRequest:
		v.Tenant, v.TimelineLength, v.HistoryLength = "", nil, positiveOnly(v.HistoryLength)
		if v.PageSize != nil && *v.PageSize == 0 {
			v.PageSize = nil
		}
	case *a2a.CancelTaskRequest:
		v.Tenant, v.Legacy = "", &a2a.Legacy{Version: "0.3", CanceledToo: true}
		if l.proto {
			v.Metadata = nil
		}
	case *a2a.SubscribeToTaskRequest:
		v.Tenant, v.Timeline, v.After, v.Legacy = "", false, 0, &a2a.Legacy{Version: "0.3", FinishedToo: true}
	case *a2a.TaskPushNotificationConfig:
		v.Tenant, v.ProtocolVersion, v.Legacy = "", "", nil
		if a := v.Authentication; a != nil && *a == (a2a.AuthenticationInfo{}) {
			v.Authentication = nil
		}
	case *a2a.GetTaskPushNotificationConfigRequest:
		v.Tenant, v.Legacy = "", &a2a.Legacy{Version: "0.3"}
	case *a2a.DeleteTaskPushNotificationConfigRequest:
		v.Tenant = ""
	case *a2a.ListTaskPushNotificationConfigsRequest:
		v.Tenant = ""
		if !l.proto {
			v.PageSize, v.PageToken = 0, ""
		}
	case *a2a.GetExtendedAgentCardRequest:
		v.Tenant = ""

	case *a2a.SendMessageResponse:
		l.task(v.Task)
		l.answer(v.Message)
	case *a2a.StreamResponse:
		v.Seq, v.MessageUpdate = 0, nil
		l.task(v.Task)
		l.answer(v.Message)
		if u := v.StatusUpdate; u != nil {
			u.Generation, u.Status.Elicitations = 0, nil
			l.answer(u.Status.Message)
		}
		if u := v.ArtifactUpdate; u != nil {
			u.Generation = 0
			if u.Artifact == nil {
				u.Artifact = new(a2a.Artifact)
			}
			l.artifact(u.Artifact)
		}
	case *a2a.Task:
		l.task(v)
	case *a2a.ListTasksResponse:
		for _, t := range v.Tasks {
			l.task(t)
		}
	case *a2a.ListTaskPushNotificationConfigsResponse:
		for _, c := range v.Configs {
			l.value(c)
		}
		if !l.proto {
			v.NextPageToken = ""
		}
	}
}

// request does the same as value, and also changes a webhook as a request does.
func (l lossy) request(v any) {
	l.value(v)
	if w, ok := v.(*a2a.TaskPushNotificationConfig); ok {
		w.Legacy = &a2a.Legacy{Version: "0.3"}
		if w.ID == "" {
			w.ID = w.TaskID
		}
	}
}

func positiveOnly(n *int32) *int32 {
	if n != nil && *n <= 0 {
		return nil
	}
	return n
}

func (l lossy) task(t *a2a.Task) {
	if t == nil {
		return
	}
	t.Generation, t.Timeline, t.Elicitations, t.Status.Elicitations, t.Version = 0, nil, nil, nil, ""
	l.answer(t.Status.Message)
	for _, m := range t.History {
		l.message(m)
	}
	for _, a := range t.Artifacts {
		l.artifact(a)
	}
}

func (l lossy) artifact(a *a2a.Artifact) {
	a.StartGeneration, a.EndGeneration = 0, 0
	l.parts(a.Parts)
}

func (l lossy) message(m *a2a.Message) {
	if m != nil {
		m.ElicitationIDs = nil
		l.parts(m.Parts)
	}
}

func (l lossy) answer(m *a2a.Message) {
	if m != nil && m.Role == a2a.RoleUnspecified {
		m.Role = a2a.RoleAgent
	}
	l.message(m)
}

func (l lossy) parts(parts []*a2a.Part) {
	for _, p := range parts {
		if p.Kind == a2a.PartRaw || p.Kind == a2a.PartURL {
			continue
		}
		if p.Kind == 0 {
			p.Kind = a2a.PartText
		}
		if object := bytes.HasPrefix(bytes.TrimSpace(p.Data), []byte("{")); p.Kind == a2a.PartData && !object {
			p.Metadata = withoutMember(withMember(p.Metadata, compatData, []byte("true")), compatData)
		}
		p.Metadata = mimeMetadata(p.Metadata, p.MediaType)
		p.MediaType, p.Filename = "", ""
	}
}

// twice returns two equal random values of v's type.
func twice(seed uint64, v any) (a, b any) {
	for _, p := range []*any{&a, &b} {
		x := reflect.New(reflect.TypeOf(v).Elem())
		random(rand.New(rand.NewPCG(seed, 5)), x.Elem(), 6)
		*p = x.Interface()
	}
	return a, b
}

func v03Diff(want, got any) string { return cmp.Diff(want, got, sameJSON, cmpopts.EquateEmpty()) }

// Every value of package a2a is read back as it was, except for the losses that
// v03Codec lists.
func TestV03CarriesEverything(t *testing.T) {
	for form, c := range v03Forms {
		t.Run(form, func(t *testing.T) {
			l := lossy{c.form == formProto}
			for seed := range uint64(many(300)) {
				for i := range Operations {
					op := Operations[i].Op
					in, want := twice(seed, NewRequest(op))
					if w, ok := in.(*a2a.DeleteTaskPushNotificationConfigRequest); ok && w.ID == "" {
						continue // which is refused
					}
					l.request(want)
					doc := c.AppendRequest(nil, op, in)
					got, err := c.DecodeRequest(op, doc)
					if err != nil {
						t.Fatalf("%s: %v\n%s", op, err, doc)
					}
					if d := v03Diff(want, got); d != "" {
						t.Fatalf("%s (-want +come):\n%s\n%s", op, d, doc)
					}
					v03Results(t, c, op, seed)
				}
			}
		})
	}
}

func v03Results(t *testing.T, c v03Codec, op Op, seed uint64) {
	t.Helper()
	req := NewRequest(op)
	if NewResult(op) == nil {
		if doc := c.AppendResult(nil, op, req, nil); !json.Valid(doc) {
			t.Fatalf("%s: %q", op, doc)
		}
		return
	}
	in, want := twice(seed, NewResult(op))
	lossy{c.form == formProto}.value(want)
	var doc []byte
	var got any
	var err error
	if Get(op).Streams {
		el := in.(*a2a.StreamResponse)
		doc, _ = c.Events(op, req).Append(nil, el, 0)
		if len(doc) == 0 {
			if el.TaskID() != "" && el.MessageUpdate == nil { // of the 1.1 draft
				t.Fatalf("%v is not shown", el)
			}
			return
		}
		var els []*a2a.StreamResponse
		if els, err = c.DecodeEvent(op, req, doc); len(els) == 1 {
			got = els[0]
		}
	} else {
		if r, ok := in.(*a2a.SendMessageResponse); ok && r.Task == nil && r.Message == nil {
			return
		}
		if op == GetExtendedAgentCard {
			return // AppendCard lists what it loses
		}
		doc = c.AppendResult(nil, op, req, in)
		got, err = c.DecodeResult(op, req, doc)
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", op, err, doc)
	}
	if d := v03Diff(want, got); d != "" {
		t.Fatalf("%s (-want +come):\n%s\n%s", op, d, doc)
	}
}

// Requests of clients can be written and read again without a change.
func FuzzV03Request(f *testing.F) {
	v03Seeds(f, func(c v03Codec, op Op) []byte {
		in, _ := twice(7, NewRequest(op))
		return c.AppendRequest(nil, op, in)
	})
	f.Fuzz(func(t *testing.T, n uint8, proto bool, doc []byte) {
		c, op := v03Forms[map[bool]string{false: "TS form", true: "proto form"}[proto]], Operations[int(n)%len(Operations)].Op
		v, err := c.DecodeRequest(op, doc)
		if err != nil || v03Ambiguous(doc) {
			return
		}
		again, err := c.DecodeRequest(op, c.AppendRequest(nil, op, v))
		if err != nil {
			t.Fatal(err)
		}
		lossy{proto}.request(v)
		if d := v03Diff(v, again); d != "" {
			t.Fatalf("%s\n%s", d, c.AppendRequest(nil, op, v))
		}
	})
}

// The same for what servers answer.
func FuzzV03Answer(f *testing.F) {
	v03Seeds(f, func(c v03Codec, op Op) []byte {
		if NewResult(op) == nil {
			return []byte("null")
		}
		in, _ := twice(7, NewResult(op))
		if el, ok := in.(*a2a.StreamResponse); ok {
			doc, _ := c.Events(op, nil).Append(nil, el, 0)
			return doc
		}
		return c.AppendResult(nil, op, NewRequest(op), in)
	})
	f.Fuzz(func(t *testing.T, n uint8, proto bool, doc []byte) {
		if !json.Valid(doc) {
			return // refused before the codec
		}
		c, op := v03Forms[map[bool]string{false: "TS form", true: "proto form"}[proto]], Operations[int(n)%len(Operations)].Op
		req := NewRequest(op)
		var v, again any
		var err error
		var out []byte
		if Get(op).Streams {
			els, err := c.DecodeEvent(op, req, doc)
			if err != nil || len(els) == 0 || v03Ambiguous(doc) {
				return
			}
			v = els[0]
			out, _ = c.Events(op, req).Append(nil, els[0], 0)
			if els, err = c.DecodeEvent(op, req, out); err != nil || len(els) != 1 {
				t.Fatalf("%v\n%s", err, out)
			}
			again = els[0]
		} else {
			if v, err = c.DecodeResult(op, req, doc); err != nil || v == nil || v03Ambiguous(doc) || op == GetExtendedAgentCard {
				return
			}
			out = c.AppendResult(nil, op, req, v)
			if again, err = c.DecodeResult(op, req, out); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
		lossy{proto}.value(v)
		if d := v03Diff(v, again); d != "" {
			t.Fatalf("%s\n%s", d, out)
		}
	})
}

// v03Ambiguous reports whether a document may have a file with another layer of
// base64 in it, or an id that looks like a name.
func v03Ambiguous(doc []byte) bool {
	return bytes.Count(doc, []byte("pushNotificationConfigs")) > 1 ||
		bytes.Contains(doc, []byte("ile")) && bytes.Contains(doc, []byte("ytes")) || bytes.Contains(doc, []byte(`\u`))
}

func v03Seeds(f *testing.F, doc func(c v03Codec, op Op) []byte) {
	for _, c := range v03Forms {
		for i := range Operations {
			f.Add(uint8(i), c.form == formProto, doc(c, Operations[i].Op))
		}
	}
}
