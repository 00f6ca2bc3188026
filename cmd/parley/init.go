package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/database"
	"github.com/parley-a2a/parley/internal/draft"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/internal/serve"
)

// initFlags are init's own flags; the others are serve's, and go into the file.
type initFlags struct{ name, card string }

func newInit(a *app) *cobra.Command {
	var own initFlags
	set := serve.NewFlags()
	line := serve.Record(set)
	cmd := a.configured(&cobra.Command{
		Use:   "init [WHAT] [options of serve...] [-- command arguments...]",
		Short: "Write a parley.yaml for a script, a service or a model",
		Long: `Write a commented parley.yaml, which parley serve then serves. WHAT becomes the agent:

  a script or a program      ./answer.py
  the URL of another agent   https://agent.example.org
  ... of a model's endpoint  http://127.0.0.1:11434/v1
  ... of an MCP server       https://tools.example.org/mcp
  ... of an HTTP service     https://api.example.org/answer
  a card's file              card.json; with a command, the card describes it

parley finds out what is behind a URL with GET requests alone. Options of parley serve
(parley serve --help) go into the file. Without WHAT, parley init takes agent.py,
agent.js, agent.sh or agent from the working directory, or else the demo agent.

An existing file is never overwritten; --file names another, and - prints.`,
		Example: `  parley init ./answer.py
  parley init http://127.0.0.1:11434/v1 --model llama3.2
  parley init --listen :7275 --auth-keys --public-url https://agents.example.org -- ./answer.sh
  parley init --card card.json --lines -- node agent.js
  parley init https://agent.example.org --file -`,
		Args: fileAndFlags,
	}, func(cmd *cobra.Command, args []string) error {
		args, argv := atDash(cmd, args)
		return a.init(cmd.Context(), own, *line, args, argv)
	})
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&own.name, "name", "", "the agent's `name`, a word of a-z, 0-9 and - (default: taken from WHAT)")
	cmd.Flags().StringVar(&own.card, "card", "", "`file` with the agent's card: its description, skills and so on")
	set.VisitAll(func(f *pflag.Flag) {
		f.Hidden = f.Name != "file"
		if f.Name == "file" {
			f.Usage = "`file` to write; - prints it (default: " + serve.DefaultFile + ")"
		}
		cmd.Flags().AddFlag(f)
	})
	return cmd
}

func (a *app) init(ctx context.Context, own initFlags, line serve.Line, args, argv []string) error {
	name := cmp.Or(line.Value("file"), serve.DefaultFile)
	if _, err := os.Lstat(name); name != "-" && !errors.Is(err, fs.ErrNotExist) {
		return failure.Usagef("%s already exists, and is not overwritten", plain.Quote(name)).WithHint("--file names another file, --file - prints what would be written")
	}
	options := serve.Line{{Name: "file"}} // no file is read
	settings := map[string][]string{}
	for _, g := range line {
		if g.Name != "file" {
			options = append(options, g)
			settings[g.Name] = append(settings[g.Name], g.Value)
		}
	}
	form := ""
	for _, f := range serve.Forms {
		if line.Sets(f) {
			form = f
		}
	}
	if len(args) == 0 && len(argv) == 0 && form == "" {
		what, err := draft.WhatIsHere()
		if err != nil {
			return err
		}
		if what != "" {
			args = []string{what}
		}
	}
	script := len(args) > 0 && !draft.IsCard(args[0]) && !strings.Contains(args[0], "://")
	if len(args) > 0 && !script && line.Sets("model") && form == "" {
		options = append(options, serve.Flag{Name: "openai", Value: args[0]})
	}
	s, err := a.serveEnv().Load(options, len(argv) > 0 || script)
	if err != nil {
		return err
	}
	d := &config.Draft{Settings: settings}
	if dir := filepath.Dir(name); name != "-" && dir != "." {
		d.Dir = dir
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	agent, err := draft.Agent(ctx, s, args, argv, own.name, own.card, a.upstreamToken())
	if err != nil {
		return err
	}
	if agent.Exec != nil && agent.Exec.Dir == "" && d.Dir != "" {
		agent.Exec.Dir = "." // the directory in which it was tried
	}
	if extended := line.Value("extended-card"); extended != "" {
		agent.Card.Extended = extended
	}
	d.Agents = []config.Agent{agent}
	a.takeSecrets(d)
	return a.writeDraft(name, d, agent.Name)
}

// upstreamToken returns the file's text for the token of the service behind the agent.
func (a *app) upstreamToken() a2a.Secret {
	if value, _ := a.around.lookup(serve.UpstreamEnv); value != "" {
		return "${env:" + serve.UpstreamEnv + "}"
	}
	return ""
}

// takeSecrets replaces passwords in options by variables.
func (a *app) takeSecrets(d *config.Draft) {
	for flag, env := range map[string]string{"store": database.Env, "egress-proxy": "PARLEY_EGRESS_PROXY"} {
		values := d.Settings[flag]
		if len(values) == 0 || len(database.Passwords(values[len(values)-1])) == 0 {
			continue
		}
		a.stderr.Hide(database.Passwords(values[len(values)-1])...)
		d.Settings[flag] = []string{"${env:" + env + "}"}
		a.stderr.Note("Note", "there is a password in --%s, which does not belong in a file: set the variable %s to the whole value", flag, env)
	}
}

// writeDraft writes the file, if serve will accept it.
func (a *app) writeDraft(name string, d *config.Draft, agent string) error {
	text := d.YAML()
	at := name
	if name == "-" {
		at = serve.DefaultFile
	}
	if _, err := config.Parse(at, text, &config.Options{Elsewhere: true, Check: serve.CheckValue()}); err != nil {
		return serve.FileFailure(at, err)
	}
	if name == "-" {
		_, err := a.stdout.Write(text)
		return err
	}
	if err := create(name, 0o644, func(w io.Writer) error { _, err := w.Write(text); return err }); err != nil {
		if path, ok := errors.AsType[*fs.PathError](err); ok && path.Op == "open" {
			return failure.Usagef("%v", err)
		}
		return failure.New(failure.CodeServe, fmt.Sprintf("write %s: %v", name, err), err)
	}
	if err := a.sayChecked(checkedFile{File: name, Agents: []string{agent}}); err != nil {
		return err
	}
	next := "parley serve"
	if name != serve.DefaultFile {
		next += " --file " + plain.Quote(name)
	}
	a.stderr.Note("Next", "%s", next)
	return nil
}
