package auth

import (
	"cmp"
	"encoding/base64"
	"log/slog"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/parley-a2a/parley/a2a"
)

// BasicOptions adjusts a Basic. A nil *BasicOptions means all defaults.
type BasicOptions struct {
	// Name is what the card calls the method. Empty means "basic".
	Name string
	// Logger receives a record when the file changed, and when it cannot be
	// used. Nil discards.
	Logger *slog.Logger
	// Now is the clock. Nil means time.Now.
	Now func() time.Time
}

// Basic is HTTP basic authentication (RFC 7617) against a file of users. It is
// for people and for old programs: passwords can be guessed, and cost time to
// verify.
type Basic struct {
	name   string
	users  *basicFile
	verify *verifier
}

// NewBasic returns a method that lets in the users of a file. It has a line for
// each, made by HashPassword or by htpasswd -B:
//
//	name:bcrypt hash
//	name:bcrypt hash:tenant
//	name:bcrypt hash:tenant:scopes and names of KeyRoles, with blanks in between
//
// Empty lines and lines that begin with # are ignored. Names are compared by bytes and tenants may be empty;
// without scopes there are a2a.OwnScopes. All hashes should have the same cost, or the time that an answer
// takes says something about the name.
//
// The file is read again when it changes, within a second. One that is gone or
// broken is logged, and the users stay as they were; one without users lets nobody in.
func NewBasic(file string, o *BasicOptions) (*Basic, error) {
	o = cmp.Or(o, new(BasicOptions))
	b := &Basic{name: cmp.Or(o.Name, "basic")}
	now := clockOf(o.Now)
	var err error
	if b.users, err = openBasicFile(file, now, cmp.Or(o.Logger, slog.New(slog.DiscardHandler))); err != nil {
		return nil, err
	}
	b.verify = newVerifier(now)
	return b, nil
}

// Scheme implements Method.
func (b *Basic) Scheme() (string, *a2a.SecurityScheme) {
	return b.name, &a2a.SecurityScheme{HTTPAuth: &a2a.HTTPAuthSecurityScheme{Description: "A user name and a password.", Scheme: "Basic"}}
}

// Challenge implements Method.
func (b *Basic) Challenge() string { return `Basic charset="UTF-8"` }

// Authenticate implements Method. On its own it bounds how many passwords are
// verified at once, but not how often somebody guesses: that is for a Guard.
func (b *Basic) Authenticate(r *http.Request) (*a2a.Caller, error) {
	return b.login(r, goodFor, func(string) error { return nil })
}

// login implements guessable. It calls may once more when its turn has come, for many
// may have been waiting.
func (b *Basic) login(r *http.Request, believe time.Duration, may func(user string) error) (*a2a.Caller, error) {
	name, password, err := basicOf(r)
	if name == "" || err != nil {
		return nil, err
	}
	if err := may(name); err != nil {
		return nil, err
	}
	u, known := b.users.find(name)
	good, err := b.verify.check(r.Context(), name, password, u.hash, believe, func() error { return may(name) })
	switch {
	case err != nil:
		return nil, err
	case !known || !good:
		return nil, refuse("the user name or the password is wrong")
	}
	return &a2a.Caller{Subject: "user:" + name, Tenant: u.tenant, Scopes: u.scopes, Via: "basic"}, nil
}

// maxPassword is as much of a password as bcrypt looks at, in bytes: with a
// longer one, any other end would do as well.
const maxPassword = 72

// basicOf returns the user name and the password in a request, "" if there are
// none.
func basicOf(r *http.Request) (name, password string, err error) {
	scheme, rest, err := authorization(r)
	switch {
	case err != nil || scheme != "basic":
		return "", "", err
	case rest == "":
		return "", "", refuse("the header for basic authentication has no credentials")
	}
	pair, err := base64.StdEncoding.Strict().DecodeString(rest)
	if err != nil {
		return "", "", refuse("the credentials for basic authentication are not base64")
	}
	name, password, ok := strings.Cut(string(pair), ":")
	switch {
	case !ok:
		return "", "", refuse("the credentials for basic authentication have no colon between the user name and the password")
	case !utf8.Valid(pair) || strings.ContainsFunc(string(pair), unicode.IsControl):
		return "", "", refuse("the credentials for basic authentication are not UTF-8, or have control characters")
	case name == "" || len(name) > maxLabel:
		return "", "", refuse("a user name has between 1 and %d bytes", maxLabel)
	case len(password) > maxPassword:
		return "", "", refuse("a password has %d bytes at most", maxPassword)
	}
	return name, password, nil
}

// guessable is a Method with credentials that people choose.
type guessable interface {
	// login is Authenticate that calls may with the user's name before it finds out
	// anything about a password, and returns its error. A password that was right less
	// than believe ago is compared again only when it, or what it is compared with, has
	// changed.
	login(r *http.Request, believe time.Duration, may func(user string) error) (*a2a.Caller, error)
}

var (
	_ guessable = (*Basic)(nil)
	_ Method    = (*Basic)(nil)
	_ Method    = (*Keys)(nil)
	_ Runner    = (*Keys)(nil)
)
