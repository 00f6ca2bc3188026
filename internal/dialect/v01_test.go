package dialect

import (
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

// v01Decode reads the params of a request of 0.1.
func v01Decode[R any](t *testing.T, op Op, params string) R {
	t.Helper()
	req, err := v01Codec{}.DecodeRequest(op, []byte(params))
	if err != nil {
		t.Fatal(err)
	}
	return req.(R)
}

func TestV01SendNamesTheTask(t *testing.T) {
	req := v01Decode[*a2a.SendMessageRequest](t, SendMessage,
		`{"id":"t1","sessionId":"s1","message":{"role":"user","parts":[{"type":"text","text":"hi"}],"metadata":{"a":1}},"metadata":{"b":[ 2 ]}}`)
	m := req.Message
	if m.TaskID != "t1" || m.ContextID != "s1" || m.Role != a2a.RoleUser || m.Text() != "hi" || string(m.Metadata) != `{"a":1}` || string(req.Metadata) != `{"b":[ 2 ]}` {
		t.Errorf("read as %s", req.AppendJSON(nil))
	}
	if want := (a2a.Legacy{Version: "0.1", CreateByID: true, Reopen: true, TaskOnly: true}); *req.Legacy != want {
		t.Errorf("legacy %+v", req.Legacy)
	}
	if err := req.Validate(); err != nil {
		t.Error(err)
	}
	again := v01Decode[*a2a.SendMessageRequest](t, SendMessage, `{"id":"t1","message":{"role":"user","parts":[{"type":"text","text":"hi"}]}}`)
	if m.MessageID == "" || again.Message.MessageID == m.MessageID {
		t.Errorf("two messages have the ids %q and %q", m.MessageID, again.Message.MessageID)
	}
	if n := req.Configuration.HistoryLength; n == nil || *n != 0 || req.Configuration.ReturnImmediately {
		t.Errorf("configuration %+v", req.Configuration)
	}
}
