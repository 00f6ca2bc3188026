package main

import (
	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/serve"
)

func newServe(a *app) *cobra.Command {
	var line *serve.Line
	cmd := &cobra.Command{
		Aliases: []string{"demo-server"}, // a2a-cli §7.1: without arguments it is one
		Use:     "serve [flags] [-- command arguments...]",
		Short:   "Run an agent: a command, a service, a model, another agent, or those of a file",
		Long: `Run an agent until interrupted. Without a command it is a built-in one: the demo
agent, or with --agent conformance the one that conformance kits drive. With one,
each message runs the command: the message's text is its standard input, what it
prints is streamed as the answer, line by line, and exit status 0 completes the
task. With --http, --openai, --proxy or --mcp it is a service, a model, another agent
or a server of tools; a file, parley.yaml, has any number of them. Tasks are kept in
--data, and what was running goes on at the next start; with --store in a PostgreSQL
database, which any number of servers share.

The first interrupt drains the server: what runs is told to stop and left for the
next start, for which --drain-timeout gives it time. A second one ends the server at
once; no task is lost by that, either.

Without credentials only this machine's users are served: elsewhere, and behind a
proxy, say who may call (--auth-keys and the other options below), or that
everybody may (--allow-anonymous).`,
		Example: `  parley serve
  parley serve -- tr a-z A-Z
  parley serve --lines --reload -- ./agent.py
  parley serve --openai http://127.0.0.1:11434/v1 --model llama3.2
  parley serve --proxy https://agents.example.org
  parley serve --mcp stdio -- npx some-mcp-server
  parley serve --file parley.yaml
  parley serve --listen 127.0.0.1:8080 --data /var/lib/parley -- ./answer.sh
  parley serve --on-lost fail -- ./pay.sh
  parley serve --listen :7275 --tls-cert cert.pem --tls-key key.pem --auth-keys
  parley serve --ephemeral --agent conformance --card-profile bare
  PARLEY_STORE=postgres://parley:secret@db.example.org/parley parley serve --listen :7275 --auth-keys`,
		Args: behindDash,
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := serve.Open(cmd.Context(), a.serveEnv(), *line, args)
			if err != nil {
				return err
			}
			defer h.Close()
			if err := printStatus(a.stdout, h.Status(), a.around.itself, a.screen.IsTerminal()); err != nil {
				return failure.New(failure.CodeServe, "print: "+err.Error(), err)
			}
			return h.Run(cmd.Context())
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().SetInterspersed(false) // so that "serve sh -c x" is told about --, not about -c
	a.inSections(cmd, serve.Sections())
	line = serve.Record(cmd.Flags())
	return cmd
}

// behindDash takes the command of an agent, behind --.
func behindDash(cmd *cobra.Command, args []string) error {
	dash := cmd.ArgsLenAtDash()
	if len(args) > 0 && dash != 0 {
		return failure.Usagef("unexpected argument %q", args[0]).WithHint("put the agent's command behind --: parley %s -- %s", cmd.Name(), serve.QuoteAll(args))
	}
	if dash == 0 && (len(args) == 0 || args[0] == "") {
		return failure.Usagef("there is no command behind --").WithHint("name one, as in parley %s -- tr a-z A-Z, or leave -- out for the demo agent", cmd.Name())
	}
	return nil
}

// serveEnv is what parley serve, and the commands on its settings, run in.
func (a *app) serveEnv() *serve.Env {
	return &serve.Env{Lookup: a.around.lookup, Stderr: a.stderr, Terminal: a.screen.Watched(), Migrating: a.migrating(), Version: version(), Program: a.around.itself}
}
