package main

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/contexts"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/flagvalue"
	"github.com/parley-a2a/parley/internal/output"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/internal/signin"
	"github.com/parley-a2a/parley/internal/terminal"
)

func newAuth(a *app) *cobra.Command {
	return group(&cobra.Command{Use: "auth", Short: "Sign in to agents that require OAuth 2 or OpenID Connect"},
		newAuthLogin(a), newAuthStatus(a), newAuthLogout(a))
}

// login is the command line of auth login.
type login struct {
	auth.OAuthOptions
	scheme, grant string
	noBrowser     bool
	port          uint16
}

func newAuthLogin(a *app) *cobra.Command {
	var l login
	cmd := a.client(&cobra.Command{
		Use:   "login",
		Short: "Sign in to an agent",
		Long: `Sign in to an agent whose card has an OAuth 2 or OpenID Connect security scheme. On a
machine with a browser, the browser opens. Elsewhere, or with --no-browser, you enter
a code on any device if the issuer supports that, or paste the address at which a
browser ends. A program signs in as itself with --client-secret (client credentials).

The tokens are kept in a file of mode 0600, renewed, never shown, and sent only to this
agent, over TLS, while its card names the same issuer. --bearer, --basic and their
variables override them. --client-id is the id under which the issuer has registered
this program; it must allow redirects to http://127.0.0.1 with any port, or with the
port of --redirect-port.`,
		Example: `  parley auth login -a https://agents.example.org --client-id parley-cli
  parley auth login -a https://agents.example.org --client-id parley-cli --no-browser
  parley auth login -a https://agents.example.org --client-id robot --client-secret - < secret.txt`,
		Args: cobra.NoArgs,
	}, func(ctx context.Context, _ []string) error { return a.login(ctx, &l) })
	fs := cmd.Flags()
	fs.StringVar(&l.ClientID, "client-id", "", "id under which the issuer knows this program; or A2ACLI_CLIENT_ID")
	fs.StringVar(&l.ClientSecret, "client-secret", "", "the client's secret, or - for a line of standard input; other users can see options: prefer - or A2ACLI_CLIENT_SECRET")
	fs.StringArrayVar(&l.Scopes, "scope", nil, "ask for this `scope`; may be repeated (default: those that the card requires)")
	fs.StringVar(&l.scheme, "scheme", "", "`name` of the card's security scheme (default: the first of OAuth or OpenID Connect)")
	fs.StringVar(&l.Issuer, "issuer", "", "sign in only at the issuer with this `URL`; the card must agree with what it publishes")
	fs.Var(flagvalue.Choice(&l.grant, "", auth.GrantCode, auth.GrantDevice, auth.GrantClient), "grant", "how to sign in: code (a browser here), device (a browser anywhere) or client-credentials (default: what fits)")
	fs.StringVar(&l.Resource, "resource", "", "tell the issuer that the token is for this `URL` (RFC 8707)")
	fs.BoolVar(&l.noBrowser, "no-browser", false, "do not open a browser; use a code on another device, or print the address")
	fs.Uint16Var(&l.port, "redirect-port", 0, "`port` of this machine to which the browser returns (default: a free one)")
	return cmd
}

func (a *app) login(ctx context.Context, l *login) error {
	if a.flags.agentCard == "" {
		return failure.Usagef("which agent? --agent-card is not set").WithHint("parley auth login -a https://agents.example.org --client-id ID")
	}
	if err := a.findAgent(); err != nil {
		return err
	}
	a.flags.bearer, a.flags.apiKey, a.flags.basic = "", "", userPassword{} // the issuer gets none of them
	o := a.clientOptions()
	o.Token = nil
	o.HTTPClient = a.issuerClient()
	c, err := a2aclient.NewResolver(o).Dial(ctx, a.flags.agentCard)
	if err != nil {
		return err
	}
	a.card = c.Card()
	schemes := auth.OAuthSchemes(a.card)
	switch {
	case len(a.card.SecuritySchemes) == 0:
		return failure.Usagef("there is nothing to sign in to: the agent's card asks for no credentials").WithHint("call it without: %s", a.commands.Line("send", `"<message>"`))
	case len(schemes) == 0:
		return failure.Usagef("the agent's card has no security scheme of OAuth 2 or OpenID Connect to sign in with").WithHint("%s", a.wanted())
	}
	if err := a.clientOf(ctx, l); err != nil {
		return err
	}
	l.scheme = cmp.Or(l.scheme, schemes[0])
	if !slices.Contains(schemes, l.scheme) {
		return failure.Usagef("--scheme %s: the card has no such scheme of OAuth 2 or OpenID Connect", plain.Quote(l.scheme)).WithHint("it has %s", plain.Line(strings.Join(schemes, ", ")))
	}
	s, err := a.signIn(ctx, l, c)
	if err != nil {
		return signin.Explain(ctx, err)
	}
	a.stderr.Hide(signin.Secrets(s)...)
	doc, err := json.Marshal(s)
	if err != nil {
		return err
	}
	kept := &contexts.SignIn{Agent: signin.Name(a.flags.agentCard), Context: a.signInContext(), Session: doc}
	if err := a.keepSignIn(ctx, kept); err != nil {
		return err
	}
	return a.print.Doc(statusOf(kept), func(out *output.Writer) { statusOf(kept).show(out) })
}

