package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/internal/admin"
	"github.com/parley-a2a/parley/internal/database"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/internal/serve"
)

func newAdminPushRedeliver(a *app) *cobra.Command {
	var (
		pick  pushPick
		all   bool
		audit serve.AuditFlags
	)
	cmd := a.admin(&cobra.Command{
		Use:   "redeliver (--task <id> | --config <id> | --all)",
		Short: "Send dead letters again; the server may be running",
		Long: `Send dead letters again, resume webhooks that their receiver disabled with 410, and try
at once what waits for another attempt. A server that runs on this machine does so now;
if none runs, the next one to start does. Deliveries keep their ids.`,
		Example: `  parley admin push dead
  parley admin push redeliver --task <task-id>`,
		Args: cobra.NoArgs,
	}, func(ctx context.Context, db *database.Location, _ []string) error {
		if named := pick != (pushPick{}); named == all {
			return failure.Usagef("say what to send again: --task, --config or both, or --all")
		}
		return a.redeliver(ctx, db, &pick, &audit)
	})
	pick.register(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "all dead letters")
	audit.Register(cmd.Flags(), auditUsage)
	return cmd
}

func (a *app) redeliver(ctx context.Context, db *database.Location, pick *pushPick, audit *serve.AuditFlags) (err error) {
	api, _, err := serverOf(ctx, db)
	if err != nil {
		return err
	}
	var st database.Store
	when := "Now"
	if api == nil {
		if st, err = db.OpenAlone(ctx, false); err != nil {
			return err
		}
		defer done(st, &err)
		when = "At the next start"
	}
	what := []slog.Attr{slog.String("task", pick.task), slog.String("config", pick.config)}
	return a.audited(audit, db, a2aserver.AuditAdminRedeliver, what, func() ([]slog.Attr, error) {
		var r database.Redelivered
		var err error
		if api != nil {
			r, err = redeliverAt(ctx, api, pick)
		} else {
			r, err = database.Redeliver(ctx, st, pick.has)
		}
		if err == nil {
			err = a.say("%s: %s sent again, %s enabled again, %s tried at once", when,
				plain.Count(r.Letters, "dead letter"), plain.Count(r.Enabled, "webhook"), plain.Count(r.Hastened, "webhook"))
		}
		return []slog.Attr{slog.Int("letters", r.Letters), slog.Int("enabled", r.Enabled), slog.Int("hastened", r.Hastened)}, err
	})
}

// redeliverAt asks a server to redeliver. A task that does not exist has nothing to send.
func redeliverAt(ctx context.Context, api *admin.Client, pick *pushPick) (r database.Redelivered, err error) {
	did, err := api.Redeliver(ctx, admin.Redelivery{Task: pick.task, ID: pick.config, All: *pick == pushPick{}})
	switch {
	case errors.Is(err, admin.ErrNotFound):
		return r, nil
	case err != nil:
		return r, err
	}
	r.Letters, r.Enabled, r.Hastened = did.Letters, did.Enabled, did.Hastened
	return r, nil
}

func newAdminPushRotate(a *app) *cobra.Command {
	var audit serve.AuditFlags
	cmd := a.admin(&cobra.Command{
		Use:   "rotate-keys",
		Short: "Make new keys for signing webhooks; the server must be stopped",
		Long: `Make new keys for signing webhooks. Stop every server of the database first. For a week
deliveries are signed with the previous key as well, so that receivers have time to
fetch the new one from /.well-known/jwks.json; receivers with a configured key need the
one printed here. After a leak rotate twice: the old key is then deleted and no longer
published.`,
		Args: cobra.NoArgs,
	}, func(ctx context.Context, db *database.Location, _ []string) (err error) {
		st, err := db.OpenAlone(ctx, false)
		if err != nil {
			return err
		}
		defer done(st, &err)
		log, err := a.auditBeside(&audit, db)
		if err != nil {
			return err
		}
		defer func() { _ = log.Close() }() // write errors are logged
		public, err := parley.RotateWebhookKeys(ctx, st, time.Now())
		if err != nil {
			return err
		}
		log.Event(a2aserver.AuditWebhookKeysRotated, slog.String("key", public), slog.String("by", operator()))
		return a.say("Public key: %s", public)
	})
	audit.Register(cmd.Flags(), auditUsage)
	return cmd
}
