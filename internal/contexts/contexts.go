// Package contexts stores settings of the command line under names: an agent, how to reach it,
// and with which credentials. Each context is a file that only its user may read, and one of
// them may be in use. Next to them are the user's sign-ins, a file for each agent.
//
// Every error is a failure.Error. Several processes may use a Dir: files are replaced as a
// whole.
package contexts

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/plain"
)

// Dir is the directory of the files; "" if there is none, because the user has no home.
type Dir string

// Context maps the names of flags, such as "agent-card" and "bearer", to their values.
type Context map[string]string

const (
	current   = "current" // the file that names the context in use
	extension = ".json"
	maxFile   = 1 << 20
)

var names = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

func checkName(name string) error {
	if !names.MatchString(name) {
		return failure.Usagef("context name %s: expected a letter or digit, then up to 63 letters, digits, dots, dashes and underscores", plain.Quote(name)).
			WithHint("as in: parley context add prod https://agents.example.org")
	}
	return nil
}

// path returns the path of a file; "" if there is no directory: such a file does not exist.
func (d Dir) path(file string) string {
	if d == "" {
		return ""
	}
	return filepath.Join(string(d), file)
}

// beside returns the path of a directory next to this one; "" if there is none.
func (d Dir) beside(name string) string { return d.path(filepath.Join("..", name)) }

func (d Dir) file(name string) string { return d.path(name + extension) }

// Load returns a context. It refuses a file that other users may read.
func (d Dir) Load(name string) (Context, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	path := d.file(name)
	text, err := readPrivate("context "+name, path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, d.none(name)
	}
	if err != nil {
		return nil, err
	}
	c, err := parse(text)
	if err != nil {
		return nil, failure.Usagef("context %s was not read: %s is not a JSON object of strings", name, path).
			WithHint("make it again: parley context remove %s, then parley context add %s URL", name, name)
	}
	return c, nil
}

// readPrivate reads a file that only its user may read, of at most most bytes. The error is
// fs.ErrNotExist, or a failure.Error.
func readPrivate(what, path string, most int64) ([]byte, error) {
	st, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fs.ErrNotExist
	}
	if err != nil {
		return nil, unusable(path, err)
	}
	if wide := st.Mode().Perm() & 0o077; wide != 0 && runtime.GOOS != "windows" {
		return nil, failure.Usagef("%s was not read: %s has mode %04o, and other users may read it; expected 0600", what, path, st.Mode().Perm()).
			WithHint("chmod 600 %s; if others may have read its credentials, replace them", plain.Quote(path))
	}
	if st.Size() > most {
		return nil, failure.Usagef("%s was not read: %s has %d bytes, at most %d are expected", what, path, st.Size(), most)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, unusable(path, err)
	}
	return text, nil
}

func parse(text []byte) (c Context, err error) {
	if err := json.Unmarshal(text, &c); err != nil || c == nil {
		return nil, errors.New("not a JSON object of strings") // the decoder's text may contain a credential
	}
	return c, nil
}

// none returns the error for a missing context, with the existing ones.
func (d Dir) none(name string) error {
	f := failure.Usagef("there is no context %s", name)
	if list, err := d.Names(); err == nil && len(list) > 0 {
		return f.WithHint("the contexts are: %s; parley context add makes another", strings.Join(list, ", "))
	}
	return f.WithHint("make it: parley context add %s URL", name)
}

// Save writes a new context.
func (d Dir) Save(name string, c Context) error {
	if err := checkName(name); err != nil {
		return err
	}
	if _, err := os.Lstat(d.file(name)); err == nil {
		return failure.Usagef("there is a context %s already", name).WithHint("choose another name, or first: parley context remove %s", name)
	}
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return failure.New(failure.CodeInternal, err.Error(), err)
	}
	return d.write(d.file(name), append(text, '\n'))
}

// Use sets the context in use; "" means none.
func (d Dir) Use(name string) error {
	if name == "" {
		return remove(d.path(current), nil)
	}
	if _, err := d.Load(name); err != nil {
		return err
	}
	return d.write(d.path(current), []byte(name+"\n"))
}

// Current returns the name of the context in use; "" if there is none.
func (d Dir) Current() (string, error) {
	text, err := os.ReadFile(d.path(current))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", unusable(string(d), err)
	}
	return strings.TrimSpace(string(text)), nil
}

// Remove deletes a context with its credentials. If it was in use, none is then.
func (d Dir) Remove(name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	now, err := d.Current()
	if err != nil {
		return err
	}
	if err := remove(d.file(name), d.none(name)); err != nil {
		return err
	}
	if now == name {
		return d.Use("")
	}
	return nil
}

// remove deletes a file. missing is the error if there is none.
func remove(path string, missing error) error {
	switch err := os.Remove(path); {
	case errors.Is(err, fs.ErrNotExist):
		return missing
	case err != nil:
		return unusable(path, err)
	}
	return nil
}

// Names returns the names of all contexts, sorted.
func (d Dir) Names() (list []string, err error) {
	files, err := os.ReadDir(string(d))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, unusable(string(d), err)
	}
	for _, f := range files {
		if name, ok := strings.CutSuffix(f.Name(), extension); ok && names.MatchString(name) {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list, nil
}

// write replaces a file as a whole: a crash leaves the old one or the new one.
func (d Dir) write(path string, text []byte) (err error) {
	if d == "" {
		return failure.Usagef("contexts and sign-ins are kept in the home directory, and this user has none").WithHint("set HOME")
	}
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return unusable(string(d), err)
	}
	f, err := os.CreateTemp(string(d), ".new-*") // of mode 0600
	if err != nil {
		return unusable(string(d), err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return unusable(path, err)
	}
	return nil
}

func unusable(path string, err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	return failure.Usagef("%s: %v", path, err).WithHint("contexts and sign-ins are kept there: look at its owner and mode")
}
