package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/internal/download"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/plain"
)

// saveFlags say where artifacts are saved. The zero value saves nothing.
type saveFlags struct {
	dir   string
	force bool
}

func (f *saveFlags) register(fs *pflag.FlagSet, dir string) {
	fs.StringVar(&f.dir, "save", dir, "save the artifacts in this `folder`, which is created if needed")
	fs.BoolVar(&f.force, "force", false, "let --save replace existing files")
}

// check refuses flags that contradict each other, before the first request. Without flags there
// is nothing to refuse.
func (f *saveFlags) check() error {
	if f != nil && f.force && f.dir == "" {
		return failure.Usagef("--force says that --save may replace files, and there is no --save")
	}
	return nil
}

func newTaskDownload(a *app) *cobra.Command {
	var save saveFlags
	cmd := a.ofTask(&cobra.Command{
		Use:   "download <task-id>",
		Short: "Save the artifacts of a task",
		Long: `Save the artifacts of a task in a folder: files under their own names, text and data
under the artifact's. Names are made safe, nothing is written outside the folder, and
existing files are replaced only with --force. Either all files are written or none.

A file that the agent only links to is not fetched; its URL is shown.`,
		Example: `  parley task download <task-id>
  parley task download <task-id> --save results --force`,
	}, &save, func(ctx context.Context, c *a2aclient.Client, id string) error {
		t, err := c.GetTask(ctx, &a2a.GetTaskRequest{ID: id, HistoryLength: new(int32(0))})
		if err != nil {
			return err
		}
		files := download.Files(t.Artifacts)
		if len(files) == 0 {
			a.stderr.Note("Note", "task %s is %s and has no artifacts", t.ID, t.Status.State)
		}
		if err := a.write(&save, files); err != nil {
			return err
		}
		return a.print.Saved(files)
	})
	save.register(cmd.Flags(), ".")
	return cmd
}

// write saves files, and says what to do if that fails.
func (a *app) write(f *saveFlags, files []*download.File) error {
	err := download.Save(f.dir, files, f.force)
	if err == nil {
		return nil
	}
	if exists, ok := errors.AsType[*download.ExistsError](err); ok && !exists.Device {
		return failure.New(failure.CodeUsage, fmt.Sprintf("--save %s: %v; nothing was written", f.dir, err), err).
			WithHint("add --force to replace it, or name another folder with --save")
	}
	return failure.New(failure.CodeUsage, fmt.Sprintf("--save %s: %v", f.dir, err), err).
		WithHint("name a folder with --save that you may write to and that has none of these names")
}

// showAndKeep shows a task, and saves its artifacts if requested. If standard output is one
// document, a failure to save replaces the task.
func (a *app) showAndKeep(show func() error, f *saveFlags, artifacts []*a2a.Artifact) error {
	failed := a.keep(f, artifacts)
	if failed != nil && a.flags.machine() {
		return failed
	}
	if err := show(); err != nil {
		return err
	}
	return failed
}

// keep saves artifacts, if the command was told to.
func (a *app) keep(f *saveFlags, artifacts []*a2a.Artifact) error {
	if f.dir == "" {
		return nil
	}
	files := download.Files(artifacts)
	if err := a.write(f, files); err != nil {
		return err
	}
	for _, file := range files {
		if file.URL != "" {
			a.stderr.Note("Note", "not fetched: %s", file.URL)
		} else {
			a.stderr.Note("Saved", "%s (%s)", file.Path, plain.Bytes(int64(file.Size)))
		}
	}
	if len(files) == 0 {
		a.stderr.Note("Note", "there are no artifacts to save")
	}
	return nil
}
