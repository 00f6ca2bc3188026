package help_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/internal/help"
)

func manual(t *testing.T, args ...string) string {
	t.Helper()
	page := &help.Page{}
	root := tree(page)
	cmd, _, err := root.Find(args)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Long = strings.Replace(cmd.Long, "verbatim", ".verbatim", 1)
	topic, _, _ := root.Find([]string{"topic"})
	return page.Man(cmd, &help.Manual{Version: "1.2.3-rc1", Date: "2026-11-25", Shared: topic, HasShared: func(*cobra.Command) bool { return cmd.Name() != "prog" }})
}

func TestManualPages(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want []string // in this order
		no   string
	}{
		"the root": {nil, []string{
			".TH PROG 1 \"2026-11-25\" \"prog 1.2.3\\-rc1\" \"Manual of prog\"\n", "SYNOPSIS\n\\fBprog\\fR <command> [options]\n", ".SH DESCRIPTION\nDoes things",
			".PP\n.EX\n  .verbatim   line", ".EE\n", ".SS Acting\n.TP\n\\fBprog\\-act\\fR(1)\nActs\n", ".SS Other\n.TP\n\\fBprog\\-plain\\fR(1)\n", ".SS Topics\n.TP\n\\fBprog\\-topic\\fR(7)\n",
		}, "OPTIONS"},
		"a command": {[]string{"act"}, []string{
			".TH PROG\\-ACT 1", ".nh\n", "prog\\-act \\- Acts\n", "\\fBprog act\\fR [options]\n", ".SH OPTIONS\n.TP\n\\fB\\-\\-zoo\\fR \\fIstring\\fR\ndeclared first\n", "\\-\\-ant",
			"share are in \\fBprog\\-topic\\fR(7).\n", ".SH EXAMPLES\n.PP\n.EX\n  prog act\n.EE\n", ".SH SEE ALSO\n\\fBprog\\fR(1)\n",
		}, "\\-\\-debug"},
		"the topic of the shared options": {[]string{"topic"}, []string{
			".TH PROG\\-TOPIC 7", ".SH DESCRIPTION\nAbout a topic.\n", ".SH OPTIONS\n.SS Shared\n.TP\n\\fB\\-\\-output\\fR \\fIformat\\fR\n", "(default \\(dqtext\\(dq)", "\\fB\\-\\-debug\\fR\nlog more\n",
		}, "share are in"},
	} {
		got := manual(t, test.args...)
		rest := got
		for _, want := range test.want {
			_, after, found := strings.Cut(rest, want)
			if !found {
				t.Errorf("%s: %q is not there, or not in its place:\n%s", name, want, got)
				break
			}
			rest = after
		}
		if strings.Contains(got, test.no) {
			t.Errorf("%s: %q in\n%s", name, test.no, got)
		}
	}
}

// groff finds nothing to complain of, and text cannot give it commands.
func TestManualPagesAreRoff(t *testing.T) {
	if _, err := exec.LookPath("groff"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("groff is not here")
	}
	page := &help.Page{}
	cmd := &cobra.Command{Use: "prog", Short: `a\b "-c"`, Long: ".so /etc/passwd\n'so /etc/passwd\n\\X'x'\n\n  .verbatim\n\n  more", Run: func(*cobra.Command, []string) {}}
	groff := exec.Command("groff", "-man", "-ww", "-Tascii", "-P-c", "-rLL=60n")
	groff.Stdin = strings.NewReader(page.Man(cmd, &help.Manual{Version: "1"}))
	var said strings.Builder
	groff.Stderr = &said
	out, err := groff.Output()
	if err != nil || said.Len() > 0 {
		t.Fatalf("%v: %s", err, said.String())
	}
	for _, want := range []string{`a\b "-c"`, ".so /etc/passwd 'so /etc/passwd", `\X'x'`, "  .verbatim\n"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}
