package main

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/flagvalue"
	"github.com/parley-a2a/parley/internal/receiver"
	"github.com/parley-a2a/parley/internal/serve"
	"github.com/parley-a2a/parley/internal/signin"
)

// listenFlags are the options of push listen.
type listenFlags struct {
	listen string
	tasks  []string
	accept a2aclient.WebhookOptions
	answer receiver.Options
}

func newPushListen(a *app) *cobra.Command {
	f := listenFlags{listen: "127.0.0.1:0", answer: receiver.Options{Status: http.StatusOK}}
	cmd := a.client(&cobra.Command{
		Use:   "listen",
		Short: "Receive, verify, print and answer webhooks on this machine",
		Long: `Receive webhooks, print each on a line as it arrives, and answer it. The first line
is the URL to pass to parley send --push-url or parley task push-config create --url.

With --agent-card, each delivery must be signed with a key that the agent publishes at
/.well-known/jwks.json; with --token, also with the token. Others are refused with 401
and printed as refused. With neither option, everything is accepted. Repeated
deliveries are marked. -o json prints one JSON object a line.

An agent signs for all its callers with the same keys, so a key alone does not prove
that a delivery is yours. Add --token, or --source: parley task push-config create,
get and list print the source of your webhooks, which stays the same.

It runs until interrupted, or until --count deliveries have arrived.`,
		Example: `  parley push listen -a http://127.0.0.1:7275 --listen 127.0.0.1:8081
  parley push listen --status 503 --fail 3`,
		Args: cobra.NoArgs,
	}, func(ctx context.Context, _ []string) error {
		return a.listen(ctx, &f)
	})
	fs := cmd.Flags()
	fs.Var(flagvalue.Address(&f.listen), "listen", "`address` to listen on, or just a port of this machine; 0 takes a free one")
	fs.StringVar(&f.accept.Keys, "keys", "", "`URL` of the agent's keys, if they are not where its --agent-card is")
	fs.StringVar(&f.accept.Token, "token", "", "`token` of the webhook, with which deliveries must be signed")
	fs.StringArrayVar(&f.accept.Sources, "source", nil, "`source` of your webhooks: accept only what is signed for this caller; may be repeated")
	fs.StringArrayVar(&f.tasks, "task", nil, "accept only what is about this `task`; may be repeated")
	fs.Var(flagvalue.Of("status", &f.answer.Status, parseStatus, strconv.Itoa), "status", "status to answer valid deliveries with, to see what the agent does then")
	fs.IntVar(&f.answer.Fail, "fail", 0, "answer only the first `n` with --status (503 if not given), the others with 200")
	fs.IntVar(&f.answer.Count, "count", 0, "stop after `n` accepted deliveries, not counting duplicates")
	return cmd
}

func (a *app) listen(ctx context.Context, f *listenFlags) error {
	o, answer := &f.accept, &f.answer
	if answer.Fail < 0 || answer.Count < 0 {
		return failure.Usagef("--fail and --count cannot be negative")
	}
	if answer.Fail > 0 && answer.Status == http.StatusOK {
		answer.Status = http.StatusServiceUnavailable
	}
	a.stderr.Hide(o.Token)
	var err error
	if o.Keys, err = keysURL(o.Keys, a.flags.agentCard); err != nil {
		return err
	}
	o.AnySource = o.Token == "" && len(o.Sources) == 0
	o.Unsigned = o.Keys == "" && o.Token == ""
	o.HTTPClient = a.httpClient()
	if o.Unsigned && len(o.Sources) > 0 {
		return failure.Usagef("--source needs --agent-card, --keys or --token: nothing else proves it")
	}
	if len(f.tasks) > 0 {
		o.Task = func(_ context.Context, id string) bool { return slices.Contains(f.tasks, id) }
	}
	v, err := a2aclient.NewWebhookVerifier(*o)
	if err != nil {
		return failure.Usagef("%v", err).WithHint("--keys or --agent-card must lead to an https URL, or http on this machine; --token must be one that Parley takes, --source one that it printed")
	}
	l, err := serve.Listen("parley push listen --listen", f.listen)
	if err != nil {
		return err
	}
	defer l.Close() // Serve closes it, too

	if a.flags.machine() && (a.flags.output != "json" || a.flags.jq != nil) {
		return failure.Usagef("push listen prints text or json, and not %s", a.flags.output)
	}
	answer.Out, answer.JSON, answer.AnySource = a.stdout, a.flags.output == "json", o.AnySource
	r := receiver.New(v, *answer)
	if err := r.Hello(serve.LocalURL(l.Addr(), false) + "/"); err != nil {
		return err
	}
	switch {
	case o.Unsigned:
		a.stderr.Note("Note", "nothing is verified: --agent-card and --token say what deliveries must be signed with")
	case o.AnySource:
		a.stderr.Note("Note", "deliveries for all callers of the agent are accepted: --token or --source limits them to yours")
	}
	err = r.Serve(ctx, l)
	if errors.Is(err, errTimeout) {
		return failure.New(failure.CodeTimeout, "--timeout is over", errTimeout).WithHint("leave it out to listen until it is interrupted")
	}
	return err
}

// keysURL returns the URL of the agent's keys, which --keys may give; "" if none is given.
func keysURL(given, agent string) (string, error) {
	if given != "" || agent == "" {
		return given, nil
	}
	file := !strings.Contains(agent, "://") && (strings.ContainsAny(agent[:1], `./\~`) || strings.HasSuffix(agent, ".json"))
	u := a2a.WebURL(signin.Name(agent))
	if file || u == nil {
		return "", failure.Usagef("--agent-card does not say where the agent's keys are").WithHint("give its URL, or --keys")
	}
	if i := strings.Index(u.Path, "/.well-known/"); i >= 0 {
		u.Path = u.Path[:i]
	}
	u.RawPath, u.RawQuery, u.Fragment = "", "", ""
	return u.JoinPath("/.well-known/jwks.json").String(), nil
}
