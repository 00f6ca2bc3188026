// Package help formats the output of --help: commands in groups, a command's own options first,
// the shared ones below in sections, and every line wrapped to the width of the reader's
// terminal.
//
// A Page belongs to one tree of commands and to one goroutine.
package help

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Section is a titled part of the options, because there are too many for one list.
type Section struct {
	Title string
	Flags *pflag.FlagSet
}

// NewSection returns a section of the flags that register declares, in that order.
func NewSection(title string, register func(*pflag.FlagSet)) Section {
	s := Section{title, pflag.NewFlagSet(title, pflag.ContinueOnError)}
	s.Flags.SortFlags = false
	register(s.Flags)
	return s
}

// Group is a part of the root's commands.
type Group struct {
	Title    string
	Commands []*cobra.Command
}

// Page is the help of a tree of commands.
type Page struct {
	// Width returns the number of characters in a line. Nil means 80.
	Width func() int
	// Groups are the root's commands, in the order of its help. Commands in no group come last.
	Groups []Group
	// Shared are the persistent options of the root. Commands show those that are not hidden;
	// the root and groups of commands show none.
	Shared []Section
	// More are the last lines of the root's help.
	More []string

	own map[*cobra.Command][]Section
}

// Install makes root, and all commands below it, show their help in this form.
func (p *Page) Install(root *cobra.Command) {
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		about := cmp.Or(cmd.Long, cmd.Short+".")
		text := strings.TrimSpace(strings.Join([]string{Fill(about, p.width()), strings.TrimPrefix(p.usage(cmd), "\n")}, "\n\n"))
		_, _ = io.WriteString(cmd.OutOrStdout(), text+"\n") // an error of help is ignored
	})
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		_, err := io.WriteString(cmd.OutOrStdout(), p.usage(cmd))
		return err
	})
}

// Sections sets the sections for a command's options. Options in no section come last.
func (p *Page) Sections(cmd *cobra.Command, sections []Section) {
	if p.own == nil {
		p.own = map[*cobra.Command][]Section{}
	}
	p.own[cmd] = sections
}

func (p *Page) width() int {
	if p.Width == nil {
		return 80
	}
	return min(max(p.Width(), 40), 100) // longer lines are hard to read
}

func (p *Page) usage(cmd *cobra.Command) string {
	var out strings.Builder
	switch {
	case cmd.HasAvailableSubCommands():
		options := ""
		fmt.Fprint(&out, "Usage:\n")
		if p.worksAlone(cmd) {
			fmt.Fprintf(&out, "  %s [options]\n", cmd.CommandPath())
			options = p.options(append(p.ownOf(cmd), p.sharedBy(cmd)...))
		}
		fmt.Fprintf(&out, "  %s <command> [options]\n", cmd.CommandPath())
		p.examples(&out, cmd)
		p.commands(&out, cmd)
		out.WriteString(options)
		fmt.Fprintf(&out, "\n%s\n", Fill(cmd.CommandPath()+" <command> --help shows a command's options and examples.", p.width()))
		if !cmd.HasParent() {
			for _, line := range p.More {
				fmt.Fprintln(&out, Fill(line, p.width()))
			}
		}
	case cmd.Runnable():
		options := p.options(append(p.ownOf(cmd), p.sharedBy(cmd)...))
		line := strings.TrimSuffix(cmd.UseLine(), " [flags]")
		if options != "" && !strings.Contains(line, "options") {
			line += " [options]"
		}
		fmt.Fprintf(&out, "Usage:\n  %s\n", line)
		p.examples(&out, cmd)
		out.WriteString(options)
	default: // a topic
		out.WriteString(p.options(p.sharedBy(cmd)))
	}
	return out.String()
}

// worksAlone reports whether a command with subcommands also works without them.
func (p *Page) worksAlone(cmd *cobra.Command) bool {
	return cmd.HasParent() && slices.ContainsFunc(p.ownOf(cmd), func(s Section) bool { return s.Flags.HasAvailableFlags() })
}

