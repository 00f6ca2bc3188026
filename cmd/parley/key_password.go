package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/flagvalue"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/internal/terminal"
)

func newKeyPassword(a *app) *cobra.Command {
	var (
		tenant string
		scopes []string
	)
	cmd := &cobra.Command{
		Use:   "password <user>",
		Short: "Hash a password for the file of --auth-basic",
		Long: `Make a line for the file of parley serve --auth-basic: the user, and a bcrypt hash
of the password. You are asked for the password, which is not shown; without a
terminal it is a line of standard input. The server reads the file again when it
changes. Lines that htpasswd -B makes work, too.`,
		Example: `  parley key password anna >> users
  parley key password ben --tenant acme --scope tasks:read < password >> users`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] == "" {
				return failure.Usagef("whose password? give the name of one user").WithHint("parley key password anna >> users")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.hashPassword(cmd.Context(), args[0], tenant, scopes)
		},
	}
	cmd.Flags().StringVar(&tenant, "tenant", "", "tenant of the user")
	cmd.Flags().Var(flagvalue.List("scope", &scopes, parseScopeWords, nil), "scope", "what the user may do: scopes, or the roles operator and auditor; may be repeated (default: everything with their own tasks)")
	return cmd
}

func (a *app) hashPassword(ctx context.Context, user, tenant string, scopes []string) error {
	in := terminal.NewSecrets(a.stdin, a.stderr)
	password, err := in.Line(ctx, "Password of "+plain.Line(user))
	if err == nil && password != "" && in.Terminal() {
		var again string
		if again, err = in.Line(ctx, "Once more"); err == nil && again != password {
			return failure.Usagef("the two passwords differ")
		}
	}
	if ctx.Err() != nil {
		return failure.New(failure.CodeInterrupted, "interrupted", err)
	}
	if err != nil {
		return a.explain(ctx, err)
	}
	if password == "" {
		return failure.Usagef("standard input has no line to read a password from")
	}
	a.stderr.Hide(password)
	if strings.ContainsAny(tenant, ":\n") {
		return failure.Usagef("--tenant cannot have a colon in the file of users")
	}
	line, err := auth.HashPassword(user, a2a.Secret(password))
	if err != nil {
		return failure.Usagef("%s", strings.TrimPrefix(err.Error(), "auth: "))
	}
	if len(scopes) > 0 || tenant != "" {
		line += ":" + tenant
	}
	if len(scopes) > 0 {
		line += ":" + strings.Join(scopes, " ")
	}
	return a.say("%s", line)
}

// parseScopeWords parses scopes and names of roles.
func parseScopeWords(s string) (list []string, err error) {
	for word := range strings.SplitSeq(s, ",") {
		if _, role := auth.KeyRoles[word]; role {
			list = append(list, word)
			continue
		}
		scopes, err := parseKeyScopes(word)
		if err != nil {
			return nil, err
		}
		list = append(list, scopes...)
	}
	return list, nil
}
