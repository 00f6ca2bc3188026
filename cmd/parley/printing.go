package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"text/tabwriter"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/output"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/internal/shape"
)

// documents returns the printer for JSON, or for the format of --output and --jq. text prints
// failures that a format cannot hold.
func (a *app) documents(ctx context.Context, text *output.Text) (output.Printer, error) {
	f := &a.flags
	p := &output.JSON{Out: a.stdout, Lines: f.stream, Ctx: ctx}
	if a.screen.IsTerminal() {
		p.Safe = plain.Text
	}
	switch {
	case f.jq != nil:
		if f.output != "json" && a.settings.from["output"].level == fromFlag {
			return nil, failure.Usagef("--jq works on JSON, and --output is %s", f.output).WithHint("leave --output out, or say -o json")
		}
		p.Form, p.Named, p.Failures = f.jq, "--jq "+plain.Quote(f.jqText), text
	case f.output == "json":
	case f.output == "yaml":
		p.Form, p.Named = shape.YAML, "--output yaml"
		if f.stream {
			p.Form = func(ctx context.Context, doc []byte) ([]byte, error) {
				out, err := shape.YAML(ctx, doc)
				return append([]byte("---\n"), out...), err
			}
		}
	case f.output == "table":
		if f.stream {
			return nil, failure.Usagef("--output table has no place for events, which --stream prints").WithHint("use -o json or --jq with --stream, or leave --stream out")
		}
		p.Form, p.Named, p.Failures = shape.Table, "--output table", text
	default:
		p.Form, p.Named, p.Failures = f.template, "--output template", text
	}
	return p, nil
}

// table returns a function that adds a row to a table, and one that prints the table to
// standard output.
func (a *app) table() (row func(cells ...string), flush func() error) {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	row = func(cells ...string) {
		for i, c := range cells {
			if cells[i] = plain.Line(c); c == "" {
				cells[i] = "-"
			}
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	return row, func() error { return printed(w.Flush()) }
}

// printed returns the failure of a print error; nil if there is none.
func printed(err error) error {
	if err != nil {
		return failure.New(failure.CodeInternal, "print: "+err.Error(), err)
	}
	return nil
}

// unwritten turns a write error, as of a full disk, into a failure. It returns other errors,
// and failures, unchanged.
func unwritten(err error) error {
	_, ours := errors.AsType[*failure.Error](err)
	if path, ok := errors.AsType[*fs.PathError](err); ok && !ours && path.Op == "write" {
		return printed(err)
	}
	return err
}

// taskExits are the exit codes of --exit-status. Codes up to 5 tell how the command ended
// (a2a-cli §11.6).
var taskExits = map[a2a.TaskState]int{
	a2a.TaskStateCompleted:     0,
	a2a.TaskStateFailed:        10,
	a2a.TaskStateRejected:      11,
	a2a.TaskStateCanceled:      12,
	a2a.TaskStateInputRequired: 13,
	a2a.TaskStateAuthRequired:  14,
}

const exitAtWork = 15
