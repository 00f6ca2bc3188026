package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/help"
)

// newMan is for packagers of the program, so help does not list it.
func newMan(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "man DIRECTORY",
		Short: "Write the manual pages of all commands",
		Long: `Write the manual pages of all commands to a directory, for packages and for your own
manual: parley man ~/.local/share/man/man1, then man parley.`,
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o777); err != nil {
				return failure.Usagef("%v", err)
			}
			root := cmd.Root()
			b := thisBuild()
			m := &help.Manual{Version: b.Version}
			if len(b.Date) >= len("2006-01-02") {
				m.Date = b.Date[:len("2006-01-02")]
			}
			for _, sub := range root.Commands() {
				if sub.Name() == "options" {
					m.Shared = sub
				}
			}
			m.HasShared = func(cmd *cobra.Command) bool {
				shows := cmd.Annotations[readsSettings]
				return shows == "all" || shows == "context"
			}
			if err := a.help.WriteMan(root, m, args[0]); err != nil {
				return failure.Usagef("%v", err)
			}
			return nil
		},
	}
}
