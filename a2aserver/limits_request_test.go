package a2aserver

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
)

// nest returns a JSON value of n levels.
func nest(n int) a2a.JSON {
	return a2a.JSON(strings.Repeat(`{"a":[`, n/2) + strings.Repeat("[", n%2) + `"]}{["` + strings.Repeat("]", n%2) + strings.Repeat("]}", n/2))
}

func TestRequestLimitsOnEveryWire(t *testing.T) {
	addr, _ := limitedPort(t, agreeable{}, &Options{Limits: Limits{Parts: 3, PartBytes: 100, Depth: 10}})
	text := func(n int) *a2a.Part { return a2a.TextPart(strings.Repeat("x", n)) }
	data := func(n int) *a2a.Part { return &a2a.Part{Kind: a2a.PartData, Data: nest(n)} }
	everyWire(t, addr, func(t *testing.T, wire string, c *a2aclient.Client) {
		for name, tt := range map[string]struct {
			parts []*a2a.Part
			meta  a2a.JSON
			own   a2a.JSON // of the request
			code  a2a.Code // 0 if it is taken
			field string
		}{
			"all right":       {parts: []*a2a.Part{text(100), data(10), text(1)}, meta: nest(9)},
			"too many":        {parts: []*a2a.Part{text(1), text(1), text(1), text(1)}, code: a2a.CodeInvalidParams, field: "message.parts"},
			"too large":       {parts: []*a2a.Part{text(1), text(101)}, code: a2a.CodeTooLarge, field: "message.parts[1]"},
			"raw":             {parts: []*a2a.Part{a2a.RawPart(make([]byte, 101), "", "")}, code: a2a.CodeTooLarge, field: "message.parts[0]"},
			"too deep":        {parts: []*a2a.Part{text(1), text(1), data(11)}, code: a2a.CodeInvalidParams, field: "message.parts[2].data"},
			"metadata":        {parts: []*a2a.Part{text(1)}, meta: a2a.JSON(`{"m":` + string(nest(10)) + `}`), code: a2a.CodeInvalidParams, field: "message.metadata"},
			"of the request":  {parts: []*a2a.Part{text(1)}, own: a2a.JSON(`{"m":` + string(nest(10)) + `}`), code: a2a.CodeInvalidParams, field: "metadata"},
			"beyond all":      {parts: []*a2a.Part{data(99)}, code: a2a.CodeInvalidParams},
			"far beyond all":  {parts: []*a2a.Part{data(3000)}, code: a2a.CodeInvalidParams},
			"text of bracket": {parts: []*a2a.Part{{Kind: a2a.PartData, Data: a2a.JSON(`"` + strings.Repeat(`[{\"`, 20) + `"`)}}},
		} {
			_, err := c.SendMessage(t.Context(), &a2a.SendMessageRequest{Metadata: tt.own, Message: &a2a.Message{
				MessageID: "m", Role: a2a.RoleUser, Parts: tt.parts, Metadata: tt.meta,
			}})
			var e *a2a.Error
			switch {
			case strings.HasPrefix(wire, "0.1") && (name == "all right" || tt.own != nil):
				// It has other places for metadata.
			case tt.code == 0 && err != nil:
				t.Errorf("%s, %s: %v", wire, name, err)
			case tt.code != 0 && (!errors.As(err, &e) || e.Code != tt.code || !e.Peer):
				t.Errorf("%s, %s: %v", wire, name, err)
			case tt.code != 0 && len(e.Fields) > 0 && !strings.HasPrefix(e.Fields[0].Field, tt.field):
				t.Errorf("%s, %s: the field is %v, not %s", wire, name, e.Fields, tt.field)
			case tt.code != 0 && !strings.Contains(e.Message, tt.field):
				t.Errorf("%s, %s: the message does not name %s: %v", wire, name, tt.field, e.Message)
			}
		}
	})
}

func TestHopsOnEveryWire(t *testing.T) {
	var got int
	svc := &fake{send: func(ctx context.Context, _ *a2a.SendMessageRequest) (*a2a.SendMessageResponse, error) {
		got = a2a.CallerFrom(ctx).Hops
		return &a2a.SendMessageResponse{Task: doneTask()}, nil
	}}
	addr, s := limitedPort(t, svc, &Options{Limits: Limits{Hops: 3}})
	everyWire(t, addr, func(t *testing.T, wire string, c *a2aclient.Client) {
		req := &a2a.SendMessageRequest{Message: &a2a.Message{MessageID: "m", Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart("x")}}}
		if _, err := c.SendMessage(t.Context(), req); err != nil || got != 0 {
			t.Errorf("%s from outside: %d hops, %v", wire, got, err)
		}
		for hops := range 5 { // the hops of the call to the agent that now calls
			_, err := c.SendMessage(a2a.WithCaller(t.Context(), a2a.Caller{Subject: "u", Hops: hops}), req)
			if hops < 3 && (err != nil || got != hops+1) || hops >= 3 && !errors.Is(err, &a2a.Error{Code: a2a.CodeLoop}) {
				t.Errorf("%s: an agent with %d hops: %d, %v", wire, hops, got, err)
			}
		}
	})
	for value, want := range map[string]int{"3": 200, "4": 508, "x": 400, "-1": 400, "99999999999999999999999": 508} {
		if w := do(s, "GET", "/tasks/t1", "", "Agent-Hops: "+value); w.Code != want {
			t.Errorf("Agent-Hops: %s is HTTP %d: %s", value, w.Code, w.Body)
		}
	}
	unlimited := New(svc, testCard(), &Options{Limits: Limits{Hops: -1}})
	if w := do(unlimited, "GET", "/tasks/t1", "", "Agent-Hops: 999"); w.Code != 200 {
		t.Errorf("without a limit: HTTP %d: %s", w.Code, w.Body)
	}
}

// Thousands of extensions fit into a header; they are not all compared with each
// other.
func TestExtensionsOfARequestAreBounded(t *testing.T) {
	var all []string
	for i := range 2 * maxExtensions {
		all = append(all, "urn:"+strconv.Itoa(i), "urn:0")
	}
	h := http.Header{"A2a-Extensions": {strings.Join(all, ", ")}}
	if got := requestedExtensions(h); len(got) != maxExtensions || got[maxExtensions-1] != "urn:99" {
		t.Errorf("%d are taken: %q", len(got), got)
	}
}
