package output

import (
	"encoding/json"
	"strconv"

	"github.com/parley-a2a/parley/a2a"
)

func (p *Text) Push(c *a2a.TaskPushNotificationConfig) error {
	p.config(c)
	return p.out.Flush()
}

// config shows a webhook. Its token is a secret of the receiver, and only shown with --verbose.
func (p *Text) config(c *a2a.TaskPushNotificationConfig) {
	f := p.out.Field
	f("Task ID", c.TaskID)
	f("Config ID", c.ID)
	f("URL", c.URL)
	switch {
	case p.verbose:
		f("Token", c.Token.Reveal())
	case c.Token != "":
		f("Token", "set")
	}
	if c.Authentication != nil {
		f("Authentication", c.Authentication.Scheme)
	}
	f("Source", c.Source)
}

func (p *Text) Pushes(r *a2a.ListTaskPushNotificationConfigsResponse) error {
	for _, c := range r.Configs {
		p.config(c)
		p.out.Blank()
	}
	p.out.Field("Configs", strconv.Itoa(len(r.Configs)))
	p.out.Field("Next page token", r.NextPageToken)
	return p.out.Flush()
}

func (p *Text) PushDeleted(taskID, id string) error {
	p.out.Field("Task ID", taskID)
	p.out.Field("Deleted config ID", id)
	return p.out.Flush()
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

func (p *JSON) Push(c *a2a.TaskPushNotificationConfig) error { return p.write(sourced{c}) }

func (p *JSON) Pushes(r *a2a.ListTaskPushNotificationConfigsResponse) error {
	configs := make([]json.RawMessage, len(r.Configs))
	for i, c := range r.Configs {
		configs[i] = sourced{c}.AppendJSON(nil)
		if !p.Lines {
			continue
		}
		if err := p.writeDoc(configs[i]); err != nil {
			return err
		}
	}
	if p.Lines {
		return nil
	}
	return p.Doc(struct {
		Configs       []json.RawMessage `json:"configs,omitempty"`
		NextPageToken string            `json:"nextPageToken,omitempty"`
	}{configs, r.NextPageToken}, nil)
}

// PushDeleted prints the protocol's answer, which is empty.
func (p *JSON) PushDeleted(string, string) error { return p.writeDoc([]byte("{}")) }
