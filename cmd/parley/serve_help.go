package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/internal/help"
	"github.com/parley-a2a/parley/internal/serve"
)

// inSections gives cmd the flags of some sections, which help shows apart.
func (a *app) inSections(cmd *cobra.Command, sections []serve.Section) {
	var shown []help.Section
	for _, s := range sections {
		s.Flags.VisitAll(func(f *pflag.Flag) {
			parsed := *f // whose value may be another one: help knows how to show a default by its type
			cmd.Flags().AddFlag(&parsed)
		})
		shown = append(shown, help.Section(s))
	}
	a.help.Sections(cmd, shown)
}
