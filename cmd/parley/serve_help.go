package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/internal/serve"
)

// helpWidth is how wide the lines of sections are, in characters.
const helpWidth = 100

// inSections gives cmd the flags of some sections, and a help that shows them
// apart.
func inSections(cmd *cobra.Command, sections []serve.Section) {
	for _, s := range sections {
		s.Flags.VisitAll(func(f *pflag.Flag) {
			parsed := *f // whose value may be another one: help knows how to show a default by its type
			cmd.Flags().AddFlag(&parsed)
		})
	}
	cmd.SetUsageFunc(func(cmd *cobra.Command) error {
		var out strings.Builder
		fmt.Fprintf(&out, "Usage:\n  %s\n\nExamples:\n%s\n", cmd.UseLine(), cmd.Example)
		rest := pflag.NewFlagSet("", pflag.ContinueOnError)
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			for _, s := range sections {
				if s.Flags.Lookup(f.Name) != nil {
					return
				}
			}
			rest.AddFlag(f)
		})
		for _, s := range append(sections, serve.Section{Title: "Other", Flags: rest}) {
			fmt.Fprintf(&out, "\n%s:\n%s", s.Title, s.Flags.FlagUsagesWrapped(helpWidth))
		}
		_, err := fmt.Fprint(cmd.OutOrStdout(), out.String())
		return err
	})
}
