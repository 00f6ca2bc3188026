package main

import (
	"errors"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/serve"
)

// fileAndFlags checks the arguments of commands on a parley.yaml: at most one, such as its
// name, and any number after --.
func fileAndFlags(cmd *cobra.Command, args []string) error {
	own, _ := atDash(cmd, args)
	return cobra.MaximumNArgs(1)(cmd, own)
}

// atDash returns the arguments before -- and those after it.
func atDash(cmd *cobra.Command, args []string) (own, behind []string) {
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		return args[:dash], args[dash:]
	}
	return args, nil
}

// fileOf loads the settings that the arguments select, as serve would.
func (a *app) fileOf(cmd *cobra.Command, args []string, elsewhere bool) (*serve.Settings, serve.Line, error) {
	name := serve.DefaultFile
	args, rest := atDash(cmd, args)
	if len(args) > 0 {
		name = args[0]
	} else if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return nil, nil, failure.Usagef("there is no %s here", serve.DefaultFile).WithHint("name a file; parley init writes one")
	}
	set := serve.NewFlags()
	line := serve.Record(set)
	if err := set.Parse(rest); err != nil {
		return nil, nil, usageOf(cmd, err)
	}
	if set.NArg() > 0 || line.Sets("file") {
		return nil, nil, failure.Usagef("behind -- go options of parley serve, without --file and a command")
	}
	*line = append(serve.Line{{Name: "file", Value: name}}, *line...)
	env := a.serveEnv()
	env.Elsewhere = elsewhere
	s, err := env.Load(*line, false)
	return s, *line, err
}
