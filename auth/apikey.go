package auth

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"hash/crc32"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// Vault keeps API keys; every store.Store is one. Keep replaces the value of a name if
// it equals was, and returns the value that is there afterwards; nil means none. Kept
// returns all values, by name.
type Vault interface {
	Keep(ctx context.Context, name string, was, is []byte) ([]byte, error)
	Kept(ctx context.Context) (map[string][]byte, error)
}

// KeysOptions adjusts Keys. A nil *KeysOptions means all defaults.
type KeysOptions struct {
	// Name is the card's name for the method. Empty means "apiKey".
	Name string
	// Cache is how long the vault's answer about a key is used: after this time at the
	// latest, a revoked key is refused. Zero means a second; negative asks the vault for
	// each request.
	Cache time.Duration
	// Logger receives a record when the last use of keys cannot be written. Nil
	// discards.
	Logger *slog.Logger
	// Now is the clock. Nil means time.Now.
	Now func() time.Time
}

// Keys manages the API keys in a vault and, as a Method, accepts them from the header
// X-API-Key or as bearer tokens.
type Keys struct {
	vault Vault
	name  string
	log   *slog.Logger
	now   func() time.Time
	keep  time.Duration // how long the vault's answers are used
	cache keyCache
	used  uses
}

// NewKeys returns the API keys in a vault.
func NewKeys(v Vault, o *KeysOptions) *Keys {
	o = cmp.Or(o, new(KeysOptions))
	return &Keys{
		vault: v, name: cmp.Or(o.Name, "apiKey"), log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)), now: clockOf(o.Now), keep: cmp.Or(o.Cache, time.Second),
		cache: keyCache{there: map[string]*keyEntry{}, missing: map[string]*keyEntry{}},
	}
}

// KeyHeader is the header that an API key comes in, unless it is a bearer
// token.
const KeyHeader = "X-API-Key"

const keyHeader = "X-Api-Key" // as net/http has it

// Scheme implements Method.
func (k *Keys) Scheme() (string, *a2a.SecurityScheme) {
	return k.name, &a2a.SecurityScheme{APIKey: &a2a.APIKeySecurityScheme{
		Description: "An API key of this agent. It is taken as a bearer token, too.", Location: "header", Name: KeyHeader,
	}}
}

// Challenge implements Method. There is no registered scheme for keys in a header of
// their own, but a key is also a valid bearer token.
func (k *Keys) Challenge() string { return "Bearer" }

// Authenticate implements Method.
func (k *Keys) Authenticate(r *http.Request) (*a2a.Caller, error) {
	token, err := keyOf(r)
	if token == "" || err != nil {
		return nil, err
	}
	id, ok := tokenID(token)
	if !ok {
		return nil, refuse("invalid API key: expected parley_<10 characters>_<49 characters>")
	}
	// A key that is wrong by a cached record may have got this secret since.
	for _, age := range []time.Duration{k.keep, min(k.keep, recheck)} {
		e, getErr := k.entry(r.Context(), id, age)
		if getErr != nil {
			return nil, fmt.Errorf("auth: look for an API key: %w", getErr)
		}
		var c *a2a.Caller
		if c, err = k.judge(e, token); c != nil {
			return c, nil
		}
	}
	return nil, err
}

// recheck is the greatest age of a cached record by which a key may be refused.
const recheck = 50 * time.Millisecond

// nobody is compared in place of a key that does not exist, so that this takes as long.
// It has no token: nobody knows what has this hash.
var nobody = func() *keyRecord {
	rec := &keyRecord{}
	rec.setToken(newToken("aaaaaaaaaa"))
	return rec
}()

func (k *Keys) judge(e *keyEntry, token string) (*a2a.Caller, error) {
	rec := e.rec
	if rec == nil {
		rec = nobody
	}
	hash := hashToken(token)
	now := k.now()
	good := subtle.ConstantTimeCompare(hash[:], rec.Hash)
	before := subtle.ConstantTimeCompare(hash[:], rec.Previous)
	switch {
	case good|before == 0 || e.rec == nil:
		return nil, refuse("there is no such API key")
	case !rec.Revoked.IsZero():
		return nil, outdated("the API key was revoked")
	case rec.State(now) != "active":
		return nil, outdated("the API key has expired")
	case good == 0 && !now.Before(rec.GraceEnds):
		return nil, outdated("the API key was rotated, and this secret is no longer valid")
	}
	if minute := now.Unix() / 60; e.used.Swap(minute) != minute {
		k.used.note(rec.ID, now)
	}
	return &a2a.Caller{Subject: "key:" + rec.Subject, Tenant: rec.Tenant, Scopes: rec.Scopes, Via: "key " + rec.ID}, nil
}

