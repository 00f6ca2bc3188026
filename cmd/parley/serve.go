package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/serve"
)

func newServe(a *app) *cobra.Command {
	var line *serve.Line
	cmd := &cobra.Command{
		Aliases: []string{"demo-server"}, // a2a-cli §7.1: without arguments it is one
		Use:     "serve [options] [-- command arguments...]",
		Short:   "Run an agent: a command, a service, a model, another agent",
		Long: `Run an agent until interrupted. Without arguments it is the built-in demo agent.
With a command behind --, each message runs that command: it reads the message's
text on standard input, each line it prints is streamed as the answer, and exit
status 0 completes the task. --http, --openai, --mcp and --proxy make an agent of an
HTTP service, a model, an MCP server or another A2A agent. parley.yaml can list any
number of agents.

Tasks are kept in --data, and unfinished ones resume at the next start. With --store
they are in a PostgreSQL database that any number of servers share.

The first Ctrl-C drains the server: agents have --drain-timeout to stop, and their
tasks resume at the next start. A second one stops it at once; no task is lost.

By default only users of this machine can call. To serve others, or behind a proxy,
choose who may call with --auth-keys or another option below, or let everybody in
with --allow-anonymous.`,
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
			if err := h.Print(a.stdout, version(), a.around.itself, a.screen.IsTerminal()); err != nil {
				return failure.New(failure.CodeServe, "print: "+err.Error(), err)
			}
			return h.Run(cmd.Context())
		},
	}
	line = a.serveFlags(cmd)
	return cmd
}

// serveFlags gives cmd the flags of parley serve, which help shows in sections, and returns the
// line of their values.
func (a *app) serveFlags(cmd *cobra.Command) *serve.Line {
	cmd.Flags().SortFlags = false
	cmd.Flags().SetInterspersed(false) // so that the error of "serve sh -c x" is about --, not about -c
	sections := serve.Sections()
	for _, s := range sections {
		s.Flags.VisitAll(func(f *pflag.Flag) {
			parsed := *f // a copy, because its Value may be replaced: help formats a default by its type
			cmd.Flags().AddFlag(&parsed)
		})
	}
	a.help.Sections(cmd, sections)
	return serve.Record(cmd.Flags())
}

// noShared refuses the options of commands that call an agent, which have no effect here.
func noShared(cmd *cobra.Command) (err error) {
	cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) {
		if err != nil || !f.Changed {
			return
		}
		wrong := failure.Usagef("--%s is for commands that call an agent: %s does not take it", f.Name, cmd.Name())
		if err = wrong.WithHint("%s --help lists the options", cmd.CommandPath()); f.Name == "config" && cmd.Flags().Lookup("file") != nil {
			err = wrong.WithHint("--file names the settings of a server: %s --file %s", cmd.CommandPath(), serve.QuoteAll([]string{f.Value.String()}))
		}
	})
	return err
}

// behindDash accepts an agent's command after --.
func behindDash(cmd *cobra.Command, args []string) error {
	if err := noShared(cmd); err != nil {
		return err
	}
	dash := cmd.ArgsLenAtDash()
	if len(args) > 0 && dash != 0 {
		return failure.Usagef("unexpected argument %q", args[0]).WithHint("put the agent's command behind --: parley %s -- %s", cmd.Name(), serve.QuoteAll(args))
	}
	if dash == 0 && (len(args) == 0 || args[0] == "") {
		return failure.Usagef("there is no command behind --").WithHint("name one, as in parley %s -- tr a-z A-Z, or leave -- out for the demo agent", cmd.Name())
	}
	return nil
}

// serveEnv returns the environment of parley serve and of the commands on its settings.
func (a *app) serveEnv() *serve.Env {
	return &serve.Env{Lookup: a.around.lookup, Stderr: a.stderr, Terminal: a.screen.Watched(), Migrating: a.migrating(), Version: version(), Program: a.around.itself}
}
