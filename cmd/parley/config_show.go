package main

import (
	"cmp"
	"fmt"
	"net/url"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/internal/admin"
	"github.com/parley-a2a/parley/internal/output"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/internal/serve"
)

func newConfigShow(a *app) *cobra.Command {
	var ofFile bool
	cmd := a.configured(&cobra.Command{
		Use:   "show [--origin] [FILE] [-- options of serve...]",
		Short: "Show the settings in force and where each comes from",
		Long: `Show the settings in force and where each comes from: an option, an environment
variable, a file or the default. To change one, edit the file.

Without arguments it shows the settings of client commands. Their files are the
nearest .env from the working directory upwards (or that of --config) and
~/.config/a2a-cli/.env, with lines such as A2ACLI_AGENT_CARD=localhost:7275.

With --origin, or the name of a parley.yaml, it shows the settings of parley serve
with that file and the options behind --.`,
		Example: `  parley config show
  parley config show --origin
  parley config show parley.yaml -- --listen :8080`,
		Args: fileAndFlags,
	}, func(cmd *cobra.Command, args []string) error {
		dash := cmd.ArgsLenAtDash()
		if !ofFile && len(args) == 0 && dash < 0 {
			return a.sayValues(a.effective(cmd.Flags()))
		}
		s, line, err := a.fileOf(cmd, args, false)
		if err != nil {
			return err
		}
		return a.sayValues(s.Values(line))
	})
	cmd.Flags().BoolVar(&ofFile, "origin", false, "show the settings of parley serve, with FILE or "+serve.DefaultFile)
	return cmd
}

// effective lists the settings in the order of the flags.
func (a *app) effective(fs *pflag.FlagSet) []admin.Setting {
	var list []admin.Setting
	fs.VisitAll(func(f *pflag.Flag) {
		if isSetting(f) {
			list = append(list, admin.Setting{Name: f.Name, Value: shown(f), Source: a.settings.from[f.Name].where})
		}
	})
	return list
}

// shown returns a flag's value in printable form.
func shown(f *pflag.Flag) string {
	v := f.Value.String()
	switch {
	case v != "" && secrets[f.Name]:
		return plain.Redacted
	case f.Name == "agent-card":
		return hidePassword(v)
	}
	return v
}

// hidePassword returns an agent's address in printable form.
func hidePassword(agent string) string {
	if u, err := url.Parse(agent); err == nil && u.User != nil {
		return u.Redacted()
	}
	return agent
}

// sayValues prints settings and the origin of each.
func (a *app) sayValues(list []admin.Setting) error {
	return a.print.Doc(map[string][]admin.Setting{"settings": list}, func(out *output.Writer) {
		for _, s := range list {
			out.Field(s.Name, fmt.Sprintf("%s (%s)", cmp.Or(s.Value, "not set"), s.Source))
		}
	})
}
