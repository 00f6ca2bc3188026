package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/engine"
	"github.com/parley-a2a/parley/internal/database"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/internal/serve"
)

type eraseFlags struct {
	context, agent, tenant, owner string
	audit                         serve.AuditFlags
}

func newAdminErase(a *app) *cobra.Command {
	var f eraseFlags
	cmd := a.admin(&cobra.Command{
		Use:   "erase --context <context-id>",
		Short: "Erase all tasks of a context; the server must be stopped",
		Long: `Erase all tasks of one context, in any state, with their messages, artifacts and files,
and overwrite their place in the database with zeros. Stop every server of the database
first. Earlier backups and exports still contain the tasks.

A context belongs to its owner: without --owner and --tenant, to the callers who are
not authenticated. Each agent of a server has contexts of its own: without --agent, it
is the agent at /.`,
		Example: `  parley admin erase --context <context-id>
  parley admin erase --context <context-id> --owner anna --tenant acme`,
		Args: cobra.NoArgs,
	}, func(ctx context.Context, db *database.Location, _ []string) error {
		if f.context == "" {
			return failure.Usagef("--context is missing").WithHint("parley task list shows the context ids of tasks")
		}
		return a.erase(ctx, db, &f)
	})
	fs := cmd.Flags()
	fs.StringVar(&f.context, "context", "", "`id` of the context")
	fs.StringVar(&f.agent, "agent", "", "`name` of the agent, if the server has several and it is not the one at /")
	fs.StringVar(&f.tenant, "tenant", "", "`tenant` of the owner")
	fs.StringVar(&f.owner, "owner", "", "`subject` that the tasks belong to")
	f.audit.Register(fs, auditUsage)
	return cmd
}

// whose describes the owner of the context.
func (f *eraseFlags) whose() string {
	var whose string
	for _, part := range []struct{ what, name string }{{"owner", f.owner}, {"tenant", f.tenant}, {"agent", f.agent}} {
		if part.name != "" {
			whose += " of " + part.what + " " + plain.Quote(part.name)
		}
	}
	if f.owner == "" && f.tenant == "" {
		whose += " of callers who are not authenticated"
	}
	return whose
}

func (a *app) erase(ctx context.Context, db *database.Location, f *eraseFlags) (err error) {
	st, err := db.OpenAlone(ctx, true)
	if err != nil {
		return err
	}
	defer done(st, &err)
	what := []slog.Attr{slog.String("context", f.context), slog.String("agent", f.agent), slog.String("tenant", f.tenant), slog.String("subject", f.owner)}
	return a.audited(&f.audit, db, a2aserver.AuditAdminErase, what, func() ([]slog.Attr, error) {
		erased, stop := a.counted("erasing")
		total, receipts, err := database.Erase(ctx, st, engine.TenantOf(f.agent, f.tenant), f.owner, f.context, erased)
		stop()
		if err == nil {
			err = a.sayErased(f, total, receipts)
		}
		return []slog.Attr{slog.Int("tasks", total), slog.Int("receipts", receipts)}, err
	})
}

func (a *app) sayErased(f *eraseFlags, total, receipts int) error {
	if total == 0 && receipts == 0 {
		a.stderr.Note("Note", "there is no task of context %s%s; --owner, --tenant and --agent say whose context is meant", plain.Quote(f.context), f.whose())
	}
	what := plain.Count(total, "task")
	if receipts > 0 {
		what += ", " + plain.Count(receipts, "direct answer")
	}
	return a.say("Erased %s at %s", what, time.Now().UTC().Format(time.RFC3339))
}
