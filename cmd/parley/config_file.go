package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/internal/config"
)

// fileAndFlags are the arguments of commands that are about a parley.yaml: its
// name, or none for the one in the working directory, and behind -- options of serve.
func fileAndFlags(cmd *cobra.Command, args []string) error {
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		args = args[:dash]
	}
	return cobra.MaximumNArgs(1)(cmd, args)
}

// fileOf sets up what the arguments are about, as serve would.
func (a *app) fileOf(cmd *cobra.Command, args []string) (*serveSetup, given, error) {
	name, rest := defaultFile, []string(nil)
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		args, rest = args[:dash], args[dash:]
	}
	if len(args) > 0 {
		name = args[0]
	} else if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return nil, nil, usagef("there is no %s here", defaultFile).withHint("name a file; parley init writes one")
	}
	set := new(serveFlags).flagSet()
	line := record(set)
	if err := set.Parse(rest); err != nil {
		return nil, nil, usageOf(cmd, err)
	}
	if set.NArg() > 0 || line.isGiven("file") {
		return nil, nil, usagef("behind -- go options of parley serve, without --file and a command")
	}
	*line = append(given{{"file", name}}, *line...)
	s, err := a.setUp(*line, false)
	return s, *line, err
}

// settings are all that parley serve would take, in the order of the reference,
// and then what the file says of agents.
func (s *serveSetup) settings(line given) (list []settingValue) {
	ofFile := map[string]config.Setting{}
	for _, set := range s.file.Settings {
		ofFile[set.Flag] = set
	}
	for _, row := range config.Rows() {
		from, said := s.from[row.Flag]
		v := settingValue{row.Path, row.Default, "default"}
		switch {
		case row.Flag == "store" && !said && s.fromEnv:
			v.Value, v.Source = s.place.String(), "environment variable "+storeEnv
		case !said:
			if starred, ok := strings.CutSuffix(row.Default, "*"); ok {
				v.Value = starred + " where others than this machine's users can call, else none"
			}
		case from.level == fromFlag:
			v.Value, v.Source = line.shown(row), from.where
		default:
			v.Value, v.Source = strings.Join(ofFile[row.Flag].Shown, ", "), from.where
		}
		list = append(list, v)
	}
	for _, v := range s.file.Shown() {
		list = append(list, settingValue{v.Path, v.Value, fmt.Sprintf("%s:%d:%d", s.path, v.Line, v.Column)})
	}
	return list
}

// shown is what the command line says of a flag, without passwords.
func (g given) shown(row config.Row) string {
	var values []string
	for _, f := range g {
		switch {
		case f.name != row.Flag:
			continue
		case secrets[f.name] || f.name == "store" && len(passwords(f.value)) > 0:
			values = append(values, redacted)
		case row.Negated:
			values = append(values, map[string]string{"true": "false", "false": "true"}[f.value])
		default:
			values = append(values, f.value)
		}
	}
	return strings.Join(values, ", ")
}
