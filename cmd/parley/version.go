package main

import (
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/mod/module"

	"github.com/parley-a2a/parley/internal/output"
)

// release, commit and date are set by the build of a release (.goreleaser.yaml):
// -ldflags "-X main.release=1.2.3 -X main.commit=4730764… -X main.date=2026-11-25T22:20:00Z".
var release, commit, date string

// build describes this program.
type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Date     string `json:"date,omitempty"` // of the commit
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// version returns the release, or the go command's version of the build.
func version() string { return thisBuild().Version }

func thisBuild() build {
	info, _ := debug.ReadBuildInfo()
	b := buildOf(info)
	if release != "" {
		b.Version, b.Commit, b.Date, b.Modified = release, commit, date, false
	}
	return b
}

// buildOf returns what the go command recorded: the commit of a checkout, or the commit in the
// pseudo-version that go install chose for want of a release tag.
func buildOf(info *debug.BuildInfo) build {
	b := build{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info == nil {
		return b
	}
	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Date = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	plain, _, _ := strings.Cut(b.Version, "+")
	if b.Commit == "" && module.IsPseudoVersion(plain) {
		b.Commit, _ = module.PseudoVersionRev(plain)
		if at, err := module.PseudoVersionTime(plain); err == nil {
			b.Date = at.Format(time.RFC3339)
		}
	}
	return b
}

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Long: `Print the version of this program, the commit it was built from and the date of that
commit. -o json prints them as an object.`,
		Args:        cobra.NoArgs,
		Annotations: map[string]string{readsSettings: "output"},
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := a.configure(cmd.Context(), cmd.Flags())
			if !a.flags.machine() { // even with a broken configuration, which the user may be about to report
				return a.say("%s", thisBuild())
			}
			if err != nil {
				return err
			}
			return a.print.Doc(thisBuild(), func(*output.Writer) {})
		},
	}
}

// String returns the text for people. Its first line is what --version prints.
func (b build) String() string {
	var s strings.Builder
	s.WriteString("parley " + b.Version)
	if b.Commit != "" {
		s.WriteString("\ncommit " + b.Commit)
		if b.Modified {
			s.WriteString(", modified")
		}
		if b.Date != "" {
			s.WriteString(", " + b.Date)
		}
	}
	s.WriteString("\nbuilt with " + b.Go + " for " + b.Platform)
	return s.String()
}
