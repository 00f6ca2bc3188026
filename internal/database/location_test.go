package database

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/plain"
)

// Flags and the variable select where tasks are kept, and no text about it ever contains a
// password.
func TestWhereTasksAre(t *testing.T) {
	const address = "postgres://parley:s3cret%2Fword@db.example.org:5433/tasks"
	const odd = "postgresql:///tasks?host=/run/pg&password=s3cret/word&listen=postgres%3A%2F%2Fu%3As3cret%252Fword%40h%2Fd"
	for _, c := range []struct {
		env  string
		args string
		want string // of String, or of the error
		data string
	}{
		{"", "", filepath.Join(".parley", "parley.db"), ".parley"},
		{"", "--data d", filepath.Join("d", "parley.db"), "d"},
		{"", "--store x/y.db", "x/y.db", "x"},
		{"x/y.db", "", "x/y.db", "x"},
		{"x/y.db", "--store z.db", "z.db", "."},
		{"", "--store memory", "in memory, gone when the server ends", ".parley"},
		{"memory", "", "in memory, gone when the server ends", ".parley"},
		{"", "--ephemeral", "in memory, gone when the server ends", ".parley"},
		{address, "--ephemeral", "in memory, gone when the server ends", ".parley"},
		{"", "--ephemeral --store memory", "in memory, gone when the server ends", ".parley"},
		{address, "", "PostgreSQL, database tasks at db.example.org:5433", ".parley"},
		{address, "--data d", "PostgreSQL, database tasks at db.example.org:5433", "d"},
		{"x.db", "--store " + odd, "PostgreSQL, database tasks at /run/pg", ".parley"},
		{"", "--store postgres://h", "PostgreSQL, database of the user's name at h", ".parley"},

		{"", "--store x/y.db --data d", "error: --store names the file, --data a directory for it: leave one out", ""},
		{"x/y.db", "--data d", "error: PARLEY_STORE names the file, --data a directory for it: leave one out", ""},
		{"", "--ephemeral --store x.db", "error: --ephemeral keeps nothing, --store says where to keep it: leave one out", ""},
		{"", "--ephemeral --data d", "error: --ephemeral keeps nothing, --data says where to keep it: leave one out", ""},
		{"memory", "--data d", "error: PARLEY_STORE memory keeps nothing, --data says where to keep it: leave one out", ""},
		{"", "--store mysql://u:s3cret/word@h/d", "error: --store begins with mysql://, which is no database that parley knows", ""},
		{"", "--store postgres://u:s3cret/word@h:port/d", "error: --store is not a URL", ""},
		{"postgres://u:s3cret%zz@h/d", "", "error: PARLEY_STORE is not a URL", ""},
	} {
		var errs bytes.Buffer
		w := plain.NewWriter(&errs)
		lookup := func(name string) (string, bool) { return c.env, name == Env && c.env != "" }
		var f Flags
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		f.Register(fs, true)
		ephemeral := fs.Bool("ephemeral", false, "")
		if err := fs.Parse(strings.Fields(c.args)); err != nil {
			t.Fatal(err)
		}
		got, data := "", ""
		p, err := f.Resolve(fs, lookup, w, *ephemeral)
		var fail *failure.Error
		switch {
		case err == nil:
			got, data = p.String(), p.Data
			if p.Memory() != strings.HasPrefix(got, "in memory") || p.Shared() != strings.HasPrefix(got, "PostgreSQL") {
				t.Errorf("%q %q: memory %t, shared %t", c.env, c.args, p.Memory(), p.Shared())
			}
		case errors.As(err, &fail):
			got = "error: " + fail.Message
		}
		if got != c.want || data != c.data {
			t.Errorf("%q %q: %s, beside it %s; want %s, %s", c.env, c.args, got, data, c.want, c.data)
		}
		w.Note("Log", "%s %s %v, s3cret/word or s3cret%%2Fword", c.env, c.args, err)
		if c.want == "error: --store begins with mysql://, which is no database that parley knows" {
			continue // of what it does not know it prints no more than that
		}
		if strings.Contains(c.env+c.args, "s3cret") && strings.Contains(errs.String(), "s3cret/word@") || strings.Contains(got, "s3cret") {
			t.Errorf("%q %q: a password is told: %s%s", c.env, c.args, got, errs.String())
		}
	}
}
