package a2a

import (
	"strings"
	"testing"
)

// Members that a later version adds to an answer do not make the rest unreadable, and
// stay in their places.
func TestAnswersKeepWhatIsUnknown(t *testing.T) {
	const doc = `{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED","mood":"good"},` +
		`"artifacts":[{"artifactId":"a","parts":[{"text":"x","tone":1},{"hologram":{"a":[1]}},{"text":"a","data":1}],"seal":"s"}],` +
		`"history":[{"messageId":"m","role":"ROLE_USER","parts":[{"text":"q"}],"via":"p"}],"future":{"x":1},"more":[2]}`
	var task Task
	if err := UnmarshalAnswer([]byte(doc), &task); err != nil {
		t.Fatal(err)
	}
	if got := string(task.AppendJSON(nil)); got != doc {
		t.Errorf("got  %s\nwant %s", got, doc)
	}
	parts := task.Artifacts[0].Parts
	if parts[0].Kind != PartText || parts[1].Kind != PartUnknown || string(parts[1].Data) != `{"hologram":{"a":[1]}}` || parts[2].Kind != PartUnknown {
		t.Errorf("%+v", parts)
	}
	if string(*task.Unknown) != `{"future":{"x":1},"more":[2]}` {
		t.Errorf("%s", *task.Unknown)
	}
	stream := `{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"hologram":1}]},"color":"red"}}`
	var el StreamResponse
	if err := UnmarshalAnswer([]byte(stream), &el); err != nil || string(el.AppendJSON(nil)) != stream {
		t.Errorf("%s, %v", el.AppendJSON(nil), err)
	}

	for doc, v := range map[string]interface {
		UnmarshalJSON([]byte) error
		AppendJSON([]byte) []byte
	}{
		`{"task":{"id":"t","status":{"state":"TASK_STATE_WORKING"}},"cost":3}`:                                                                                                new(SendMessageResponse),
		`{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}},"cost":3}`:                                                                    new(StreamResponse),
		`{"tasks":[],"nextPageToken":"","pageSize":50,"totalSize":0,"cost":3}`:                                                                                                new(ListTasksResponse),
		`{"configs":[{"id":"i","taskId":"t","url":"https://r.example","tone":1}],"cost":3}`:                                                                                   new(ListTaskPushNotificationConfigsResponse),
		`{"id":"i","taskId":"t","url":"https://r.example","tone":1}`:                                                                                                          new(TaskPushNotificationConfig),
		`{"name":"n","description":"d","supportedInterfaces":[],"version":"1","capabilities":{"warp":1},"defaultInputModes":[],"defaultOutputModes":[],"skills":[],"tier":1}`: new(AgentCard),
	} {
		if err := UnmarshalAnswer([]byte(doc), v); err != nil || string(v.AppendJSON(nil)) != doc {
			t.Errorf("got  %s, %v\nwant %s", v.AppendJSON(nil), err, doc)
		}
	}

	// An unknown value of an enumeration does not make the rest unreadable.
	var list ListTasksResponse
	err := UnmarshalAnswer([]byte(`{"tasks":[{"id":"a","status":{"state":"TASK_STATE_PAUSED"}},{"id":"b","status":{"state":99,"message":{"messageId":"m","role":"ROLE_TOOL","parts":[{"text":"x"}]}}},`+
		`{"id":"c","status":{"state":"TASK_STATE_COMPLETED"},"elicitations":[{"elicitationId":"e","state":"NEW"}]}]}`), &list)
	if err != nil || len(list.Tasks) != 3 || list.Tasks[0].Status.State != TaskStateUnspecified || list.Tasks[1].Status.State != TaskStateUnspecified ||
		list.Tasks[1].Status.Message.Role != RoleUnspecified || list.Tasks[2].Status.State != TaskStateCompleted || list.Tasks[2].Elicitations[0].State != 0 {
		t.Errorf("%s, %v", list.AppendJSON(nil), err)
	}
	if got := string(list.AppendJSON(nil)); !strings.Contains(got, `{"state":"TASK_STATE_PAUSED"}`) || !strings.Contains(got, `{"message":{"messageId":"m","parts":[{"text":"x"}],"role":"ROLE_TOOL"},"state":99}`) {
		t.Errorf("an unknown state or role is lost: %s", got)
	}
	if err := list.UnmarshalJSON([]byte(`{"tasks":[{"id":"a","status":{"state":"TASK_STATE_PAUSED"}}]}`)); err == nil {
		t.Error("a stored task of an unknown state is read")
	}

	// Everywhere else unknown values are errors as before.
	if err := new(Task).UnmarshalJSON([]byte(doc)); err == nil {
		t.Error("a stored task with an unknown part is read")
	}
	var plain Task
	if err := plain.UnmarshalJSON([]byte(`{"id":"t1","status":{"state":"TASK_STATE_WORKING"},"future":1}`)); err != nil || plain.Unknown != nil {
		t.Errorf("%v, %v", plain.Unknown, err)
	}
	sent := &SendMessageRequest{Message: UserMessage(&Part{Kind: PartUnknown, Data: JSON(`{"hologram":1}`)})}
	sent.Message.MessageID = "m"
	if sent.Validate() == nil {
		t.Error("an unknown part can be sent")
	}
}
