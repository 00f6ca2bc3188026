package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/database"
	"github.com/parley-a2a/parley/internal/plain"
)

func newKeyList(a *app) *cobra.Command {
	var (
		filter auth.KeyFilter
		output *string
	)
	cmd := a.admin(&cobra.Command{
		Use:   "list [beginning of an id or token]",
		Short: "List API keys; the server may be running",
		Long: `List API keys, oldest first: all of them, or those whose id or token begins with the
argument (tokens are parley_<id>_<secret>). The time of last use is right to about a
minute.`,
		Example: `  parley key list
  parley key list parley_3fb0c2
  parley key list --tenant acme -o json`,
		Args: cobra.MaximumNArgs(1),
	}, func(ctx context.Context, db *database.Location, args []string) (err error) {
		v, err := db.Vault(ctx, false)
		if err != nil {
			return err
		}
		defer done(v, &err)
		filter.Prefix = strings.Join(args, "")
		list, err := auth.NewKeys(v, nil).List(ctx, filter)
		if err != nil {
			return err
		}
		if *output == "json" {
			docs := make([]keyDoc, len(list))
			for i := range list {
				docs[i] = keyDoc{APIKey: &list[i], State: list[i].State(time.Now())}
			}
			return a.sayJSON(map[string]any{"keys": docs})
		}
		return a.printKeys(list)
	})
	cmd.Flags().StringVar(&filter.Subject, "subject", "", "list only keys of this subject")
	cmd.Flags().StringVar(&filter.Tenant, "tenant", "", "list only keys of this tenant")
	output = outputFlag(cmd.Flags())
	return cmd
}

func (a *app) printKeys(list []auth.APIKey) error {
	if len(list) > 0 {
		row, flush := a.table()
		row("ID", "NAME", "SUBJECT", "TENANT", "SCOPES", "CREATED", "EXPIRES", "LAST USED", "STATE")
		for i := range list {
			k := &list[i]
			row(k.ID, k.Name, k.Subject, k.Tenant, shortScopes(k.Scopes), plain.Date(k.Created), plain.Date(k.Expires), plain.Date(k.LastUsed), k.State(time.Now()))
		}
		if err := flush(); err != nil {
			return err
		}
	}
	return a.say("Keys: %d", len(list))
}
