package output

import (
	"encoding/json"
	"strconv"

	"github.com/parley-a2a/parley/a2a"
)

// Push shows a webhook.
func Push(p Printer, c *a2a.TaskPushNotificationConfig) error {
	return p.Doc(sourced{c}, func(out *Writer) { pushFields(out, c) })
}

// pushFields shows a webhook. Its token is a secret of the receiver, and only shown with
// --verbose.
func pushFields(out *Writer, c *a2a.TaskPushNotificationConfig) {
	f := out.Field
	f("Task ID", c.TaskID)
	f("Config ID", c.ID)
	f("URL", c.URL)
	switch {
	case out.verbose:
		f("Token", c.Token.Reveal())
	case c.Token != "":
		f("Token", "set")
	}
	if c.Authentication != nil {
		f("Authentication", c.Authentication.Scheme)
	}
	f("Source", c.Source)
}

// Pushes shows a list of webhooks.
func Pushes(p Printer, r *a2a.ListTaskPushNotificationConfigsResponse) error {
	if lines, ok := p.(*JSON); ok && lines.Lines {
		for _, c := range r.Configs {
			if err := Push(p, c); err != nil {
				return err
			}
		}
		return nil
	}
	configs := make([]json.RawMessage, len(r.Configs))
	for i, c := range r.Configs {
		configs[i] = sourced{c}.AppendJSON(nil)
	}
	return p.Doc(struct {
		Configs       []json.RawMessage `json:"configs,omitempty"`
		NextPageToken string            `json:"nextPageToken,omitempty"`
	}{configs, r.NextPageToken}, func(out *Writer) {
		for _, c := range r.Configs {
			pushFields(out, c)
			out.Blank()
		}
		out.Field("Configs", strconv.Itoa(len(r.Configs)))
		out.Field("Next page token", r.NextPageToken)
	})
}

// PushDeleted shows that a webhook was deleted; the protocol's answer is empty.
func PushDeleted(p Printer, taskID, id string) error {
	return p.Doc(struct{}{}, func(out *Writer) {
		out.Field("Task ID", taskID)
		out.Field("Deleted config ID", id)
	})
}

// sourced is a webhook in the protocol's form, with its source added.
type sourced struct {
	*a2a.TaskPushNotificationConfig
}

func (c sourced) AppendJSON(b []byte) []byte {
	b = c.TaskPushNotificationConfig.AppendJSON(b)
	if c.Source == "" {
		return b
	}
	return append(strconv.AppendQuote(append(b[:len(b)-1], `,"source":`...), c.Source), '}') // url is always present
}
