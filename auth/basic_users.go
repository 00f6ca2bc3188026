package auth

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/crypto/bcrypt"

	"github.com/parley-a2a/parley/a2a"
)

// user is a line of a file of users.
type user struct {
	hash   []byte
	tenant string
	scopes []string
}

// userSet is the content of a file.
type userSet struct {
	byName map[string]user
	// decoy is compared with the passwords of unknown users. The outcome does not
	// matter, only that it costs as much as the costliest hash of the file.
	decoy []byte
}

// Costs of hashes.
const (
	maxCost  = 14 // of bcrypt: about a second
	hashCost = 10 // of HashPassword: some 50 milliseconds
)

// decoyHash is the decoy if there are no users: the hash, of hashCost, of a random text
// that nobody has.
const decoyHash = "$2a$10$R/2vpExwIvGWVZEreeO57.YWBevwuY5yOg.Eqy/igvjHShq.3iaiC"

// HashPassword returns the line of a user for the file of NewBasic. Passwords
// have between 1 and 72 bytes.
func HashPassword(name string, password a2a.Secret) (string, error) {
	return hashPassword(name, password, hashCost)
}

func hashPassword(name string, password a2a.Secret, cost int) (string, error) {
	if err := checkUserName(name); err != nil {
		return "", fmt.Errorf("auth: a user name %w", err)
	}
	p := password.Reveal()
	if p == "" || len(p) > maxPassword || !utf8.ValidString(p) || strings.ContainsFunc(p, unicode.IsControl) {
		return "", fmt.Errorf("auth: a password has between 1 and %d bytes, of UTF-8 and without control characters", maxPassword)
	}
	hash, err := bcrypt.GenerateFromPassword([]byte(p), cost)
	if err != nil {
		return "", errors.New("auth: the password cannot be hashed")
	}
	return name + ":" + string(hash), nil
}

func checkUserName(name string) error {
	switch {
	case name == "":
		return errors.New("is missing")
	case strings.Contains(name, ":"):
		return errors.New("cannot have a colon")
	case strings.HasPrefix(name, "#"):
		return errors.New("cannot begin with #, as comments do")
	}
	return checkLabel(name)
}

// parseUsers reads a file of users. Errors name the line and quote nothing that could
// be secret.
func parseUsers(text string) (*userSet, error) {
	set := &userSet{byName: map[string]user{}, decoy: []byte(decoyHash)}
	highest := 0
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, u, err := parseUser(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if _, twice := set.byName[name]; twice {
			return nil, fmt.Errorf("line %d: this user was there before", n)
		}
		set.byName[name] = u
		if cost, _ := bcrypt.Cost(u.hash); cost > highest {
			highest, set.decoy = cost, u.hash
		}
	}
	return set, nil
}

func parseUser(line string) (name string, u user, err error) {
	name, rest, more := strings.Cut(line, ":")
	if !more {
		return "", user{}, errors.New("it has no colon and no hash: a line is name:hash, name:hash:tenant or name:hash:tenant:scopes")
	}
	if err := checkUserName(name); err != nil {
		return "", user{}, fmt.Errorf("the user name %w", err)
	}
	hash, rest, _ := strings.Cut(rest, ":")
	if err := checkHash(hash); err != nil {
		return "", user{}, err
	}
	u.hash = []byte(hash)
	tenant, words, _ := strings.Cut(rest, ":") // scopes have colons
	u.tenant = tenant
	if err := checkLabel(u.tenant); err != nil {
		return "", user{}, fmt.Errorf("the tenant %w", err)
	}
	var scopes, roles []string
	for _, word := range strings.Fields(words) {
		if _, role := KeyRoles[word]; role {
			roles = append(roles, word)
		} else {
			scopes = append(scopes, word)
		}
	}
	u.scopes, err = expandScopes(scopes, roles)
	return name, u, err
}

// checkHash reports what is wrong with a hash. bcrypt reads what follows the cost only
// when it compares.
func checkHash(hash string) error {
	form := len(hash) == 60 && slices.Contains([]string{"$2a$", "$2b$", "$2y$"}, hash[:4]) && hash[6] == '$' &&
		!strings.ContainsFunc(hash[7:], func(r rune) bool { return r > '~' || !isAlphanumeric(byte(r)) && r != '.' && r != '/' })
	cost, err := bcrypt.Cost([]byte(hash))
	switch {
	case !form || err != nil:
		return errors.New("its hash is not one of bcrypt: htpasswd -B makes such")
	case cost > maxCost:
		return fmt.Errorf("the cost of its hash is %d, which takes seconds: %d at most", cost, maxCost)
	}
	return nil
}