// read asks the vault for a key; nil means that there is none.
func (k *Keys) read(ctx context.Context, id string) (*keyRecord, error) {
	doc, err := k.vault.Keep(ctx, keyName+id, nil, nil) // which only reads
	if doc == nil || err != nil {
		return nil, err
	}
	return parseRecord(id, doc)
}

// keyOf returns the API key in a request, "" if there is none.
func keyOf(r *http.Request) (string, error) {
	bearer, err := bearerToken(r)
	if err != nil || !isKeyToken(bearer) {
		// The method that a broken Authorization is for reports it, or the guard does.
		bearer = ""
	}
	values := r.Header[keyHeader]
	switch {
	case len(values) == 0:
		return bearer, nil
	case len(values) > 1:
		return "", refuse("%s is there %d times: send one", KeyHeader, len(values))
	case values[0] == "":
		return "", refuse("%s is empty", KeyHeader)
	case bearer != "" && bearer != values[0]:
		return "", refuse("%s and Authorization have different API keys: send one", KeyHeader)
	}
	return values[0], nil
}

// A token is parley_<id>_<secret><checksum>. The prefix and the checksum are for
// programs that search for leaked secrets (they match
// parley_[a-z2-7]{10}_[0-9A-Za-z]{49} and compute CRC-32), and people can name a key by
// its id.
const (
	tokenPrefix  = "parley_"
	idSize       = 10 // of base 32: 50 bits, unique by the vault
	secretSize   = 43 // of base 62: 256 bits
	checksumSize = 6  // of base 62: 32 bits and leading zeros
	tokenSize    = len(tokenPrefix) + idSize + 1 + secretSize + checksumSize
)

const (
	base32 = "abcdefghijklmnopqrstuvwxyz234567"
	base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// newToken returns a token with a new secret.
func newToken(id string) string {
	b := make([]byte, 0, tokenSize)
	b = append(b, tokenPrefix...)
	b = append(b, id...)
	b = append(b, '_')
	secretEnd := len(b) + secretSize
	var random [64]byte
	for len(b) < secretEnd {
		rand.Read(random[:])
		for _, r := range random {
			// Bytes beyond the last whole 62 would make some digits likelier.
			if r < 4*62 && len(b) < secretEnd {
				b = append(b, base62[r%62])
			}
		}
	}
	sum := checksum(string(b))
	return string(append(b, sum[:]...))
}

// checksum returns the CRC-32 of s in base 62.
func checksum(s string) (sum [checksumSize]byte) {
	var b [tokenSize]byte
	n := crc32.ChecksumIEEE(b[:copy(b[:], s)])
	for i := checksumSize - 1; i >= 0; i-- {
		sum[i] = base62[n%62]
		n /= 62
	}
	return sum
}

// tokenID returns the ID in a token, if its form and its checksum are right. It does
// not check that there is such a key.
func tokenID(token string) (id string, ok bool) {
	if len(token) != tokenSize || !isKeyToken(token) {
		return "", false
	}
	id = token[len(tokenPrefix):][:idSize]
	secret := token[len(tokenPrefix)+idSize:]
	if secret[0] != '_' {
		return "", false
	}
	if strings.Trim(id, base32) != "" || strings.Trim(secret[1:], base62) != "" {
		return "", false
	}
	body := token[:tokenSize-checksumSize]
	sum := checksum(body)
	return id, token[len(body):] == string(sum[:])
}

// isKeyToken reports whether a bearer token is meant to be an API key; then no other
// method looks at it.
func isKeyToken(token string) bool { return strings.HasPrefix(token, tokenPrefix) }

// hashToken returns the stored form of a token. A fast hash is enough: slow ones
// protect secrets that people choose, and nobody can try 2^256 of them.
func hashToken(token string) (h [sha256.Size]byte) {
	var b [tokenSize]byte // not on the heap, because this is done for each request
	return sha256.Sum256(b[:copy(b[:], token)])
}

func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}
