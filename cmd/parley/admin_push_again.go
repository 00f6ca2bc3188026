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
		Short: "Have what was given up sent again, also while the server runs",
		Long: `Have what was given up sent again, now by a server that runs on this machine, or at
its next start: dead letters; webhooks that their receiver had disabled with 410,
from where they were; and at once what waits for another try. Deliveries have the
ids they had.`,
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
	cmd.Flags().BoolVar(&all, "all", false, "everything that was given up")
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
	var r database.Redelivered
	d, err := a.begin(audit, db, a2aserver.AuditAdminRedeliver, slog.String("task", pick.task), slog.String("config", pick.config))
	if err != nil {
		return err
	}
	defer func() {
		d.end(err, slog.Int("letters", r.Letters), slog.Int("enabled", r.Enabled), slog.Int("hastened", r.Hastened))
	}()
	if api != nil {
		r, err = redeliverAt(ctx, api, pick)
	} else {
		r, err = database.Redeliver(ctx, st, pick.has)
	}
	if err != nil {
		return err
	}
	return a.say("%s: %s sent again, %s enabled again, %s tried at once", when,
		plain.Count(r.Letters, "dead letter"), plain.Count(r.Enabled, "webhook"), plain.Count(r.Hastened, "webhook"))
}

// redeliverAt has a server do it. A task that is not there has nothing to be sent.
func redeliverAt(ctx context.Context, api admin.API, pick *pushPick) (r database.Redelivered, err error) {
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
		Short: "Make new keys to sign webhooks with, with the server stopped",
		Long: `Make new keys to sign webhooks with. For a week deliveries are signed with the key
before as well, so that receivers have time to fetch the new one from
/.well-known/jwks.json; receivers that were told the key need the one printed.
After a leak rotate twice: then the old key is gone, and published no more.`,
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
		defer func() { _ = log.Close() }() // what it could not write is logged
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
