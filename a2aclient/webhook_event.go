package a2aclient

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
)

// read decodes the body of a delivery by its version: an event of a stream (1.0, and
// some servers before), or a task (all others).
func (d *WebhookDelivery) read(body []byte) error {
	var members struct {
		Kind, ID, TaskID                            string
		Task, Message, StatusUpdate, ArtifactUpdate json.RawMessage
		Status                                      *struct{ State string }
	}
	if err := json.Unmarshal(body, &members); err != nil {
		return err
	}
	wrapped := members.Task != nil || members.StatusUpdate != nil || members.ArtifactUpdate != nil || members.Message != nil
	bare := members.ID != "" && members.Status != nil && members.TaskID == ""
	switch {
	case members.Kind == "" && wrapped:
		return d.readEvent(dialect.V10, body)
	case members.Kind != "" || !bare:
		return d.readEvent(dialect.V03, body)
	case strings.HasPrefix(members.Status.State, "TASK_STATE_"):
		return d.readTask(dialect.V10, members.ID, body)
	}
	return d.readTask(dialect.V01, members.ID, body)
}

func (d *WebhookDelivery) readEvent(version dialect.Dialect, body []byte) error {
	els, err := dialect.CodecOf(version, a2a.BindingJSONRPC).DecodeEvent(dialect.SubscribeToTask, &a2a.SubscribeToTaskRequest{}, body)
	if err != nil {
		return err
	}
	if len(els) != 1 {
		return errors.New("no event")
	}
	el := els[0]
	d.TaskID = el.TaskID()
	if el.Task != nil && version == dialect.V03 { // this version posts the whole task
		d.Task = el.Task
	} else {
		d.Event = el
	}
	if el.Message != nil {
		return nil // a message may have no task
	}
	return d.named()
}

func (d *WebhookDelivery) readTask(version dialect.Dialect, id string, body []byte) error {
	res, err := dialect.CodecOf(version, a2a.BindingJSONRPC).DecodeResult(dialect.GetTask, &a2a.GetTaskRequest{ID: id}, body)
	if err != nil {
		return err
	}
	d.Task = res.(*a2a.Task)
	d.TaskID = d.Task.ID
	return d.named()
}

func (d *WebhookDelivery) named() error {
	if d.TaskID == "" {
		return errors.New("no task id")
	}
	return nil
}
