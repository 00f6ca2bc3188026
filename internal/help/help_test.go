package help_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/internal/help"
)

// tree is a program with a command that has options of its own and shared ones.
func tree(page *help.Page) *cobra.Command {
	run := func(*cobra.Command, []string) error { return nil }
	root := &cobra.Command{Use: "prog", Long: "Does things that take more words to tell than one line of a\nnarrow terminal has room for.\n\n  verbatim   line that stays as it is, however long it may be"}
	fs := root.PersistentFlags()
	page.Shared = []help.Section{help.NewSection("Shared", func(fs *pflag.FlagSet) {
		fs.String("output", "text", "`format` of what is printed, which is told in so many words that it needs a line more")
		fs.Bool("debug", false, "log more")
	})}
	fs.AddFlagSet(page.Shared[0].Flags)
	act := &cobra.Command{Use: "act", Short: "Acts", Example: "  prog act", RunE: run}
	act.Flags().String("zoo", "", "declared first")
	act.Flags().String("ant", "", "declared second")
	plain := &cobra.Command{Use: "plain", Short: "Is plain", RunE: run}
	plain.Flags().String("output", "", "its own")
	page.Groups = []help.Group{{Title: "Acting", Commands: []*cobra.Command{act}}}
	root.AddCommand(act, plain, &cobra.Command{Use: "topic", Long: "About a topic."})
	page.Install(root)
	return root
}

func show(t *testing.T, page *help.Page, args ...string) string {
	t.Helper()
	root := tree(page)
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetArgs(append(args, "--help"))
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestTheRootListsCommandsByGroupAndNoOptions(t *testing.T) {
	got := show(t, &help.Page{More: []string{"More is elsewhere."}})
	for _, want := range []string{"Usage:\n  prog <command> [options]\n", "\nActing:\n  act         Acts\n", "  plain       Is plain\n", "\nMore is elsewhere.\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	if strings.Contains(got, "--debug") || strings.Contains(got, "topic") {
		t.Errorf("options or topics in:\n%s", got)
	}
}

func TestACommandShowsItsOwnOptionsFirst(t *testing.T) {
	got := show(t, &help.Page{}, "act")
	last := -1
	for _, want := range []string{"Usage:\n  prog act [options]\n", "\nExamples:\n  prog act\n", "\nOptions:\n", "--zoo", "--ant", "\nShared:\n", "--output format"} {
		at := strings.Index(got, want)
		if at <= last {
			t.Errorf("%q is not there, or not in its place:\n%s", want, got)
		}
		last = at
	}
}

func TestAnOptionThatIsShadowedIsNotShownTwice(t *testing.T) {
	if got := show(t, &help.Page{}, "plain"); strings.Count(got, "--output") != 1 || !strings.Contains(got, "--debug") {
		t.Errorf("got:\n%s", got)
	}
}

// A group that does something by itself, as parley conformance, shows its options as well.
func TestAGroupThatWorksAloneShowsItsOptions(t *testing.T) {
	page := &help.Page{}
	root := tree(page)
	act, _, _ := root.Find([]string{"act"})
	act.AddCommand(&cobra.Command{Use: "again", Short: "Acts again", Run: func(*cobra.Command, []string) {}})
	got := act.UsageString()
	last := -1
	for _, want := range []string{"  prog act [options]\n", "  prog act <command> [options]\n", "Commands:\n  again", "Options:\n", "--zoo", "Shared:\n"} {
		at := strings.Index(got, want)
		if at <= last {
			t.Errorf("%q is not there, or not in its place:\n%s", want, got)
		}
		last = at
	}
	if got := page.Man(act, &help.Manual{}); !strings.Contains(got, "\\fBprog act\\fR [options]\n.br\n\\fBprog act\\fR <command>") || !strings.Contains(got, "zoo") {
		t.Errorf("got:\n%s", got)
	}
}

func TestLinesFitTheTerminal(t *testing.T) {
	for _, width := range []int{40, 60, 80} {
		for _, args := range [][]string{nil, {"act"}, {"plain"}} {
			got := show(t, &help.Page{Width: func() int { return width }}, args...)
			for line := range strings.SplitSeq(got, "\n") {
				if len(line) > width && !strings.HasPrefix(line, "  verbatim") {
					t.Errorf("width %d: %d characters: %q", width, len(line), line)
				}
			}
		}
	}
	if got := show(t, &help.Page{Width: func() int { return 1 }}); !strings.Contains(got, "  verbatim   line that stays as it is, however long it may be\n") {
		t.Errorf("got:\n%s", got)
	}
}
