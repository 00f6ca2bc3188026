package store

import (
	"errors"
	"io/fs"
	"slices"
)

// Because returns err with its text and, for errors.Is, with a reason, which is one of
// the errors for operators. If reason is nil it returns err. It is for drivers.
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

// Migrations returns the texts of migrations/*.sql in the order of their names. It is
// for drivers, who have them in the program: without any it panics.
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
