package main

import (
	"encoding/json"
	"flag"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/test/api"
)

var exact = flag.Bool("exact", false, "fail if a command, option or setting is not in the lists of test/api, as before a release")

// Scripts and configuration files keep working: see docs/compatibility.md.
func TestScriptsAndFilesKeepWorking(t *testing.T) {
	var lines []string
	eachCommand(newRoot(&app{}), func(cmd *cobra.Command) {
		lines = append(lines, cmd.CommandPath())
		for _, alias := range cmd.Aliases {
			lines = append(lines, cmd.Parent().CommandPath()+" "+alias)
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name == "help" {
				return
			}
			line := cmd.CommandPath() + " --" + f.Name
			if f.Shorthand != "" {
				line += ", -" + f.Shorthand
			}
			if f.NoOptDefVal == "" {
				line += " <value>"
			}
			lines = append(lines, line)
		})
	})
	holds(t, "cli.txt", lines)

	var schema map[string]any
	if err := json.Unmarshal(config.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	lines = nil
	eachSetting("", schema, func(name string) { lines = append(lines, name) })
	holds(t, "config.txt", lines)
}

func holds(t *testing.T, list string, lines []string) {
	t.Helper()
	const dir = "../../test/api"
	if len(lines) < 100 {
		t.Fatalf("only %d lines for %s", len(lines), list)
	}
	slices.Sort(lines)
	lines = slices.Compact(lines)
	if *update {
		if err := api.Update(dir, list, lines); err != nil {
			t.Fatal(err)
		}
	}
	gone, added, err := api.Check(dir, list, lines)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range gone {
		t.Errorf("gone or changed: %s\n\tif it must be, add the line with a reason to test/api/%s and an entry to CHANGELOG.md", line, api.Exceptions)
	}
	for _, line := range added {
		if *exact {
			t.Errorf("not in test/api/%s: %s (make api adds it)", list, line)
		}
	}
}

// eachCommand visits the commands that help shows, or that packages use.
func eachCommand(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() || sub.Name() == "man" {
			eachCommand(sub, visit)
		}
	}
}

// eachSetting visits the names of all settings: members of objects are joined by dots, a
// name that the writer of the file chooses is *, and an element of a list is [].
func eachSetting(at string, schema any, visit func(string)) {
	switch s := schema.(type) {
	case []any:
		for _, one := range s {
			eachSetting(at, one, visit)
		}
	case map[string]any:
		if members, ok := s["properties"].(map[string]any); ok {
			for name, member := range members {
				to := strings.TrimPrefix(at+"."+name, ".")
				visit(to)
				eachSetting(to, member, visit)
			}
		}
		eachSetting(at+".*", s["additionalProperties"], visit)
		eachSetting(at+"[]", s["items"], visit)
		for _, of := range []string{"anyOf", "oneOf", "allOf"} {
			eachSetting(at, s[of], visit)
		}
	}
}
