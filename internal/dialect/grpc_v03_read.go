package dialect

import (
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/pb/v03"
)

// sendOfV03PB reads a message to send, if it is text without metadata. It returns nil
// for anything else and for mistakes: these go through JSON, because the codec knows
// each form and each error.
func sendOfV03PB(m *v03.SendMessageRequest) *a2a.SendMessageRequest {
	in := m.GetRequest()
	if m.Metadata != nil || in == nil || in.Metadata != nil || in.Role < 0 || in.Role > v03.Role_ROLE_AGENT || len(in.Content) > a2a.MaxParts {
		return nil
	}
	msg := &a2a.Message{
		MessageID: in.MessageId, ContextID: in.ContextId, TaskID: in.TaskId, Role: a2a.Role(in.Role),
		Extensions: in.Extensions, ReferenceTaskIDs: in.ReferenceTaskIds,
	}
	for _, p := range in.Content {
		text, ok := p.GetPart().(*v03.Part_Text)
		if !ok || p.Metadata != nil {
			return nil
		}
		msg.Parts = append(msg.Parts, &a2a.Part{Kind: a2a.PartText, Text: text.Text})
	}
	r := &a2a.SendMessageRequest{Message: msg, Legacy: &a2a.Legacy{Version: "0.3"}}
	if c := m.Configuration; c != nil {
		if c.PushNotification != nil {
			return nil
		}
		r.Configuration = &a2a.SendMessageConfiguration{AcceptedOutputModes: c.AcceptedOutputModes, ReturnImmediately: !c.Blocking}
		if n := c.HistoryLength; n != 0 {
			r.Configuration.HistoryLength = &n
		}
	}
	return r
}
