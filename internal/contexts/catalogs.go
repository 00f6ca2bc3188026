package contexts

import (
	"errors"
	"io/fs"
	"regexp"
	"strings"

	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/plain"
)

// Catalogs is the directory of the catalogs that the user has added, with a file for each; ""
// if there is none.
type Catalogs string

// Catalogs returns the directory of catalogs beside that of contexts.
func (d Dir) Catalogs() Catalogs { return Catalogs(d.beside("catalogs")) }

// maxCatalog is the maximum size of a document, in bytes: a catalog has at most 20 documents of
// 1 MiB, and findings about them.
const maxCatalog = 64 << 20

var notInNames = regexp.MustCompile(`[^a-z0-9.-]+`)

// Name returns the name of the catalog at an address: its host, with the port.
func (d Catalogs) Name(at string) string {
	if _, rest, ok := strings.Cut(at, "://"); ok {
		at = rest
	}
	host, _, _ := strings.Cut(at, "/")
	name := strings.Trim(notInNames.ReplaceAllString(strings.ToLower(host), "-"), ".-")
	return name[:min(len(name), 64)]
}

// Save stores a document, and replaces an earlier one with the same name.
func (d Catalogs) Save(name string, doc []byte) error {
	if !names.MatchString(name) {
		return failure.Usagef("catalog name %s: expected the host of a catalog", plain.Quote(name))
	}
	if len(doc) > maxCatalog {
		return failure.Usagef("catalog %s is not kept: it has %d bytes, and %d are the most", name, len(doc), maxCatalog)
	}
	return Dir(d).write(Dir(d).file(name), doc)
}

// Load returns a document.
func (d Catalogs) Load(name string) ([]byte, error) {
	if !names.MatchString(name) {
		return nil, d.none(name)
	}
	text, err := readPrivate("catalog "+name, Dir(d).file(name), maxCatalog)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, d.none(name)
	}
	return text, err
}

func (d Catalogs) none(name string) error {
	f := failure.Usagef("there is no catalog %s", plain.Quote(name))
	if list, err := d.Names(); err == nil && len(list) > 0 {
		return f.WithHint("the catalogs are: %s; parley catalog add reads another", strings.Join(list, ", "))
	}
	return f.WithHint("there are none yet: parley catalog add https://agents.example.org")
}

// Remove deletes a document, even one that Load refuses.
func (d Catalogs) Remove(name string) error {
	if !names.MatchString(name) {
		return d.none(name)
	}
	return remove(Dir(d).file(name), d.none(name))
}

// Names returns the names of all catalogs, sorted.
func (d Catalogs) Names() ([]string, error) { return Dir(d).Names() }
