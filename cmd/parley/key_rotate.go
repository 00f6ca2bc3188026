package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/flagvalue"
	"github.com/parley-a2a/parley/internal/plain"
)

func newKeyRotate(a *app) *cobra.Command {
	var (
		grace  time.Duration
		output *string
	)
	cmd := a.changesKeys(&cobra.Command{
		Use:   "rotate <id>",
		Short: "Replace the secret of an API key; the server may be running",
		Long: `Replace the secret of an API key and print the new token, alone and once. The old token
works for --grace longer, so that you can replace it where it is in use. The key's
tasks and scopes stay. If a key leaked, revoke it, or rotate it with --grace 0.`,
		Example: `  parley key rotate 3fb0c2x7ka > new-token`,
		Args:    oneKey,
	}, false, func(ctx context.Context, keys *keyring, args []string) error {
		if grace < 0 {
			return failure.Usagef("--grace cannot be negative").WithHint("0 ends the old secret at once")
		}
		k, err := keys.find(ctx, args[0])
		if err != nil {
			return err
		}
		token, k, err := keys.Rotate(ctx, k.ID, grace)
		if err != nil {
			return err
		}
		keys.record(a2aserver.AuditKeyRotated, k)
		if !k.GraceEnds.IsZero() && *output != "json" {
			a.stderr.Note("Note", "the old token is valid until %s", plain.Date(k.GraceEnds))
		}
		return a.sayToken(k, token, *output)
	})
	grace = 24 * time.Hour
	cmd.Flags().Var(flagvalue.Span(&grace), "grace", "`duration` for which the old token still works; 0 ends it at once")
	output = outputFlag(cmd.Flags())
	return cmd
}

// oneKey requires an id as the only argument.
func oneKey(cmd *cobra.Command, args []string) error {
	if len(args) != 1 || args[0] == "" {
		return failure.Usagef("one key at a time: give its id, or as much of it as tells it from others").WithHint("parley key list shows your keys")
	}
	return nil
}
