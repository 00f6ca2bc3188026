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
	// Name is the card's name for the method. Empty means "basic".
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

// NewBasic returns a method that lets in the users of a file. The file has a line for
// each user, made by HashPassword or by htpasswd -B:
//
//	name:bcrypt hash
//	name:bcrypt hash:tenant
//	name:bcrypt hash:tenant:scopes and names of KeyRoles, with blanks in between
//
// Empty lines and lines that begin with # are ignored. Names are compared byte by byte,
// and tenants may be empty. Users without scopes have a2a.OwnScopes. All hashes should
// have the same cost, or the time of an answer says something about the name.
//
// The file is read again within a second when it changes. If it is missing or broken,
// that is logged and the users stay as they were; a file without users lets nobody in.
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

// Authenticate implements Method. By itself it bounds how many passwords are verified
// at once, but not how often somebody guesses: a Guard does.
func (b *Basic) Authenticate(r *http.Request) (*a2a.Caller, error) {
	return b.login(r, goodFor, func(string) error { return nil })
}

// login is Authenticate, but calls may with the user's name before it finds out anything
// about a password, and returns may's error. It calls may once more when its turn has
// come, because many callers may have been waiting. A password that was right less than
// believe ago is compared again only if it or its hash has changed.
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

// maxPassword is how many bytes of a password bcrypt looks at: of a longer one it would
// accept any other end.
const maxPassword = 72

// basicOf returns the user name and the password in a request; "" if there are none.
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
