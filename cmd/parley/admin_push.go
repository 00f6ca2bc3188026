package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/engine"
	"github.com/parley-a2a/parley/internal/database"
	"github.com/parley-a2a/parley/internal/output"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/store"
)

func newAdminPush(a *app) *cobra.Command {
	return group(&cobra.Command{Use: "push", Short: "Inspect and redeliver the webhooks of parley serve"},
		newAdminPushList(a), newAdminPushDead(a), newAdminPushRedeliver(a), newAdminPushRotate(a))
}

// pushPick selects webhooks by the ids that clients know.
type pushPick struct{ task, config string }

func (p *pushPick) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.task, "task", "", "only webhooks of the task with this `id`")
	cmd.Flags().StringVar(&p.config, "config", "", "only the webhook with this `id`")
}

func (p *pushPick) has(id store.PushID) bool {
	return (p.task == "" || p.task == id.Key.ID) && (p.config == "" || p.config == id.ID)
}

// webhookDoc names a webhook by the ids that clients know.
type webhookDoc struct {
	Agent  string `json:"agent,omitempty"`
	Tenant string `json:"tenant,omitempty"`
	Owner  string `json:"owner,omitempty"`
	Task   string `json:"taskId"`
	ID     string `json:"id"`
}

func webhookOf(id store.PushID) webhookDoc {
	agent, tenant := engine.AgentOf(id.Tenant)
	return webhookDoc{agent, tenant, id.Owner, id.Key.ID, id.ID}
}

func (d *webhookDoc) print(out *output.Writer) {
	out.Field("Task ID", d.Task)
	out.Field("Config ID", d.ID)
	out.Field("Agent", d.Agent)
	out.Field("Tenant", d.Tenant)
	out.Field("Owner", d.Owner)
}

// pushDoc is a webhook as list prints it, with only the host of its URL.
type pushDoc struct {
	webhookDoc
	Host    string    `json:"host"`
	Created time.Time `json:"created"`
	State   string    `json:"state"`
	Live    bool      `json:"live"`
	Cursor  int64     `json:"cursor"`
	Last    int64     `json:"last"`
	Tries   int32     `json:"tries"`
	Since   time.Time `json:"since,omitzero"`
	Due     time.Time `json:"due,omitzero"`
	Reason  string    `json:"reason,omitempty"`
}

// listDoc is a document of a list; in JSON it is printed in full.
type listDoc interface{ print(*output.Writer) }

// listing makes cmd list documents about a database's webhooks, which the server may have open,
// and their number, which what names.
func (a *app) listing(cmd *cobra.Command, what string, flags func(*cobra.Command), each func(ctx context.Context, r database.Reader, say func(listDoc) error) error) *cobra.Command {
	asJSON := false
	cmd = a.admin(cmd, func(ctx context.Context, db *database.Location, _ []string) (err error) {
		r, err := db.OpenBeside(ctx)
		if err != nil {
			return err
		}
		defer done(r, &err)
		out, n := output.NewWriter(a.stdout), 0
		err = each(ctx, r, func(doc listDoc) error {
			n++
			if asJSON {
				return a.sayJSON(doc)
			}
			doc.print(out)
			return out.Flush()
		})
		if err != nil || asJSON {
			return err
		}
		return a.say("%s: %d", what, n)
	})
	flags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	return cmd
}

func newAdminPushList(a *app) *cobra.Command {
	var pick pushPick
	failing := false
	return a.listing(&cobra.Command{
		Use:   "list",
		Short: "List webhooks and how far each has come; the server may be running",
		Long: `List the webhooks of all tasks, how much of each task's log has been delivered, and
what comes next. A webhook is idle, pending, retrying, disabled (the receiver answered
410) or completed. Tokens, credentials and paths are not shown.`,
		Example: `  parley admin push list
  parley admin push list --failing`,
		Args: cobra.NoArgs,
	}, "Webhooks", func(cmd *cobra.Command) {
		pick.register(cmd)
		cmd.Flags().BoolVar(&failing, "failing", false, "list only webhooks that are retrying or disabled")
	}, func(ctx context.Context, r database.Reader, say func(listDoc) error) error {
		for page, err := range database.Pushes(ctx, r, 0) {
			if err != nil {
				return err
			}
			for i := range page {
				p := &page[i]
				state := database.PushDoes(p)
				if !pick.has(p.PushID()) || failing && state != database.PushRetrying && state != database.PushDisabled {
					continue
				}
				if err := say(&pushDoc{
					webhookDoc: webhookOf(p.PushID()), Host: p.Host, Created: p.Created, State: state, Live: p.Live,
					Cursor: p.Cursor, Last: p.Last, Tries: p.Tries, Since: p.Since, Due: p.Due, Reason: p.Reason,
				}); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func (p *pushDoc) print(out *output.Writer) {
	p.webhookDoc.print(out)
	out.Field("Host", p.Host)
	out.Field("State", p.State)
	out.Field("Events", fmt.Sprintf("%d of %d delivered or given up", p.Cursor, p.Last))
	if p.Tries > 0 {
		out.Field("Tries", fmt.Sprint(p.Tries))
		out.Field("Since", plain.Date(p.Since))
		out.Field("Due", plain.Date(p.Due))
	}
	out.Field("Reason", p.Reason)
	out.Blank()
}

// deadLetterDoc is a dead letter as dead prints it.
type deadLetterDoc struct {
	webhookDoc
	Seq    int64     `json:"seq"`
	Time   time.Time `json:"time"`
	Tries  int32     `json:"tries"`
	Reason string    `json:"reason"`
	Again  bool      `json:"again"`
}

func newAdminPushDead(a *app) *cobra.Command {
	var pick pushPick
	return a.listing(&cobra.Command{
		Use:   "dead",
		Short: "List dead letters: deliveries that were given up; the server may be running",
		Long: `List dead letters: deliveries that a receiver refused (4xx except 408, 410, 425 and 429)
or that failed for a day. parley admin push redeliver sends them again.`,
		Example: `  parley admin push dead
  parley admin push dead --task <task-id>`,
		Args: cobra.NoArgs,
	}, "Dead letters", pick.register, func(ctx context.Context, r database.Reader, say func(listDoc) error) error {
		for page, err := range database.Letters(ctx, r, nil) {
			if err != nil {
				return err
			}
			for _, l := range page {
				if !pick.has(l.PushID) {
					continue
				}
				if err := say(&deadLetterDoc{webhookOf(l.PushID), l.Seq, l.Time, l.Tries, l.Reason, l.Again}); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func (l *deadLetterDoc) print(out *output.Writer) {
	l.webhookDoc.print(out)
	out.Field("Event", fmt.Sprint(l.Seq))
	out.Field("Given up", plain.Date(l.Time))
	out.Field("Tries", fmt.Sprint(l.Tries))
	out.Field("Reason", l.Reason)
	if l.Again {
		out.Field("Again", "at the next start")
	}
	out.Blank()
}

func (a *app) sayJSON(doc any) error {
	b, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	return a.say("%s", b)
}
