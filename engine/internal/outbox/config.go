package outbox

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/store"
)

// kept is the stored form of a configuration.
type kept struct {
	Version     a2a.Version `json:"version"` // even 1.0 is stored by its name
	URL         string      `json:"url"`
	Token       string      `json:"token,omitempty"`
	Scheme      string      `json:"scheme,omitempty"`
	Credentials string      `json:"credentials,omitempty"`
	Tenant      string      `json:"tenant,omitempty"` // from the caller's credentials; see subscriberOf
}

// Record returns the stored form of the configuration c that the caller of ctx makes. The
// engine sets Key, Cursor and an ID that c lacks. An error of the Notifier is returned as it
// is: it names the field of c that is wrong.
func (o *Outbox) Record(ctx context.Context, c *a2a.TaskPushNotificationConfig) (*store.PushConfig, error) {
	host, err := o.e.Notifier.Check(ctx, c)
	if err != nil {
		return nil, err
	}
	k := kept{URL: c.URL, Token: string(c.Token), Tenant: a2a.CallerFrom(ctx).Tenant}
	if c.Legacy != nil {
		k.Version = c.Legacy.Version
	}
	if c.ProtocolVersion != "" {
		k.Version = a2a.Version(c.ProtocolVersion)
	}
	k.Version = a2a.Version(k.Version.String())
	if a := c.Authentication; a != nil {
		k.Scheme, k.Credentials = a.Scheme, string(a.Credentials)
	}
	body, err := json.Marshal(&k)
	if err != nil {
		return nil, fmt.Errorf("encode push config: %w", err)
	}
	return &store.PushConfig{ID: c.ID, Host: host, Body: body, Created: o.stamp(), Node: o.e.Node, Live: true}, nil
}

// stamp returns the time of creation of a configuration. No two times of this process are
// equal: they tell apart configurations with the same name.
func (o *Outbox) stamp() time.Time {
	for {
		was := o.clock.Load()
		is := max(o.e.Now().UnixMilli(), was+1)
		if o.clock.CompareAndSwap(was, is) {
			return time.UnixMilli(is).UTC()
		}
	}
}

// Config decodes what Record made, with all secrets.
func (o *Outbox) Config(p *store.PushConfig) (*a2a.TaskPushNotificationConfig, error) {
	var k kept
	if err := json.Unmarshal(p.Body, &k); err != nil {
		return nil, fmt.Errorf("push config %s of task %s: %w", p.ID, p.Key.ID, err)
	}
	c := &a2a.TaskPushNotificationConfig{
		Tenant: o.e.Caller(p.Key).Tenant, ID: p.ID, TaskID: p.Key.ID, URL: k.URL, Token: a2a.Secret(k.Token), Source: sourceOf(p.Key),
		ProtocolVersion: k.Version.String(),
	}
	if k.Scheme != "" {
		c.Authentication = &a2a.AuthenticationInfo{Scheme: k.Scheme, Credentials: a2a.Secret(k.Credentials)}
	}
	return c, nil
}
