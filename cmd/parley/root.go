package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/help"
)

// newRoot returns the command tree of one invocation.
func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "parley",
		Short: "Run and call agents over the Agent2Agent (A2A) protocol",
		Long: `Run and call agents over the Agent2Agent (A2A) protocol.

parley serve runs an agent and keeps its tasks on disk; the other commands talk
to any A2A agent, by default to the one that parley serve runs on this machine.`,
		Example: `  parley serve
  parley send "echo hello"
  parley send -a https://agents.example.org --stream "stream 20 200"`,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.SetGlobalNormalizationFunc(aliases)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usageOf(cmd, err) })
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	a.help.Width = a.screen.Width
	a.help.Shared = a.flags.register(root.PersistentFlags())
	a.help.More = []string{"parley help options lists the options that commands share, and parley help exit-codes the exit codes."}
	a.help.Install(root)
	show := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		a.showEffective(cmd)
		show(cmd, args)
	})
	group(root)
	a.help.Groups = []help.Group{
		{Title: "Run an agent", Commands: []*cobra.Command{
			newServe(a), newInit(a), newDoctor(a),
			group(&cobra.Command{Use: "config", Short: "Check a parley.yaml; show the settings in force"}, newConfigShow(a), newConfigValidate(a), newConfigSchema(a)),
			newKey(a),
			group(&cobra.Command{Use: "admin", Short: "Inspect, delete, back up and move the tasks of parley serve"},
				newAdminStatus(a), newAdminTasks(a), newAdminConsole(a), newAdminGC(a), newAdminErase(a), newAdminBackup(a), newAdminExport(a), newAdminImport(a), newAdminPush(a), newAdminStore(a)),
		}},
		{Title: "Call an agent", Commands: []*cobra.Command{
			newSend(a), newChat(a),
			group(&cobra.Command{Use: "task", Short: "Show, list, follow, cancel and download tasks"},
				newTaskGet(a), newTaskList(a), newTaskCancel(a), newTaskSubscribe(a), newTaskDownload(a), newTaskPush(a)),
			group(&cobra.Command{Use: "card", Short: "Fetch, sign and verify agent cards"}, newCardGet(a), newCardSign(a), newCardVerify(a), newCardKeygen(a)),
			newContext(a), newCatalog(a), newAuth(a),
			group(&cobra.Command{Use: "push", Short: "Receive webhooks on this machine"}, newPushListen(a)),
			newMCP(a), newConformance(a),
		}},
	}
	for _, g := range a.help.Groups {
		root.AddCommand(g.Commands...)
	}
	root.AddCommand(newVersion(a), newMan(a), optionsTopic(), exitCodesTopic())
	a.complete(root)
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "completion":
			group(cmd)
			cmd.Short, cmd.Long = "Print a completion script for your shell", ""
		case "help":
			cmd.Use, cmd.Short = "help [command | topic]", "Explain a command or a topic"
			cmd.Long = "Explain a command or a topic. The topics are options and exit-codes."
			cmd.Args = func(_ *cobra.Command, args []string) error {
				if found, rest, _ := root.Find(args); found.HasSubCommands() {
					return found.Args(found, rest)
				}
				return nil
			}
		}
	}
	sayArgs(root)
	return root
}

// optionsTopic is parley help options.
func optionsTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "options",
		Short: "The options shared by all commands that call an agent",
		Long: `Commands that call an agent share these options.

Each can also be set by a variable, A2ACLI_ and the option's name in capitals
(A2ACLI_AGENT_CARD for --agent-card), or by a line of that name in a file: the
nearest .env from the working directory upwards, or ~/.config/a2a-cli/.env. An
option overrides variables, and variables override files. Only --stream has no
variable. parley config show lists the values in force and where each comes from.`,
		Annotations: shared,
	}
}

// exitCodesTopic is parley help exit-codes.
func exitCodesTopic() *cobra.Command {
	return &cobra.Command{Use: "exit-codes", Short: "What the exit codes mean", Long: failure.ExitCodes}
}

