// Package download writes the artifacts of a task into a folder: under names that agents cannot
// choose freely ([Name]), never outside the folder, never over existing files unless requested,
// and each file as a whole or not at all.
//
// The functions may be used by several goroutines. Two that write to one folder may see each
// other's files.
package download

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"github.com/parley-a2a/parley/a2a"
)

// File is something to save, and where it was saved.
type File struct {
	Path       string `json:"path,omitempty"` // "": not saved
	URL        string `json:"url,omitempty"`  // of a file that the agent only links to
	ArtifactID string `json:"artifactId"`
	MediaType  string `json:"mediaType,omitempty"`
	Size       int    `json:"size"`

	Name    string `json:"-"` // safe and unique; "" if there is a URL
	Content []byte `json:"-"`
}

// ExistsError says that the name exists in the folder.
type ExistsError struct {
	Path   string
	Device bool // it is no regular file, and is never replaced
}

func (e *ExistsError) Error() string {
	if e.Device {
		return e.Path + " is there, and is no regular file"
	}
	return e.Path + " is there already"
}

// Joins reports whether a part is in the same file as the part of its artifact before it.
func Joins(before, p *a2a.Part) bool {
	return before.Kind == a2a.PartText && p.Kind == a2a.PartText && p.Filename == ""
}

// Files lists the files to save: one for each part with bytes, one for consecutive texts of an
// artifact, one for each data part. A file that the agent only links to has a URL.
func Files(artifacts []*a2a.Artifact) []*File {
	var files []*File
	taken := map[string]bool{} // some systems ignore case
	last := map[string]int{}   // the last number used for each name
	name := func(theirs string) string {
		base := Name(theirs)
		name := base
		for taken[strings.ToLower(name)] {
			last[base] = max(last[base], 1) + 1
			name = numbered(base, last[base])
		}
		taken[strings.ToLower(name)] = true
		return name
	}
	for _, a := range artifacts {
		base := cmp.Or(a.Name, "artifact")
		for i, p := range a.Parts {
			if i > 0 && Joins(a.Parts[i-1], p) {
				text := files[len(files)-1]
				text.Content = append(text.Content, p.Text...)
				text.Size = len(text.Content)
				continue
			}
			f := &File{ArtifactID: a.ArtifactID, MediaType: p.MediaType}
			switch p.Kind {
			case a2a.PartText:
				f.Content = []byte(p.Text)
				f.Name = name(cmp.Or(p.Filename, named(base, cmp.Or(p.MediaType, "text/plain"))))
			case a2a.PartData:
				f.Content = append(append([]byte(nil), p.Data...), '\n')
				f.MediaType = cmp.Or(f.MediaType, "application/json")
				f.Name = name(cmp.Or(p.Filename, named(base, f.MediaType)))
			case a2a.PartRaw:
				f.Content = p.Raw
				f.Name = name(cmp.Or(p.Filename, named(base, p.MediaType)))
			case a2a.PartURL:
				f.URL = p.URL
			}
			f.Size = len(f.Content)
			files = append(files, f)
		}
	}
	return files
}

// extensions are the usual ones, the same on every machine.
var extensions = map[string]string{
	"text/plain": ".txt", "text/markdown": ".md", "text/html": ".html", "text/csv": ".csv", "application/json": ".json",
	"application/pdf": ".pdf", "image/png": ".png", "image/jpeg": ".jpg", "image/svg+xml": ".svg", "application/zip": ".zip",
}

// named adds the extension of the media type to a name without one.
func named(base, mediaType string) string {
	if filepath.Ext(base) != "" {
		return base
	}
	t, _, _ := mime.ParseMediaType(mediaType)
	return base + extensions[t]
}

// Save writes the files that have content into dir, creating it if necessary, and sets their
// paths. If any of their names exists, it writes nothing; with force, it replaces regular files
// only.
func Save(dir string, files []*File, force bool) (err error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir) // no link leads out of it
	if err != nil {
		return err
	}
	defer root.Close()
	var list []*File
	var temps []string // their names until all are written
	defer func() {
		for _, temp := range temps {
			_ = root.Remove(temp) // those that were renamed no longer exist here
		}
	}()
	for _, f := range files {
		if f.URL != "" {
			continue
		}
		switch st, err := root.Lstat(f.Name); {
		case err == nil && !st.Mode().IsRegular():
			return &ExistsError{filepath.Join(dir, f.Name), true}
		case err == nil && !force:
			return &ExistsError{filepath.Join(dir, f.Name), false}
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return err
		}
		list = append(list, f)
		temps = append(temps, ".parley-"+uuid.NewString())
	}
	for i, f := range list {
		if err := write(root, temps[i], f.Content); err != nil {
			return fmt.Errorf("write %s: %w", filepath.Join(dir, f.Name), err)
		}
	}
	for i, f := range list {
		if err := place(root, temps[i], f.Name, force); err != nil {
			if errors.Is(err, fs.ErrExist) {
				return &ExistsError{Path: filepath.Join(dir, f.Name)}
			}
			return fmt.Errorf("write %s: %w", filepath.Join(dir, f.Name), err)
		}
		f.Path = filepath.Join(dir, f.Name)
	}
	return nil
}

func write(root *os.Root, name string, content []byte) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}

// place gives a file its name. Without force it is an error if the name has come to exist
// meanwhile, if the file system has links to detect that.
func place(root *os.Root, temp, name string, force bool) error {
	if force {
		return root.Rename(temp, name)
	}
	err := root.Link(temp, name)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	return root.Rename(temp, name)
}
