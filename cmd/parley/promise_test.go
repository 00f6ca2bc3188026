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
	api.Hold(t, dir, list, slices.Compact(lines), *update, *exact)
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
