package help

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Manual is the information in manual pages that help does not have.
type Manual struct {
	Version string // of the program
	Date    string // of that version; "" omits it, so that the same program always has the same pages
	// Shared is the topic with the shared options, for pages of commands that have them.
	Shared *cobra.Command
	// HasShared reports whether a command has the shared options. Nil: none has.
	HasShared func(*cobra.Command) bool
}

// ManName returns the name of a command's manual page with its section: parley-task-get.1.
// Topics are in section 7.
func ManName(cmd *cobra.Command) string {
	section := "1"
	if cmd.IsAdditionalHelpTopicCommand() {
		section = "7"
	}
	return strings.ReplaceAll(cmd.CommandPath(), " ", "-") + "." + section
}

// WriteMan writes the manual pages of a command and its subcommands to a directory.
func (p *Page) WriteMan(cmd *cobra.Command, m *Manual, dir string) error {
	if err := os.WriteFile(filepath.Join(dir, ManName(cmd)), []byte(p.Man(cmd, m)), 0o666); err != nil {
		return err
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() || sub.IsAdditionalHelpTopicCommand() {
			if err := p.WriteMan(sub, m, dir); err != nil {
				return err
			}
		}
	}
	return nil
}

// Man returns a command's manual page in the man macros of roff.
func (p *Page) Man(cmd *cobra.Command, m *Manual) string {
	var out strings.Builder
	title, section, _ := strings.Cut(ManName(cmd), ".")
	root := cmd.Root().Name()
	fmt.Fprintf(&out, ".TH %s %s \"%s\" \"%s %s\" \"Manual of %s\"\n.nh\n.ad l\n", roff(strings.ToUpper(title)), section, m.Date, root, roff(m.Version), root)
	fmt.Fprintf(&out, ".SH NAME\n%s \\- %s\n", roff(title), roff(cmd.Short))
	topic := cmd.IsAdditionalHelpTopicCommand()
	if !topic {
		p.manSynopsis(&out, cmd)
	}
	about := cmp.Or(cmd.Long, cmd.Short+".")
	fmt.Fprint(&out, ".SH DESCRIPTION\n", paragraphs(about))
	if cmd.HasAvailableSubCommands() {
		p.manCommands(&out, cmd)
	}
	if cmd.HasParent() { // the root's own options are the shared ones
		sections := p.ownOf(cmd)
		if topic && cmd == m.Shared {
			sections = p.Shared
		}
		for i, s := range sections {
			manOptions(&out, s, i == 0)
		}
	}
	if m.HasShared != nil && m.HasShared(cmd) && cmd != m.Shared {
		fmt.Fprintf(&out, ".PP\nThe options that commands share are in %s.\n", manRef(m.Shared))
	}
	if cmd.HasExample() {
		fmt.Fprintf(&out, ".SH EXAMPLES\n%s", paragraphs(cmd.Example))
	}
	if cmd.HasParent() {
		fmt.Fprintf(&out, ".SH SEE ALSO\n%s\n", manRef(cmd.Parent()))
	}
	return out.String()
}

func (p *Page) manSynopsis(out *strings.Builder, cmd *cobra.Command) {
	name := cmd.CommandPath()
	fmt.Fprint(out, ".SH SYNOPSIS\n")
	if cmd.HasAvailableSubCommands() {
		if p.worksAlone(cmd) {
			fmt.Fprintf(out, "\\fB%s\\fR [options]\n.br\n", roff(name))
		}
		fmt.Fprintf(out, "\\fB%s\\fR <command> [options]\n", roff(name))
		return
	}
	line := strings.TrimSuffix(cmd.UseLine(), " [flags]")
	if !strings.Contains(line, "options") {
		line += " [options]"
	}
	fmt.Fprintf(out, "\\fB%s\\fR%s\n", roff(name), roff(strings.TrimPrefix(line, name)))
}

// manCommands lists the pages of the subcommands of cmd, in their groups.
func (p *Page) manCommands(out *strings.Builder, cmd *cobra.Command) {
	fmt.Fprint(out, ".SH COMMANDS\n")
	for _, g := range p.groupsOf(cmd) {
		if !cmd.HasParent() {
			fmt.Fprintf(out, ".SS %s\n", roff(g.Title))
		}
		for _, sub := range g.Commands {
			if sub.Name() != "help" {
				fmt.Fprintf(out, ".TP\n%s\n%s\n", manRef(sub), roff(sub.Short))
			}
		}
	}
	var topics []string
	for _, sub := range cmd.Commands() {
		if sub.IsAdditionalHelpTopicCommand() {
			topics = append(topics, ".TP\n"+manRef(sub)+"\n"+roff(sub.Short)+"\n")
		}
	}
	if len(topics) > 0 {
		fmt.Fprintf(out, ".SS Topics\n%s", strings.Join(topics, ""))
	}
}

func manOptions(out *strings.Builder, s Section, first bool) {
	if !s.Flags.HasAvailableFlags() {
		return
	}
	if first {
		fmt.Fprint(out, ".SH OPTIONS\n")
	}
	if s.Title != "Options" {
		fmt.Fprintf(out, ".SS %s\n", roff(s.Title))
	}
	s.Flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" {
			return
		}
		one := pflag.NewFlagSet("", pflag.ContinueOnError)
		one.AddFlag(f)
		// pflag knows the name of the value, and whether there is a default to show.
		_, usage, _ := strings.Cut(strings.TrimSpace(one.FlagUsages()), "   ")
		name := "\\fB\\-\\-" + roff(f.Name) + "\\fR"
		if f.Shorthand != "" {
			name = "\\fB\\-" + f.Shorthand + "\\fR, " + name
		}
		if value, _ := pflag.UnquoteUsage(f); value != "" {
			name += " \\fI" + roff(value) + "\\fR"
		}
		fmt.Fprintf(out, ".TP\n%s\n%s\n", name, roff(usage))
	})
}

func manRef(cmd *cobra.Command) string {
	name, section, _ := strings.Cut(ManName(cmd), ".")
	return "\\fB" + roff(name) + "\\fR(" + section + ")"
}

// paragraphs formats text as Fill does: lines that begin with a space stay unchanged.
func paragraphs(text string) string {
	var out strings.Builder
	verbatim, begun := false, false
	for line := range strings.SplitSeq(text, "\n") {
		if as := strings.HasPrefix(line, " "); as != verbatim && line != "" {
			out.WriteString(map[bool]string{true: ".PP\n.EX\n", false: ".EE\n.PP\n"}[as])
			verbatim = as
		}
		switch {
		case line != "":
			out.WriteString(roff(line) + "\n")
			begun = true
		case verbatim:
			out.WriteString("\n")
		case begun:
			out.WriteString(".PP\n")
		}
	}
	if verbatim {
		out.WriteString(".EE\n")
	}
	// A paragraph before an example begins only once.
	return strings.ReplaceAll(out.String(), ".PP\n.PP\n", ".PP\n")
}

// roff escapes text, so that hyphens can be copied and no line is a request.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, `"`, `\(dq`, "\t", "    ").Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
