package store

import (
	"errors"
	"io/fs"
	"slices"
)

// Because returns an error that has err's text and also matches reason in errors.Is. The
// reason is one of the errors for operators. If reason is nil, Because returns err. It is for
// drivers.
func Because(err, reason error) error {
	if reason == nil || errors.Is(err, reason) {
		return err
	}
	return &because{err, reason}
}

type because struct {
	error
	reason error
}

func (b *because) Unwrap() []error { return []error{b.error, b.reason} }

// Migrations returns the texts of migrations/*.sql, ordered by file name. It is for drivers,
// which embed these files: it panics if there are none.
func Migrations(files fs.FS) (steps []string) {
	names, err := fs.Glob(files, "migrations/*.sql")
	if err != nil || len(names) == 0 {
		panic("store: no migrations in the program")
	}
	slices.Sort(names)
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			panic(err)
		}
		steps = append(steps, string(text))
	}
	return steps
}
