package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/flagvalue"
	"github.com/parley-a2a/parley/internal/plain"
)

func newKeyCreate(a *app) *cobra.Command {
	var (
		spec   auth.KeySpec
		output *string
	)
	cmd := a.changesKeys(&cobra.Command{
		Use:   "create",
		Short: "Make an API key; the server may be running",
		Long: `Make an API key for callers of parley serve --auth-keys, which accepts it at once.
The token alone is printed on standard output, once: it cannot be shown again. Give it
to parley as A2ACLI_API_KEY, and to other clients as the header X-API-Key or as a
bearer token.

Tasks made with a key belong to its subject in its tenant, and another key for the
same subject and tenant sees them. Without --subject each key has its own. Scopes
say what the key may do; by default that is everything with its own tasks:
  ` + strings.Join(a2a.OwnScopes, ", ") + `
Other scopes extend to everybody's tasks in the tenant or in all tenants, and to the
administration of the server (docs/admin-api.md):
  ` + strings.Join(a2a.Scopes[len(a2a.OwnScopes):], ", ") + `
A role stands for several scopes: operator sees and cancels everybody's tasks, auditor
sees them, admin administers the server, and metrics reads its metrics
(docs/observability.md). A key with a role has no other scopes unless --scope adds
them.`,
		Example: `  export A2ACLI_API_KEY=$(parley key create --name laptop)
  parley key create --name ci --subject build --tenant acme --expires 90d
  parley key create --name support --scope own --scope tasks:read:tenant --tenant acme
  parley key create --name on-call --role operator --expires 2027-01-01`,
		Args: cobra.NoArgs,
	}, true, func(ctx context.Context, keys *keyring, _ []string) error {
		if !spec.Expires.IsZero() && !spec.Expires.After(time.Now()) {
			return failure.Usagef("--expires %s has passed", plain.Date(spec.Expires))
		}
		token, k, err := keys.Create(ctx, spec)
		if err != nil {
			return err
		}
		for _, s := range k.Scopes {
			if !slices.Contains(a2a.Scopes, s) {
				a.stderr.Note("Note", "%s is not one of Parley's scopes: only a skill on the card can require it", s)
			}
		}
		keys.record(a2aserver.AuditKeyCreated, k)
		return a.sayToken(k, token, *output)
	})
	fs := cmd.Flags()
	fs.StringVar(&spec.Name, "name", "", "name of the key, for people")
	fs.StringVar(&spec.Subject, "subject", "", "subject that owns the tasks; several keys may share one (default: the key's own id)")
	fs.StringVar(&spec.Tenant, "tenant", "", "tenant of the subject; calls that name another one are refused")
	fs.Var(flagvalue.List("scope", &spec.Scopes, parseKeyScopes, nil), "scope", "what the key may do; own stands for everything with the subject's own tasks; may be repeated")
	fs.Var(flagvalue.List("role", &spec.Roles, flagvalue.One(parseRole), nil), "role", "`role`: operator, auditor, admin or metrics; may be repeated")
	expires := func(s string) (time.Time, error) { return flagvalue.ParseExpiry(s, time.Now()) }
	fs.Var(flagvalue.Of("when", &spec.Expires, expires, nil), "expires", "when the key expires: 90d, 12h, 2027-01-01 (default: never)")
	output = outputFlag(fs)
	return cmd
}

// sayToken prints a new token alone on standard output, so that a shell can capture it.
func (a *app) sayToken(k *auth.APIKey, token a2a.Secret, output string) error {
	if output == "json" {
		return a.sayJSON(&keyDoc{k, k.State(time.Now()), token.Reveal()})
	}
	a.sayKey(k)
	return a.say("%s", token.Reveal())
}

// parseKeyScopes parses scopes separated by commas.
func parseKeyScopes(word string) (list []string, err error) {
	for scope := range strings.SplitSeq(word, ",") {
		if scope == ownScopes {
			list = append(list, a2a.OwnScopes...)
			continue
		}
		if err := auth.CheckScope(scope); err != nil {
			return nil, err
		}
		list = append(list, scope)
	}
	return list, nil
}

// ownScopes stands for a2a.OwnScopes.
const ownScopes = "own"

// shortScopes formats scopes for a table.
func shortScopes(scopes []string) string {
	for _, own := range a2a.OwnScopes {
		if !slices.Contains(scopes, own) {
			return strings.Join(scopes, ",")
		}
	}
	rest := slices.DeleteFunc(slices.Clone(scopes), func(s string) bool { return slices.Contains(a2a.OwnScopes, s) })
	return strings.Join(append([]string{ownScopes}, rest...), ",")
}

func parseRole(s string) (string, error) {
	if _, ok := auth.KeyRoles[s]; !ok {
		return "", fmt.Errorf("must be %s", flagvalue.AnyOf(slices.Sorted(maps.Keys(auth.KeyRoles))))
	}
	return s, nil
}
