package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/internal/failure"
)

// newRoot returns the command tree of one invocation.
func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "parley",
		Short: "Run and call agents over the Agent2Agent (A2A) protocol",
		Long: `Run and call agents over the Agent2Agent (A2A) protocol.

parley serve runs an agent and keeps its tasks on disk; the other commands talk
to any A2A agent. Options can also be set by A2ACLI_* environment variables or
in a .env file (a flag wins over the environment, the environment over files);
parley config show says what is in force and why.

Exit codes: 0 the command did its job, whatever the agent decided; 1 failed;
2 wrong usage; 3 agent or card not reachable; 4 credentials missing or refused;
5 timed out.`,
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
	a.flags.register(root.PersistentFlags())
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		a.showEffective(cmd)
		help(cmd, args)
	})
	group(root, newSend(a), newChat(a), newServe(a), newDoctor(a), newInit(a), newVersion(a),
		group(&cobra.Command{Use: "card", Short: "Agent cards"}, newCardGet(a), newCardSign(a), newCardVerify(a), newCardKeygen(a)),
		group(&cobra.Command{Use: "task", Short: "Tasks of an agent"},
			newTaskGet(a), newTaskList(a), newTaskCancel(a), newTaskSubscribe(a), newTaskDownload(a), newTaskPush(a)),
		group(&cobra.Command{Use: "push", Short: "Webhooks"}, newPushListen(a)),
		newMCP(a),
		newContext(a),
		newAuth(a),
		newCatalog(a),
		newKey(a),
		group(&cobra.Command{Use: "admin", Short: "The tasks that parley serve keeps: look at, delete, back up, move"},
			newAdminStatus(a), newAdminTasks(a), newAdminGC(a), newAdminErase(a), newAdminBackup(a), newAdminExport(a), newAdminImport(a), newAdminPush(a)),
		group(&cobra.Command{Use: "config", Short: "Configuration"}, newConfigShow(a), newConfigValidate(a), newConfigSchema(a)),
	)
	a.complete(root)
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			group(cmd)
		}
	}
	return root
}

// group makes parent a command that only holds others: alone it shows its
// help, and a word that is none of them is wrong usage.
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
	parent.SuggestionsMinimumDistance = 2 // edits
	parent.AddCommand(children...)
	return parent
}

// client makes cmd a command that talks to agents: its options are resolved
// before it runs, and --timeout bounds it.
func (a *app) client(cmd *cobra.Command, run func(ctx context.Context, args []string) error) *cobra.Command {
	return a.configured(cmd, func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		if d := a.flags.timeout; d > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeoutCause(ctx, d, errTimeout)
			defer cancel()
		}
		err := a.traced(ctx, cmd.CommandPath(), func(ctx context.Context) error { return run(ctx, args) })
		if err != nil {
			return a.explain(ctx, err)
		}
		a.noteVersion()
		return nil
	})
}

// readsSettings marks the commands whose help shows the shared options.
const readsSettings = "reads settings"

// configured makes cmd a command whose options are resolved before it runs.
func (a *app) configured(cmd *cobra.Command, run func(cmd *cobra.Command, args []string) error) *cobra.Command {
	cmd.Annotations = map[string]string{readsSettings: "yes"}
	check := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageOf(cmd, err)
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := a.configure(cmd.Context(), cmd.Flags()); err != nil {
			return err
		}
		return run(cmd, args)
	}
	return cmd
}

// usageOf makes wrong usage of what cobra says about the command line.
func usageOf(cmd *cobra.Command, err error) error {
	var f *failure.Error
	if errors.As(err, &f) {
		return f
	}
	var value *pflag.InvalidValueError
	if errors.As(err, &value) && secrets[value.GetFlag().Name] { // its text has the value in it
		err = fmt.Errorf("invalid argument for --%s: %w", value.GetFlag().Name, value.Unwrap())
	}
	return failure.Usagef("%v", err).WithHint("%s --help shows how it is used", cmd.CommandPath())
}

// showEffective makes help show the values in force as the defaults (a2a-cli
// §6.5), and hides the shared options where they mean nothing. Configuration that cannot be read is for the command to complain of.
func (a *app) showEffective(cmd *cobra.Command) {
	if cmd.Annotations[readsSettings] == "" && cmd.HasParent() {
		cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) { f.Hidden = true })
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
