// Package database locates and opens the database in which a server keeps its tasks: an
// SQLite file, a PostgreSQL database, or memory. It reads the flags that choose it, opens the
// database for a server, for commands beside a server and for commands that need exclusive
// use, and says what to do about its errors. It never shows a password.
package database

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/plain"
)

// Env is the variable that replaces --store. Every user of the machine can read command
// lines, so an address with a password belongs in the variable.
const Env = "PARLEY_STORE"

// InMemory is the value of --store for tasks that are lost when their server ends.
const InMemory = "memory"

// DefaultData is the default of --data.
const DefaultData = ".parley"

// Flags holds the flags that say where tasks are kept.
type Flags struct{ store, data string }

// Register declares --store and --data. memory means that tasks may be kept in memory.
func (f *Flags) Register(fs *pflag.FlagSet, memory bool) {
	usage := "where tasks are kept: the `address` of a PostgreSQL database (postgres://user@host/database), which any number of servers share, or the path of an SQLite file"
	if memory {
		usage += ", or " + InMemory
	}
	fs.StringVar(&f.store, "store", "", usage+" (default parley.db in --data). If it has a password, set it as "+Env+" in the environment")
	fs.StringVar(&f.data, "data", DefaultData, "`directory` of the database; with PostgreSQL, of the audit log alone")
}

// Location is where tasks are kept: an SQLite file, a PostgreSQL database or, if both are
// empty, memory.
type Location struct {
	File    string
	Address string // may contain a password
	Data    string // directory for the audit log

	// AllowAsyncCommit opens a PostgreSQL database for a server even if it may lose
	// acknowledged commits.
	AllowAsyncCommit bool

	// Migrating is called when Open migrates a database of an older version. It gets how many
	// steps are done. Nil calls nothing.
	Migrating func(done, of int)
}

// Memory reports whether tasks are kept in memory.
func (p *Location) Memory() bool { return p.File == "" && p.Address == "" }

// Shared reports whether other servers may use the database too.
func (p *Location) Shared() bool { return p.Address != "" }

// Size returns the size in bytes of the SQLite file and its write-ahead log; 0 if there is no
// file.
func (p *Location) Size() (n int64) {
	for _, name := range []string{p.File, p.File + "-wal"} {
		if info, err := os.Stat(name); err == nil && !p.Memory() && !p.Shared() {
			n += info.Size()
		}
	}
	return n
}

// Command returns a command line of program for this database. It omits a PostgreSQL address,
// which may have a password.
func (p *Location) Command(program, verb string) string {
	line := program + " " + verb
	switch {
	case p.File != "" && p.File != filepath.Join(p.Data, "parley.db"):
		return line + " --store " + plain.Quote(p.File)
	case p.Data != DefaultData:
		return line + " --data " + plain.Quote(p.Data)
	}
	return line
}

// AdminFile returns the file in which a server with this database says how the users of this
// machine reach its administration; "" for memory.
func (p *Location) AdminFile() string {
	switch {
	case p.File != "":
		return p.File + ".admin"
	case p.Address == "":
		return ""
	}
	h := fnv.New64a()
	_, _ = io.WriteString(h, p.Host()+"/"+p.database())
	return filepath.Join(p.Data, fmt.Sprintf("admin-%016x", h.Sum64()))
}

// Resolve returns the location that the flags in set and the variable name. ephemeral is the
// value of serve's flag. Passwords are hidden from w.
func (f *Flags) Resolve(set *pflag.FlagSet, lookup func(string) (string, bool), w *plain.Writer, ephemeral bool) (*Location, error) {
	value, from := f.store, "--store"
	if !set.Changed("store") {
		value, _ = lookup(Env)
		if from = Env; ephemeral {
			value = "" // the flag overrides the variable
		}
	}
	data := set.Changed("data")
	switch scheme, _, isURL := strings.Cut(value, "://"); {
	case value != "" && ephemeral && value != InMemory:
		return nil, failure.Usagef("--ephemeral keeps nothing, --store says where to keep it: leave one out")
	case value == InMemory || value == "" && ephemeral:
		if data {
			return nil, failure.Usagef("%s keeps nothing, --data says where to keep it: leave one out", map[bool]string{true: "--ephemeral", false: from + " " + InMemory}[ephemeral])
		}
		return &Location{Data: f.data}, nil
	case value == "":
		return &Location{File: filepath.Join(f.data, "parley.db"), Data: f.data}, nil
	case isURL && (scheme == "postgres" || scheme == "postgresql"):
		w.Hide(Passwords(value)...)
		if _, err := url.Parse(value); err != nil { // its text contains the value
			return nil, failure.Usagef("%s is not a URL", from).WithHint("as in postgres://parley@db.example.org/parley; in a password write %%40 for @, %%2F for / and %%25 for %%")
		}
		return &Location{Address: value, Data: f.data}, nil
	case isURL:
		return nil, failure.Usagef("%s begins with %s://, which is no database that parley knows", from, plain.Line(scheme)).
			WithHint("it is postgres://user@host/database, or the path of an SQLite file")
	case data:
		return nil, failure.Usagef("%s names the file, --data a directory for it: leave one out", from)
	}
	return &Location{File: value, Data: filepath.Dir(value)}, nil
}

// Passwords returns the secrets in the address of a database.
func Passwords(address string) (secrets []string) {
	if head, rest, ok := strings.Cut(address, "://"); ok && head != "" {
		// Unparsed, because it may not be a URL.
		if at := strings.LastIndexByte(rest, '@'); at >= 0 {
			if _, secret, ok := strings.Cut(rest[:at], ":"); ok {
				secrets = append(secrets, secret)
			}
		}
	}
	u, err := url.Parse(address)
	if err != nil {
		return secrets
	}
	if secret, ok := u.User.Password(); ok {
		secrets = append(secrets, secret)
	}
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if value, err = url.PathUnescape(value); err != nil { // unlike url.Values, libpq does not read + as a space
			continue
		}
		switch name {
		case "password", "sslpassword":
			secrets = append(secrets, value)
		case "listen":
			secrets = append(secrets, Passwords(value)...)
		}
	}
	return secrets
}

// String describes the location, without secrets.
func (p *Location) String() string {
	switch {
	case p.File != "":
		return p.File
	case p.Address == "":
		return "in memory, gone when the server ends"
	}
	return "PostgreSQL, database " + p.database() + " at " + p.Host()
}

func (p *Location) database() string {
	u, err := url.Parse(p.Address)
	if err != nil {
		return "?"
	}
	return cmp.Or(u.Query().Get("dbname"), strings.TrimPrefix(u.Path, "/"), os.Getenv("PGDATABASE"), "of the user's name")
}

// Host returns the host of the PostgreSQL server, with the port if it is given.
func (p *Location) Host() string {
	u, err := url.Parse(p.Address)
	if err != nil {
		return "?"
	}
	host := cmp.Or(u.Hostname(), u.Query().Get("host"), os.Getenv("PGHOST"), "this machine")
	if port := cmp.Or(u.Port(), u.Query().Get("port")); port != "" {
		return net.JoinHostPort(host, port)
	}
	return host
}
