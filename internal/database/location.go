// Package database is where a server keeps its tasks: a file of SQLite, a
// database of PostgreSQL, or memory. It reads the flags that say so, opens the
// database for a server, for commands beside a server and for commands that must
// have it alone, and says what to do about its errors, all without showing a
// password.
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

// Env is the variable for --store. Every user of the machine can read command
// lines, so an address with a password belongs in the variable.
const Env = "PARLEY_STORE"

// InMemory is the value of --store for tasks that end with their server.
const InMemory = "memory"

// DefaultData is the default of --data.
const DefaultData = ".parley"

// Flags say where tasks are kept.
type Flags struct{ store, data string }

// Register declares --store and --data. memory says that tasks may be kept in
// memory.
func (f *Flags) Register(fs *pflag.FlagSet, memory bool) {
	usage := "where tasks are kept: the `address` of a PostgreSQL database (postgres://user@host/database), which any number of servers share, or the path of an SQLite file"
	if memory {
		usage += ", or " + InMemory
	}
	fs.StringVar(&f.store, "store", "", usage+" (default parley.db in --data). If it has a password, set it as "+Env+" in the environment")
	fs.StringVar(&f.data, "data", DefaultData, "`directory` of the database; with PostgreSQL, of the audit log alone")
}

// Location is where tasks are kept: a file of SQLite, a database of PostgreSQL, or,
// if it is neither, memory.
type Location struct {
	File    string
	Address string // with its password
	Data    string // directory for the audit log

	// AllowAsyncCommit opens a shared database for a server although it may lose what it
	// has acknowledged.
	AllowAsyncCommit bool

	// Migrating is told how many steps are done, when Open brings a database of an
	// older version to this one. Nil is told nothing.
	Migrating func(done, of int)
}

// Memory reports whether tasks are kept in memory.
func (p *Location) Memory() bool { return p.File == "" && p.Address == "" }

// Shared reports whether other servers may use it, too.
func (p *Location) Shared() bool { return p.Address != "" }

// Size returns how many bytes the file has on disk, with its log; 0 if there is none.
func (p *Location) Size() (n int64) {
	for _, name := range []string{p.File, p.File + "-wal"} {
		if info, err := os.Stat(name); err == nil && !p.Memory() && !p.Shared() {
			n += info.Size()
		}
	}
	return n
}

// Command is a command line of program that means this database. Of one that is shared
// the address is not in it, which may have a password.
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

// AdminFile is where a server that runs with it says how the users of this machine
// reach its administration; "" for memory.
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

// Resolve returns the location that the flags in set and the variable name.
// ephemeral is serve's flag. Passwords are hidden from w.
func (f *Flags) Resolve(set *pflag.FlagSet, lookup func(string) (string, bool), w *plain.Writer, ephemeral bool) (*Location, error) {
	value, from := f.store, "--store"
	if !set.Changed("store") {
		value, _ = lookup(Env)
		if from = Env; ephemeral {
			value = "" // a flag is stronger
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
		if _, err := url.Parse(value); err != nil { // whose text has the value
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

// Passwords returns what is secret in the address of a database.
func Passwords(address string) (secrets []string) {
	if head, rest, ok := strings.Cut(address, "://"); ok && head != "" {
		// As it stands, also where it is no URL.
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
		if value, err = url.PathUnescape(value); err != nil { // libpq leaves + as it is, too
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

// String is what it is called, without what is secret.
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

// Host is where PostgreSQL is.
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
