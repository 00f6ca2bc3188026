package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/scarce"
)

const (
	// maxFile caps a file that a command leaves, in bytes; it is sent in one piece.
	maxFile = 16 << 20
	// maxFiles caps how many files a command may leave, maxEntries how many directory
	// entries are searched for them, and maxDepth how deep the search goes.
	maxFiles   = 100
	maxEntries = 1000
	maxDepth   = 8
)

// folders are the input and output folders of one run.
type folders struct {
	run, in, out string
	names        map[*a2a.Part]string // the name of each file of the message, by its part
}

// newFolders makes the folders of a run below base and puts the message's files into
// the input folder.
func newFolders(base string, m *a2a.Message) (_ *folders, err error) {
	run, err := os.MkdirTemp(base, "run-")
	if err != nil {
		return nil, err
	}
	f := &folders{run: run, in: filepath.Join(run, "in"), out: filepath.Join(run, "out"), names: map[*a2a.Part]string{}}
	defer func() {
		if err != nil {
			f.remove()
		}
	}()
	if err := errors.Join(os.Mkdir(f.in, 0o700), os.Mkdir(f.out, 0o700)); err != nil {
		return nil, err
	}
	taken := map[string]bool{}
	for _, p := range m.Parts {
		if p.Kind != a2a.PartRaw {
			continue
		}
		name := filepath.Join(f.in, unlike(taken, safeName(p.Filename)))
		if err := os.WriteFile(name, p.Raw, 0o600); err != nil {
			return nil, err
		}
		f.names[p] = name
	}
	return f, nil
}

// refer returns the message with the paths of its files in place of their bytes.
func (f *folders) refer(m *a2a.Message) *a2a.Message {
	if len(f.names) == 0 {
		return m
	}
	own := *m
	own.Parts = slices.Clone(m.Parts)
	for i, p := range own.Parts {
		if name, ok := f.names[p]; ok {
			link := *p
			link.Kind, link.Raw = a2a.PartURL, nil
			link.URL = (&url.URL{Scheme: "file", Path: filepath.ToSlash(name)}).String()
			own.Parts[i] = &link
		}
	}
	return &own
}

// hasFile reports whether the message carries a file's bytes.
func hasFile(m *a2a.Message) bool {
	return slices.ContainsFunc(m.Parts, func(p *a2a.Part) bool { return p.Kind == a2a.PartRaw })
}

// remove deletes the folders, even if the command took away their permissions.
func (f *folders) remove() error {
	err := os.RemoveAll(f.run)
	if err == nil {
		return nil
	}
	filepath.WalkDir(f.run, func(name string, d os.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			os.Chmod(name, 0o700) // before it is read; WalkDir reads it after this call
		}
		return nil
	})
	return os.RemoveAll(f.run)
}

// safeName turns a file's name, which strangers choose, into one that a shell, a
// program's options and a file system can only read as a file name.
func safeName(name string) string {
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	name = strings.Map(func(r rune) rune {
		if r == '.' || r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r) {
			return r
		}
		return '_'
	}, strings.ToValidUTF8(name, "_"))
	if strings.HasPrefix(name, "-") || strings.HasPrefix(name, ".") {
		name = "_" + name[1:]
	}
	const most = 120
	if ext := path.Ext(name); len(name) > most {
		if len(ext) > 20 {
			ext = ""
		}
		stem := name[:most-len(ext)]
		for !utf8.ValidString(stem) {
			stem = stem[:len(stem)-1]
		}
		name = stem + ext
	}
	if strings.Trim(name, "_.") == "" {
		return "file"
	}
	return name
}

// unlike returns name, or a similar one that is not yet in use, and marks it as used.
// Some file systems treat names that differ only in case as the same.
func unlike(taken map[string]bool, name string) string {
	ext := path.Ext(name)
	stem := strings.TrimSuffix(name, ext)
	for n := 2; taken[strings.ToLower(name)]; n++ {
		name = fmt.Sprintf("%s-%d%s", stem, n, ext)
	}
	taken[strings.ToLower(name)] = true
	return name
}

