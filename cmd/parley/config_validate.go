package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/output"
)

// checkedFile is a parley.yaml without mistakes.
type checkedFile struct {
	File   string   `json:"file"`
	Agents []string `json:"agents"`
}

func newConfigValidate(a *app) *cobra.Command {
	var elsewhere bool
	cmd := a.configured(&cobra.Command{
		Use:   "validate [--elsewhere] [FILE] [-- options of serve...]",
		Short: "Check a parley.yaml",
		Long: `Check a parley.yaml and report every mistake with its line and column and what was
expected. Exit code 0 means that there is none.

Settings that parley serve does not accept together are reported as well, including
the options behind --. Nothing is served or written.`,
		Example: `  parley config validate
  parley config validate deploy/parley.yaml --elsewhere
  parley config validate parley.yaml -- --public-url https://agents.example.org`,
		Args: fileAndFlags,
	}, func(cmd *cobra.Command, args []string) error {
		s, _, err := a.fileOf(cmd, args, elsewhere)
		if f, ok := errors.AsType[*failure.Error](err); ok && len(f.Lines) > 0 {
			return f.WithHint("docs/config.md has all settings; parley config schema prints them for your editor")
		}
		if err != nil {
			return err
		}
		if err := s.Admitted(); err != nil {
			return err
		}
		c := checkedFile{File: s.Path()}
		for _, agent := range s.File.Agents {
			c.Agents = append(c.Agents, agent.Name)
		}
		return a.sayChecked(c)
	})
	cmd.Flags().BoolVar(&elsewhere, "elsewhere", false, "the file is for another machine: do not look for the variables and files that it names")
	return cmd
}

// sayChecked prints a file without mistakes.
func (a *app) sayChecked(c checkedFile) error {
	return a.print.Doc(c, func(out *output.Writer) {
		out.Field("File", c.File)
		out.Field("Agents", strings.Join(c.Agents, ", "))
		out.Field("Mistakes", "none")
	})
}

func newConfigSchema(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of parley.yaml for editors",
		Long: `Print the JSON Schema (draft 2020-12) of parley.yaml, by which editors complete and
check what is written:

  parley config schema > parley.schema.json

and as the first line of the file:

  # yaml-language-server: $schema=parley.schema.json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := a.stdout.Write(config.Schema())
			return err
		},
	}
}
