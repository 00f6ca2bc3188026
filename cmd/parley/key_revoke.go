package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/plain"
)

func newKeyRevoke(a *app) *cobra.Command {
	return a.changesKeys(&cobra.Command{
		Use:   "revoke <id>...",
		Short: "Revoke API keys; the server may be running",
		Long: `Revoke API keys. A running server refuses them within a second, and their open streams
end within half a minute. Their tasks stay, and another key for the same subject and
tenant can see them. Name a key by its id, or by enough of the beginning of its token
to tell it from others.`,
		Example: `  parley key revoke 3fb0c2x7ka
  parley key revoke parley_3fb0c2`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return failure.Usagef("which keys? no id is given").WithHint("parley key list shows your keys")
			}
			return nil
		},
	}, false, func(ctx context.Context, keys *keyring, args []string) error {
		// A key that does not exist must not keep the others from being revoked.
		var failed []*failure.Error
		fail := func(arg string, err error) {
			var f *failure.Error
			if !errors.As(err, &f) {
				f = failure.New(failure.CodeAdmin, plain.Quote(shownKey(arg))+": "+err.Error(), err)
			}
			failed = append(failed, f)
		}
		for _, arg := range args {
			k, err := keys.find(ctx, arg)
			if err != nil {
				fail(arg, err)
				continue
			}
			if !k.Revoked.IsZero() {
				if err := a.say("Revoked before: %s (%s)", k.ID, plain.Date(k.Revoked)); err != nil {
					return err
				}
				continue
			}
			if k, err = keys.Revoke(ctx, k.ID); err != nil {
				fail(k.ID, err)
				continue
			}
			keys.record(a2aserver.AuditKeyRevoked, k)
			if err := a.say("Revoked: %s", k.ID); err != nil {
				return err
			}
			if !k.LastUsed.IsZero() {
				a.stderr.Note("Note", "%s was used at about %s", k.ID, k.LastUsed.UTC().Format(time.RFC3339))
			}
		}
		switch len(failed) {
		case 0:
			return nil
		case 1:
			return failed[0]
		}
		all := make([]string, len(failed))
		for i, f := range failed {
			all[i] = f.Message
		}
		return failure.New(failure.CodeAdmin, strings.Join(all, "; "), nil).WithHint("%s", failed[0].Hint)
	})
}
