package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/internal/serve"
)

func newDoctor(a *app) *cobra.Command {
	var line *serve.Line
	var output *string
	cmd := &cobra.Command{
		Use:   "doctor [options] [-- command arguments...]",
		Short: "Find out why parley serve does not start or work",
		Long: `Check what parley serve would find with the same options, variables and parley.yaml:
port, certificate, callers, data directory, disk, database, API keys, agents and the
services behind them, the clock and the cards. Each line is ok, a warning or a problem,
with what to do about it below.

Nothing is changed: no database is created or migrated, and no file is left behind. The
server may be running. Services behind agents are asked whether they answer, as at the
start of a server; a local MCP server is started for that. No check takes longer than
15 s.

Exit code 1 means that there is a problem; warnings alone exit 0.`,
		Example: `  parley doctor
  parley doctor -f parley.yaml
  parley doctor --listen :7275 --tls-cert cert.pem --tls-key key.pem --auth-keys
  parley doctor --data /var/lib/parley -- ./answer.sh
  parley doctor -o json`,
		Args: behindDash,
		RunE: func(cmd *cobra.Command, args []string) error {
			found := serve.Examine(cmd.Context(), a.serveEnv(), *line, args)
			for i := range found {
				found[i].Detail, found[i].Do = a.stderr.Redact(found[i].Detail), a.stderr.Redact(found[i].Do)
			}
			if slices.ContainsFunc(found, func(f serve.Finding) bool { return f.Result == serve.ResultProblem }) {
				a.exit = failure.New(failure.CodeServe, "", nil).Exit()
			}
			if *output == "json" {
				return a.sayJSON(found)
			}
			return a.sayFindings(found)
		},
	}
	line = a.serveFlags(cmd)
	output = outputFlag(cmd.Flags())
	return cmd
}

// sayFindings prints one line for each finding, and the advice below it.
func (a *app) sayFindings(found []serve.Finding) error {
	count := map[string]int{}
	for _, f := range found {
		count[f.Result]++
		text := fmt.Sprintf("%-8s %-9s %s", f.Result, f.Check, f.Detail)
		if f.Do != "" {
			text += fmt.Sprintf("\n%18s to do: %s", "", f.Do)
		}
		if err := a.say("%s", text); err != nil {
			return err
		}
	}
	return a.say("%s, %s", plain.Count(count[serve.ResultProblem], "problem"), plain.Count(count[serve.ResultWarning], "warning"))
}
