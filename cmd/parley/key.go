package main

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/database"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/flagvalue"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/internal/serve"
)

func newKey(a *app) *cobra.Command {
	return group(&cobra.Command{Use: "key", Short: "Manage the API keys and passwords of callers"},
		newKeyCreate(a), newKeyList(a), newKeyRotate(a), newKeyRevoke(a), newKeyPassword(a))
}

// keyring is the API keys of a database, which a server may have open, and the log of changes to
// them.
type keyring struct {
	*auth.Keys
	audit *serve.AuditLog
}

// changesKeys makes cmd change the API keys of a database, for which it only needs write access
// to the files. makes says that it makes the database if there is none.
func (a *app) changesKeys(cmd *cobra.Command, makes bool, run func(context.Context, *keyring, []string) error) *cobra.Command {
	var audit serve.AuditFlags
	cmd = a.admin(cmd, func(ctx context.Context, db *database.Location, args []string) (err error) {
		v, err := db.Vault(ctx, false)
		if makes && errors.Is(err, fs.ErrNotExist) {
			if v, err = db.Vault(ctx, true); err == nil {
				a.stderr.Note("Note", "there was no database: made %s. The server must be started with the same --data or --store, or it does not know this key", db)
			}
		}
		if err != nil {
			return err
		}
		defer done(v, &err)
		log, err := a.auditBeside(&audit, db)
		if err != nil {
			return err
		}
		defer func() { _ = log.Close() }() // write errors are logged
		return run(ctx, &keyring{auth.NewKeys(v, nil), log}, args)
	})
	audit.Register(cmd.Flags(), auditUsage)
	return cmd
}

// record writes a change of a key to the audit log.
func (r *keyring) record(event string, k *auth.APIKey) {
	r.audit.Event(event, serve.OfKey(k, operator())...)
}

// find returns the key for an argument: an id, a token, or a unique beginning of either.
func (r *keyring) find(ctx context.Context, arg string) (*auth.APIKey, error) {
	k, err := r.Find(ctx, arg)
	if errors.Is(err, auth.ErrNoKey) {
		return nil, failure.New(failure.CodeAdmin, "there is no API key "+plain.Quote(shownKey(arg)), err).WithHint("parley key list shows those there are; --data names the directory")
	}
	return k, err
}

// shownKey returns an argument that may be a token, without its secret.
func shownKey(arg string) string {
	if at := strings.LastIndexByte(arg, '_'); at >= 0 && at > len("parley_") {
		return arg[:at]
	}
	return arg
}

// sayKey describes a new key to its maker, beside the token.
func (a *app) sayKey(k *auth.APIKey) {
	for _, f := range [][2]string{
		{"Key", k.ID}, {"Name", k.Name}, {"Subject", k.Subject}, {"Tenant", k.Tenant},
		{"Scopes", strings.Join(k.Scopes, " ")}, {"Expires", plain.Date(k.Expires)},
	} {
		if f[1] != "" {
			a.stderr.Note(f[0], "%s", f[1])
		}
	}
}

// keyDoc is a key in JSON.
type keyDoc struct {
	*auth.APIKey
	State string `json:"state"`
	Token string `json:"token,omitempty"` // only when it is new
}

// outputFlag adds -o to a command that reads no settings.
func outputFlag(fs *pflag.FlagSet) *string {
	output := "text"
	fs.VarP(flagvalue.Choice(&output, "text", "json"), "output", "o", "`format` of what is printed: text or json")
	return &output
}
