package main

import (
	"cmp"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
)

// storeEnv is the variable for --store: what is on a command line, a password
// too, every user of the machine can read.
const storeEnv = "PARLEY_STORE"

// inMemory is the value of --store for tasks that end with their server.
const inMemory = "memory"

// storeFlags say where tasks are kept.
type storeFlags struct{ store, data string }

func (f *storeFlags) register(fs *pflag.FlagSet, memory bool) {
	usage := "where tasks are kept: the `address` of a PostgreSQL database (postgres://user@host/database), which any number of servers share, or the path of an SQLite file"
	if memory {
		usage += ", or " + inMemory
	}
	fs.StringVar(&f.store, "store", "", usage+" (default parley.db in --data). With a password give it as "+storeEnv+" in the environment")
	fs.StringVar(&f.data, "data", defaultData, "`directory` of the database, made if it is not there; with PostgreSQL of the audit log alone")
}

// location is where tasks are kept: a file of SQLite, a database of PostgreSQL, or,
// if it is neither, memory.
type location struct {
	file    string
	address string // with its password
	data    string // directory of what is beside
}

func (p *location) memory() bool { return p.file == "" && p.address == "" }

// shared reports whether other servers may have it, too.
func (p *location) shared() bool { return p.address != "" }

// resolve makes of the flags where that is. ephemeral is serve's flag.
func (f *storeFlags) resolve(a *app, flags *pflag.FlagSet, ephemeral bool) (*location, error) {
	value, from := f.store, "--store"
	if !flags.Changed("store") {
		value, _ = a.around.lookup(storeEnv)
		if from = storeEnv; ephemeral {
			value = "" // a flag is stronger
		}
	}
	data := flags.Changed("data")
	switch scheme, _, isURL := strings.Cut(value, "://"); {
	case value != "" && ephemeral && value != inMemory:
		return nil, usagef("--ephemeral keeps nothing, --store says where to keep it: leave one out")
	case value == inMemory || value == "" && ephemeral:
		if data {
			return nil, usagef("%s keeps nothing, --data says where to keep it: leave one out", map[bool]string{true: "--ephemeral", false: from + " " + inMemory}[ephemeral])
		}
		return &location{data: f.data}, nil
	case value == "":
		return &location{file: filepath.Join(f.data, "parley.db"), data: f.data}, nil
	case isURL && (scheme == "postgres" || scheme == "postgresql"):
		a.stderr.hide(passwords(value)...)
		if _, err := url.Parse(value); err != nil { // whose text has the value
			return nil, usagef("%s is not a URL", from).withHint("as in postgres://parley@db.example.org/parley; in a password write %%40 for @, %%2F for / and %%25 for %%")
		}
		return &location{address: value, data: f.data}, nil
	case isURL:
		return nil, usagef("%s begins with %s://, which is no database that parley knows", from, cleanLine(scheme)).
			withHint("it is postgres://user@host/database, or the path of an SQLite file")
	case data:
		return nil, usagef("%s names the file, --data a directory for it: leave one out", from)
	}
	return &location{file: value, data: filepath.Dir(value)}, nil
}

// passwords returns what is secret in the address of a database.
func passwords(address string) (secrets []string) {
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
	q := u.Query()
	for _, name := range []string{"password", "sslpassword"} {
		secrets = append(secrets, q[name]...)
	}
	for _, listen := range q["listen"] {
		secrets = append(secrets, passwords(listen)...)
	}
	return secrets
}

// String is what it is called, without what is secret.
func (p *location) String() string {
	switch {
	case p.file != "":
		return p.file
	case p.address == "":
		return "in memory, gone when the server ends"
	}
	return "PostgreSQL, database " + p.database() + " at " + p.host()
}

func (p *location) database() string {
	u, err := url.Parse(p.address)
	if err != nil {
		return "?"
	}
	return cmp.Or(u.Query().Get("dbname"), strings.TrimPrefix(u.Path, "/"), os.Getenv("PGDATABASE"), "of the user's name")
}

// host is where PostgreSQL is.
func (p *location) host() string {
	u, err := url.Parse(p.address)
	if err != nil {
		return "?"
	}
	host := cmp.Or(u.Hostname(), u.Query().Get("host"), os.Getenv("PGHOST"), "this machine")
	if port := cmp.Or(u.Port(), u.Query().Get("port")); port != "" {
		return net.JoinHostPort(host, port)
	}
	return host
}
