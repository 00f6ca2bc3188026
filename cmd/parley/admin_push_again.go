package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/internal/database"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/internal/serve"
	"github.com/parley-a2a/parley/store"
)

func newAdminPushRedeliver(a *app) *cobra.Command {
	var (
		pick  pushPick
		all   bool
		audit serve.AuditFlags
	)
	cmd := a.admin(&cobra.Command{
		Use:   "redeliver (--task <id> | --config <id> | --all)",
		Short: "Have what was given up sent again, with the server stopped",
		Long: `Have what was given up sent again at the next start of the server: dead letters;
webhooks that their receiver had disabled with 410, from where they were; and at
once what waits for another try. Deliveries have the ids they had.`,
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
	st, err := db.OpenAlone(ctx, false)
	if err != nil {
		return err
	}
	defer done(st, &err)
	letters, enabled, hastened := 0, 0, 0
	d, err := a.begin(audit, db, a2aserver.AuditAdminRedeliver, slog.String("task", pick.task), slog.String("config", pick.config))
	if err != nil {
		return err
	}
	defer func() {
		d.end(err, slog.Int("letters", letters), slog.Int("enabled", enabled), slog.Int("hastened", hastened))
	}()
	err = eachLetters(ctx, st, func(page []store.DeadLetter) error {
		var again []store.DeadLetter
		for _, l := range page {
			if pick.has(l.PushID) {
				l.Again = true
				again = append(again, l)
			}
		}
		letters += len(again)
		if len(again) == 0 {
			return nil
		}
		return st.SetLetters(ctx, again, false)
	})
	if err != nil {
		return err
	}
	var changed []store.Advance
	flush := func() error {
		defer func() { changed = changed[:0] }()
		if len(changed) == 0 {
			return nil
		}
		return st.Advance(ctx, changed)
	}
	err = eachPush(ctx, st, func(p *store.PushState) error {
		if !pick.has(p.PushID()) {
			return nil
		}
		switch pushDoes(p) {
		case pushDisabled:
			enabled++
		case pushRetrying:
			hastened++
		default:
			return nil
		}
		// A day of tries begins anew.
		changed = append(changed, store.Advance{PushID: p.PushID(), Created: p.Created, Progress: store.Progress{Cursor: p.Cursor}, Live: true})
		if len(changed) < pushBatch {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	if err := flush(); err != nil {
		return err
	}
	return a.say("At the next start: %s sent again, %s enabled again, %s tried at once",
		plain.Count(letters, "dead letter"), plain.Count(enabled, "webhook"), plain.Count(hastened, "webhook"))
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