// keepSignIn stores a sign-in. It locks out a process that is renewing the tokens of an earlier
// sign-in, and would write those.
func (a *app) keepSignIn(ctx context.Context, s *contexts.SignIn) error {
	dir := a.around.contexts.SignIns()
	switch unlock, err := dir.Lock(ctx, s); {
	case err == nil:
		defer unlock()
	case ctx.Err() != nil:
		return err
	}
	return dir.Save(s)
}

// clientOf determines the client id and secret for the issuer.
func (a *app) clientOf(ctx context.Context, l *login) error {
	known, _ := a.settings.find("client-id")
	if l.ClientID = cmp.Or(l.ClientID, known); l.ClientID == "" {
		return failure.Usagef("--client-id is not set: the issuer has to know this program").
			WithHint("register a public client (native app, with redirect http://127.0.0.1 or the device flow) with whoever runs the agent's issuer, and give its id, or set A2ACLI_CLIENT_ID")
	}
	if l.ClientSecret == "-" {
		line, err := terminal.NewSecrets(a.stdin, a.stderr).Line(ctx, "Client secret")
		if ctx.Err() != nil {
			return failure.New(failure.CodeInterrupted, "interrupted", err)
		}
		if l.ClientSecret = strings.TrimSpace(line); l.ClientSecret == "" || err != nil {
			return failure.Usagef("--client-secret -: standard input has no line").WithHint("parley auth login --client-secret - < file")
		}
	}
	kept, _ := a.settings.find("client-secret")
	l.ClientSecret = cmp.Or(l.ClientSecret, kept)
	a.stderr.Hide(l.ClientSecret)
	return nil
}

// signIn gets the tokens.
func (a *app) signIn(ctx context.Context, l *login, c *a2aclient.Client) (*auth.OAuthSession, error) {
	l.HTTPClient = &http.Client{Transport: c.Named()}
	o, err := auth.NewOAuth(ctx, a.card, l.scheme, &l.OAuthOptions)
	if err != nil {
		return nil, err
	}
	grants := o.Grants()
	browser := !l.noBrowser && signin.HasBrowser(a.around.lookup)
	grant := l.grant
	switch {
	case grant != "":
		if !slices.Contains(grants, grant) {
			return nil, failure.Usagef("--grant %s: %s does not offer that", grant, o.Host()).WithHint("it offers %s; client-credentials wants --client-secret", plain.Line(cmp.Or(strings.Join(grants, ", "), "nothing that is supported")))
		}
	case len(grants) == 0:
		return nil, failure.Usagef("%s offers no way to sign in that is supported: expected authorization_code with S256, device_code, or client_credentials with --client-secret", o.Host())
	case len(grants) > 1 && !browser && slices.Contains(grants, auth.GrantDevice):
		grant = auth.GrantDevice
	default:
		grant = grants[0]
	}
	a.stderr.Note("Note", "%s asks you to sign in at %s; the token is sent to this agent only", plain.Quote(signin.Name(a.flags.agentCard)), plain.Line(o.Host()))
	switch grant {
	case auth.GrantClient:
		return o.ClientCredentials(ctx)
	case auth.GrantDevice:
		return o.Device(ctx, func(d auth.DeviceCode) {
			a.stderr.Note("Open", "%s", plain.Line(d.URL))
			a.stderr.Note("Code", "%s", plain.Line(d.Code))
			if d.Complete != "" && browser {
				a.browse(ctx, d.Complete)
			}
			a.stderr.Note("Note", "the code is valid for %s; Ctrl-C ends the sign-in", time.Until(d.Expires).Round(time.Second))
		})
	}
	return o.Code(ctx, int(l.port), func(address string) {
		a.stderr.Note("Open", "%s", plain.Line(address))
		if browser {
			a.browse(ctx, address)
		} else {
			a.stderr.Note("Note", "open it in a browser; if that is on another machine, it ends at a page that cannot be reached: paste its address here, and press Enter")
			go signin.Pasted(ctx, address, terminal.Lines(a.stdin), func(words string) { a.stderr.Note("Note", "%s", words) })
		}
	})
}

// browse opens a browser, if there is one.
func (a *app) browse(ctx context.Context, address string) {
	if err := signin.Browse(ctx, address); err != nil {
		a.stderr.Note("Note", "no browser could be started (%v): open the address yourself", err)
	}
}

// tokens returns the tokens of a sign-in at the agent of the command line. An agent that the
// user did not name gets none, because any server may be at its address.
func (a *app) tokens() *signin.Tokens {
	again := a.commands.Line("auth login")
	t := &signin.Tokens{
		Dir: a.around.contexts.SignIns(), Client: &http.Client{Transport: a.issuerClient().Transport}, Hide: a.stderr.Hide, Again: again, Log: a.log,
		Warn: func(err error) { a.stderr.Note("Warning", "you are not signed in: %v; %s", err, again) },
	}
	if !a.unnamed {
		t.Agent, t.Context = signin.Name(a.flags.agentCard), a.signInContext()
	}
	return t
}

// signInContext returns the context whose agent is called; "" if there is none.
func (a *app) signInContext() string {
	if a.settings.foreign {
		return ""
	}
	return a.settings.loaded["context"]
}