// group makes parent a command that only holds other commands: alone it shows its help, and an
// unknown word is a usage error.
func group(parent *cobra.Command, children ...*cobra.Command) *cobra.Command {
	parent.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		f := failure.Usagef("unknown command %q for %q", args[0], cmd.CommandPath())
		if like := cmd.SuggestionsFor(args[0]); len(like) > 0 {
			return f.WithHint("did you mean %s %s?", cmd.CommandPath(), strings.Join(like, " or "))
		}
		return f.WithHint("%s --help lists the commands", cmd.CommandPath())
	}
	parent.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	parent.SuggestionsMinimumDistance = 2 // number of edits
	parent.AddCommand(children...)
	return parent
}

// client makes cmd a command that calls agents: its options are resolved before it runs, and
// --timeout bounds it.
func (a *app) client(cmd *cobra.Command, run func(ctx context.Context, args []string) error) *cobra.Command {
	cmd.Annotations = shared
	return a.configured(cmd, func(cmd *cobra.Command, args []string) error {
		ctx, cancel := a.limited(cmd.Context())
		defer cancel()
		err := a.traced(ctx, cmd.CommandPath(), func(ctx context.Context) error { return run(ctx, args) })
		if err != nil {
			return a.explain(ctx, err)
		}
		a.noteVersion()
		return nil
	})
}

// readsSettings marks the commands whose help shows the shared options: "all", those of
// "output", or those that a "context" keeps.
const readsSettings = "reads settings"

var shared = map[string]string{readsSettings: "all"}

// showsOption reports whether help shows a shared option in a command marked with shows.
func showsOption(shows, name string) bool {
	switch shows {
	case "all":
		return true
	case "output":
		return name == "output" || name == "jq"
	case "context":
		return slices.Contains(inContexts[1:], name)
	}
	return false
}

// configured makes cmd a command whose options are resolved before it runs.
func (a *app) configured(cmd *cobra.Command, run func(cmd *cobra.Command, args []string) error) *cobra.Command {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{readsSettings: "output"}
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := a.configure(cmd.Context(), cmd.Flags()); err != nil {
			return err
		}
		return run(cmd, args)
	}
	return cmd
}

// usageOf turns cobra's error about the command line into a usage failure. It returns failures
// unchanged.
func usageOf(cmd *cobra.Command, err error) *failure.Error {
	if f, ok := errors.AsType[*failure.Error](err); ok {
		return f
	}
	value, invalid := errors.AsType[*pflag.InvalidValueError](err)
	if invalid && secrets[value.GetFlag().Name] { // its text contains the value
		err = fmt.Errorf("invalid argument for --%s: %w", value.GetFlag().Name, value.Unwrap())
	}
	if number, ok := errors.AsType[*strconv.NumError](err); ok && invalid { // it names a Go function
		must := "must be a whole number"
		switch kind := value.GetFlag().Value.Type(); {
		case errors.Is(err, strconv.ErrRange):
			must = "is out of range"
		case kind == "bool":
			must = "must be true or false"
		case kind == "float64":
			must = "must be a number"
		}
		err = errors.New(strings.Replace(err.Error(), number.Error(), must, 1))
	}
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if like := config.Similar(unknown.GetSpecifiedName(), names); like != "" {
			return failure.Usagef("%v", err).WithHint("did you mean --%s? %s --help lists the options", like, cmd.CommandPath())
		}
	}
	return failure.Usagef("%v", err).WithHint("%s --help shows how it is used", cmd.CommandPath())
}

// hideUnread hides the shared options that do not apply to a command.
func hideUnread(cmd *cobra.Command) (some bool) {
	shows := cmd.Annotations[readsSettings]
	if shows == "all" || !cmd.HasParent() {
		return false
	}
	cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) { f.Hidden = !showsOption(shows, f.Name) })
	return true
}

// showEffective makes help show the values in force as defaults (a2a-cli §6.5), and hides the
// shared options that do not apply. Errors in the configuration are left for the command to
// report.
func (a *app) showEffective(cmd *cobra.Command) {
	if hideUnread(cmd) {
		return
	}
	s, _, err := loadSettings(a.around, a.flags.config, a.flags.context)
	if err != nil || s.apply(cmd.Flags()) != nil {
		return
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if from, ok := s.from[f.Name]; ok && from.level != fromDefault && from.level != fromFlag {
			f.DefValue = shown(f)
			f.Usage += "; from " + from.where
		}
	})
}
