package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// section is a part of a command's options, with a title in its help: serve has
// too many for one list.
type section struct {
	title string
	flags *pflag.FlagSet
}

// newSection returns a section with the flags that register declares.
func newSection(title string, register func(*pflag.FlagSet)) section {
	s := section{title, pflag.NewFlagSet(title, pflag.ContinueOnError)}
	s.flags.SortFlags = false
	register(s.flags)
	return s
}

// helpWidth is how wide the lines of sections are, in characters.
const helpWidth = 100

// inSections gives cmd the flags of some sections, and a help that shows them
// apart.
func inSections(cmd *cobra.Command, sections []section) {
	for _, s := range sections {
		s.flags.VisitAll(func(f *pflag.Flag) {
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
				if s.flags.Lookup(f.Name) != nil {
					return
				}
			}
			rest.AddFlag(f)
		})
		for _, s := range append(sections, section{"Other", rest}) {
			fmt.Fprintf(&out, "\n%s:\n%s", s.title, s.flags.FlagUsagesWrapped(helpWidth))
		}
		_, err := fmt.Fprint(cmd.OutOrStdout(), out.String())
		return err
	})
}