// collect emits each file that the command left as an artifact, up to room bytes in
// total. It reads nothing outside the folder: links are skipped.
func (f *folders) collect(ctx context.Context, t *Turn, room int64) error {
	var root *os.Root
	var names []string
	err := scarce.Again(ctx, func() (err error) {
		root, names, err = f.left()
		return err
	})
	if err != nil || root == nil {
		return unread(ctx, err)
	}
	defer root.Close()
	for _, name := range names {
		var content []byte
		err := scarce.Again(ctx, func() (err error) {
			content, err = readFile(root, name, room)
			return err
		})
		if err != nil {
			return unread(ctx, err)
		}
		room -= int64(len(content))
		shown := strings.ToValidUTF8(filepath.ToSlash(name), "\uFFFD")
		if err := t.Artifact(shown).Last(a2a.RawPart(content, mediaType(shown, content), path.Base(shown))); err != nil {
			return err
		}
	}
	return nil
}

// left opens the output folder and returns the names of the files in it, in order; nil
// if there is no folder.
func (f *folders) left() (_ *os.Root, names []string, err error) {
	info, err := os.Lstat(f.out)
	switch {
	case errors.Is(err, fs.ErrNotExist): // the command removed it
		return nil, nil, nil
	case err != nil:
		return nil, nil, err
	case !info.IsDir():
		return nil, nil, Public("the command replaced its folder for files with something else", nil)
	}
	root, err := os.OpenRoot(f.out)
	if err != nil {
		return nil, nil, err
	}
	entries := 0
	if err := list(root, ".", 0, &entries, &names); err != nil {
		root.Close()
		return nil, nil, err
	}
	slices.Sort(names)
	return root, names, nil
}

// unread returns what callers may know of a file that cannot be read, without its path.
// It returns ctx's cause once ctx has ended.
func unread(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if _, said := errors.AsType[*PublicError](err); said || err == nil || err == errTooMuch {
		return err
	}
	return Public("what the command left in its folder for files cannot be read", err)
}

// list finds the regular files in a directory and its subdirectories.
func list(root *os.Root, dir string, depth int, entries *int, names *[]string) error {
	d, err := root.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	for {
		found, err := d.ReadDir(100)
		for _, e := range found {
			name := filepath.Join(dir, e.Name())
			if *entries++; *entries > maxEntries {
				return Public(fmt.Sprintf("the command left more than %d files and folders", maxEntries), nil)
			}
			switch {
			case e.Type().IsRegular():
				*names = append(*names, name)
			case e.IsDir() && depth == maxDepth:
				return Public(fmt.Sprintf("the command left folders that are more than %d deep", maxDepth), nil)
			case e.IsDir():
				if err := list(root, name, depth+1, entries, names); err != nil {
					return err
				}
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	if len(*names) > maxFiles {
		return Public(fmt.Sprintf("the command left more files than the limit of %d", maxFiles), nil)
	}
	return nil
}

func readFile(root *os.Root, name string, room int64) ([]byte, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|openWithoutWait, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("agent: %s has become something else than a file", name)
	}
	most := min(room, maxFile)
	content, err := io.ReadAll(io.LimitReader(f, most+1))
	switch {
	case err != nil:
		return nil, err
	case int64(len(content)) > maxFile:
		return nil, Public(fmt.Sprintf("the command left a file larger than the limit of %d bytes", maxFile), nil)
	case int64(len(content)) > most:
		return nil, errTooMuch
	}
	return content, nil
}

// common are types that not every system knows.
var common = map[string]string{".md": "text/markdown", ".csv": "text/csv", ".txt": "text/plain", ".yaml": "application/yaml"}

func mediaType(name string, content []byte) string {
	ext := strings.ToLower(path.Ext(name))
	if media, ok := common[ext]; ok {
		return media
	}
	if media, _, err := mime.ParseMediaType(mime.TypeByExtension(ext)); err == nil {
		return media
	}
	if utf8.Valid(content) {
		return "text/plain"
	}
	return "application/octet-stream"
}
