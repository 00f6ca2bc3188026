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

func (p *jsonPrinter) push(c *a2a.TaskPushNotificationConfig) error { return p.write(c) }

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
