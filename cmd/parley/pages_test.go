package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/internal/plain"
)

var (
	pageBlock  = regexp.MustCompile("(?ms)^ *```([^\n`]*)\n(.*?)^ *```$")
	pageInline = regexp.MustCompile("`((?:parley|go run \\./cmd/parley) [^`\n]+)`")
	// pageCall finds calls in a line of a shell: at its start, after an assignment, a pipe
	// or sudo, and in $(…).
	pageCall     = regexp.MustCompile(`(?:^|[|;&(]\s*|\bsudo |- run: |\$ )(?:[A-Z_]+=\S+ )*(?:\./parley|parley|go run \./cmd/parley) ([^|;)>]+)`)
	substitution = regexp.MustCompile(`\$\([^()]*\)`)
	shellWord    = regexp.MustCompile(`"(?:\\.|[^"])*"|'[^']*'|\S+`)
)

// listed returns the files of the repository that match patterns, or all of them; new ones,
// too, that are not committed yet.
func listed(t *testing.T, patterns ...string) []string {
	t.Helper()
	list := exec.Command("git", append([]string{"ls-files", "-z", "--cached", "--others", "--exclude-standard"}, patterns...)...)
	list.Dir = filepath.Join("..", "..")
	names, err := list.Output()
	if err != nil {
		t.Skip("git does not list the repository's files: ", err)
	}
	return strings.FieldsFunc(string(names), func(r rune) bool { return r == 0 })
}

// TestPagesCallParley: each call of parley that a page shows, in a block or in a sentence,
// is a command that there is, with options that it has.
func TestPagesCallParley(t *testing.T) {
	a := &app{stderr: plain.NewWriter(io.Discard), around: surroundings{lookup: func(string) (string, bool) { return "", false }}}
	root, judged := newRoot(a), map[string]bool{}
	for _, name := range listed(t, "*.md") {
		raw, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
		if err != nil || name == "CHANGELOG.md" { // which also names what is gone
			continue
		}
		var found []string
		for _, m := range pageBlock.FindAllStringSubmatch(string(raw), -1) {
			for line := range strings.Lines(m[2]) {
				lang, _, _ := strings.Cut(m[1], " ")
				if lang == "sh" || lang == "yaml" || lang == "console" && strings.HasPrefix(line, "$ ") {
					for _, in := range append(substitution.FindAllString(line, -1), substitution.ReplaceAllString(line, "X")) {
						for _, call := range pageCall.FindAllStringSubmatch(strings.TrimSpace(in), -1) {
							found = append(found, call[1])
						}
					}
				}
			}
		}
		for _, m := range pageInline.FindAllStringSubmatch(pageBlock.ReplaceAllString(string(raw), ""), -1) {
			found = append(found, strings.TrimPrefix(strings.TrimPrefix(m[1], "go run ./cmd/"), "parley "))
		}
		for _, call := range found {
			if judged[call] {
				continue
			}
			judged[call] = true
			if err := parses(root, call); err != nil {
				t.Errorf("%s: parley %s: %v", name, call, err)
			}
		}
	}
	if len(judged) < 100 {
		t.Errorf("%d calls were found: are pages still read as they are written?", len(judged))
	}
}

// parses reports what the command line says of a call, of which a sentence may leave out
// arguments.
func parses(root *cobra.Command, call string) error {
	var args []string
	for _, word := range shellWord.FindAllString(call, -1) {
		args = append(args, strings.Trim(word, `"'`))
	}
	cmd, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	if cmd.HasSubCommands() && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") && rest[0] != "…" {
		return cmd.Args(cmd, rest)
	}
	err = cmd.ParseFlags(rest)
	var lacksValue *pflag.ValueRequiredError
	if errors.As(err, &lacksValue) || errors.Is(err, pflag.ErrHelp) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
