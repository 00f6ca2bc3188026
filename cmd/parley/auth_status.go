package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/contexts"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/output"
	"github.com/parley-a2a/parley/internal/signin"
)

// signInDoc is a sign-in without its secrets.
type signInDoc struct {
	Agent   string    `json:"agent"`
	Context string    `json:"context,omitempty"`
	Scheme  string    `json:"scheme,omitempty"`
	Issuer  string    `json:"issuer,omitempty"`
	Client  string    `json:"clientId,omitempty"`
	Subject string    `json:"subject,omitempty"`
	Scopes  []string  `json:"scopes,omitempty"`
	Expires time.Time `json:"expires,omitzero"`
	Renews  bool      `json:"renews"`
	Error   string    `json:"error,omitempty"`
}

func statusOf(kept *contexts.SignIn) *signInDoc {
	d := &signInDoc{Agent: kept.Agent, Context: kept.Context}
	var s auth.OAuthSession
	if json.Unmarshal(kept.Session, &s) != nil {
		d.Error = "the file cannot be read: sign in again"
		return d
	}
	d.Scheme, d.Issuer, d.Client, d.Subject, d.Scopes, d.Expires = s.Scheme, s.Issuer, s.ClientID, s.Subject, s.Scopes, s.Expiry
	d.Renews = s.Refresh != "" || s.Grant == auth.GrantClient
	return d
}

func (d *signInDoc) show(out *output.Writer) {
	out.Field("Agent", d.Agent)
	out.Field("Context", d.Context)
	out.Field("Signed in as", d.Subject)
	out.Field("Issuer", d.Issuer)
	out.Field("Client", d.Client)
	out.Field("Scheme", d.Scheme)
	out.Field("Scopes", strings.Join(d.Scopes, " "))
	if !d.Expires.IsZero() && !d.Renews {
		out.Field("Expires", d.Expires.Local().Format(time.RFC3339))
	}
	out.Field("Error", d.Error)
}

func newAuthStatus(a *app) *cobra.Command {
	return a.client(&cobra.Command{
		Use:   "status",
		Short: "List the agents that you are signed in to",
		Long: `List the agents at which you are signed in, as whom, and by which issuer. Tokens are
never shown. With -a, only that agent.`,
		Example: `  parley auth status
  parley auth status -o json`,
		Args: cobra.NoArgs,
	}, func(context.Context, []string) error {
		list, failed, err := a.signIns(a.flags.agentCard == "")
		if err != nil {
			return err
		}
		docs := []*signInDoc{}
		for _, s := range list {
			docs = append(docs, statusOf(s))
		}
		for _, err := range failed {
			a.stderr.Note("Warning", "%s", strings.TrimPrefix(err.Error(), failure.CodeUsage+": "))
		}
		if len(docs) == 0 {
			a.stderr.Note("Hint", "you are not signed in: parley auth login -a AGENT --client-id ID")
		}
		return a.print.Doc(map[string]any{"signedIn": docs}, func(out *output.Writer) {
			for i, d := range docs {
				if i > 0 {
					out.Blank()
				}
				d.show(out)
			}
		})
	})
}

// signIns returns all sign-ins, or those at the agent of the command line.
func (a *app) signIns(all bool) ([]*contexts.SignIn, []error, error) {
	dir := a.around.contexts.SignIns()
	if all {
		return dir.List()
	}
	if err := a.findAgent(); err != nil {
		return nil, nil, err
	}
	s, err := dir.Load(signin.Name(a.flags.agentCard), a.signInContext())
	if err != nil || s == nil {
		return nil, nil, err
	}
	return []*contexts.SignIn{s}, nil, nil
}

func newAuthLogout(a *app) *cobra.Command {
	all := false
	cmd := a.client(&cobra.Command{
		Use:   "logout",
		Short: "Sign out: delete the tokens, and revoke them at the issuer",
		Example: `  parley auth logout -a https://agents.example.org
  parley auth logout --all`,
		Args: cobra.NoArgs,
	}, func(ctx context.Context, _ []string) error {
		if a.flags.agentCard == "" && !all {
			return failure.Usagef("which agent? --agent-card is not set").WithHint("parley auth logout -a AGENT, or --all; parley auth status lists them")
		}
		list, failed, err := a.signIns(all)
		if err != nil {
			return err
		}
		if len(list) == 0 && len(failed) == 0 {
			a.stderr.Note("Note", "you were not signed in")
		}
		for _, s := range list {
			if err := a.logout(ctx, s); err != nil {
				return err
			}
		}
		return errors.Join(failed...)
	})
	cmd.Flags().BoolVar(&all, "all", false, "sign out of all agents")
	return cmd
}

// logout deletes the sign-in here first: a token that stays valid at an unreachable issuer is
// less of a risk than one that is also kept here.
func (a *app) logout(ctx context.Context, kept *contexts.SignIn) error {
	dir := a.around.contexts.SignIns()
	// A process that is renewing the tokens would write new ones.
	unlock, err := dir.Lock(ctx, kept)
	switch {
	case err == nil:
		defer unlock()
		if newest, err := dir.Load(kept.Agent, kept.Context); err == nil && newest != nil {
			kept = newest
		}
	case ctx.Err() != nil:
		return err
	}
	if err := dir.Remove(kept); err != nil {
		return err
	}
	var s auth.OAuthSession
	if json.Unmarshal(kept.Session, &s) != nil {
		return nil
	}
	a.stderr.Hide(signin.Secrets(&s)...)
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := s.Revoke(ctx, &http.Client{Transport: a.issuerClient().Transport}); err != nil {
		a.stderr.Note("Warning", "the tokens are deleted here, but the issuer did not revoke them (%v): they are valid until they expire", err)
	}
	return nil
}