func (p *Page) examples(out *strings.Builder, cmd *cobra.Command) {
	if cmd.HasExample() {
		fmt.Fprintf(out, "\nExamples:\n%s\n", cmd.Example)
	}
}

// commands lists the subcommands of cmd in their groups.
func (p *Page) commands(out *strings.Builder, cmd *cobra.Command) {
	groups, width := p.groupsOf(cmd), 0
	for _, sub := range cmd.Commands() {
		width = max(width, len(sub.Name()))
	}
	for _, g := range groups {
		fmt.Fprintf(out, "\n%s:\n", g.Title)
		for _, sub := range g.Commands {
			text := Fill(sub.Short, p.width()-width-4)
			fmt.Fprintf(out, "  %-*s  %s\n", width, sub.Name(), strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", width+4)))
		}
	}
}

// groupsOf returns the subcommands of cmd in their groups; those in no group come last.
func (p *Page) groupsOf(cmd *cobra.Command) []Group {
	rest := Group{Title: "Commands"}
	var groups []Group
	if !cmd.HasParent() && len(p.Groups) > 0 {
		groups, rest.Title = p.Groups, "Other"
	}
	for _, sub := range cmd.Commands() {
		grouped := slices.ContainsFunc(groups, func(g Group) bool { return slices.Contains(g.Commands, sub) })
		if !grouped && (sub.IsAvailableCommand() || sub.Name() == "help") {
			rest.Commands = append(rest.Commands, sub)
		}
	}
	return append(groups[:len(groups):len(groups)], rest)
}

// ownOf returns the options of a command that are not shared.
func (p *Page) ownOf(cmd *cobra.Command) []Section {
	sections := p.own[cmd]
	title := "Options"
	if len(sections) > 0 {
		title = "Other"
	}
	rest := NewSection(title, func(fs *pflag.FlagSet) {
		cmd.Flags().SortFlags = false // in the order of declaration
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			elsewhere := slices.ContainsFunc(sections, func(s Section) bool { return s.Flags.Lookup(f.Name) != nil })
			if !elsewhere && f.Name != "help" { // the reader knows it
				fs.AddFlag(f)
			}
		})
	})
	return append(sections[:len(sections):len(sections)], rest)
}

// Unmark takes the quotes off what the descriptions of a command's options call their
// values: a shell that completes them shows them as they are.
func Unmark(cmd *cobra.Command) {
	unmark := func(f *pflag.Flag) { f.Usage = strings.ReplaceAll(f.Usage, "`", "") }
	cmd.LocalFlags().VisitAll(unmark)
	cmd.InheritedFlags().VisitAll(unmark)
}

// sharedBy returns the shared options of cmd that it does not redefine.
func (p *Page) sharedBy(cmd *cobra.Command) (sections []Section) {
	inherited := cmd.InheritedFlags()
	for _, s := range p.Shared {
		sections = append(sections, NewSection(s.Title, func(fs *pflag.FlagSet) {
			s.Flags.VisitAll(func(f *pflag.Flag) {
				if inherited.Lookup(f.Name) != nil {
					fs.AddFlag(f)
				}
			})
		}))
	}
	return sections
}

func (p *Page) options(sections []Section) string {
	var out strings.Builder
	for _, s := range sections {
		if s.Flags.HasAvailableFlags() {
			fmt.Fprintf(&out, "\n%s:\n%s", Fill(s.Title, p.width()-1), s.Flags.FlagUsagesWrapped(p.width()))
		}
	}
	return out.String()
}

// Fill wraps paragraphs to a width. Lines that begin with a space stay unchanged.
func Fill(text string, width int) string {
	var out, paragraph []string
	end := func() {
		if len(paragraph) > 0 {
			out = append(out, wrap(strings.Join(paragraph, " "), width)...)
			paragraph = nil
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" || line[0] == ' ' {
			end()
			out = append(out, line)
			continue
		}
		paragraph = append(paragraph, line)
	}
	end()
	return strings.Join(out, "\n")
}

func wrap(text string, width int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(lines, line)
}
