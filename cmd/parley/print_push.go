package main

import (
	"strconv"

	"github.com/parley-a2a/parley/a2a"
)

func (p *textPrinter) push(c *a2a.TaskPushNotificationConfig) error {
	p.config(c)
	return p.out.flush()
}

// config shows a webhook. Its token is a secret of the receiver's, and shown to
// who asks for everything.
func (p *textPrinter) config(c *a2a.TaskPushNotificationConfig) {
	f := p.out.field
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

func (p *textPrinter) pushes(r *a2a.ListTaskPushNotificationConfigsResponse) error {
	for _, c := range r.Configs {
		p.config(c)
		_ = p.out.w.WriteByte('\n')
	}
	p.out.field("Configs", strconv.Itoa(len(r.Configs)))
	p.out.field("Next page token", r.NextPageToken)
	return p.out.flush()
}

func (p *textPrinter) pushDeleted(taskID, id string) error {
	p.out.field("Task ID", taskID)
	p.out.field("Deleted config ID", id)
	return p.out.flush()
}

// sourced is a webhook as the protocol has it, and its source beside that.
type sourced struct {
	*a2a.TaskPushNotificationConfig
}

func (c sourced) AppendJSON(b []byte) []byte {
	b = c.TaskPushNotificationConfig.AppendJSON(b)
	if c.Source == "" {
		return b
	}
	return append(strconv.AppendQuote(append(b[:len(b)-1], `,"source":`...), c.Source), '}') // url is always there
}

func (p *jsonPrinter) push(c *a2a.TaskPushNotificationConfig) error { return p.write(sourced{c}) }

func (p *jsonPrinter) pushes(r *a2a.ListTaskPushNotificationConfigsResponse) error {
	if !p.lines {
		return p.write(r)
	}
	for _, c := range r.Configs {
		if err := p.write(c); err != nil {
			return err
		}
	}
	return nil
}

// pushDeleted prints what the protocol answers, which is empty.
func (p *jsonPrinter) pushDeleted(string, string) error { return p.writeDoc([]byte("{}")) }
