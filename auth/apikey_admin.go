package auth

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// ErrNoKey says that there is no such API key.
var ErrNoKey = errors.New("auth: there is no such API key")

// KeySpec describes an API key to be made.
type KeySpec struct {
	Name string // for people; anything of up to 256 bytes
	// Subject owns what is made with the key. Keys of one subject and tenant share it,
	// even a key that is made long after the others were revoked. Empty means a subject
	// of the key's own.
	Subject string
	Tenant  string // of the subject; empty: none
	// Scopes are what the key allows, besides the scopes of Roles; if there are
	// neither, it allows a2a.OwnScopes. Others than a2a.Scopes are allowed, for skills
	// that require them.
	Scopes  []string
	Roles   []string  // names of KeyRoles; their scopes are fixed when the key is made
	Expires time.Time // zero: never
}

// KeyRoles are names for groups of scopes.
var KeyRoles = map[string][]string{
	"operator": {a2a.ScopeTasksReadAll, a2a.ScopeTasksCancelAll},
	"auditor":  {a2a.ScopeTasksReadAll},
	"admin":    {a2a.ScopeAdminRead, a2a.ScopeAdminWrite},
	"metrics":  {a2a.ScopeMetricsRead},
}

// APIKey describes a key, without its secret. Times have the precision of
// seconds.
type APIKey struct {
	ID      string    `json:"id"`
	Name    string    `json:"name,omitempty"`
	Subject string    `json:"subject"` // callers are key:<subject>
	Tenant  string    `json:"tenant,omitempty"`
	Scopes  []string  `json:"scopes"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires,omitzero"` // zero: never
	Revoked time.Time `json:"revoked,omitzero"` // zero: not revoked
	Rotated time.Time `json:"rotated,omitzero"` // when the secret was replaced last; zero: never
	// GraceEnds is when the secret before the last rotation expires.
	GraceEnds time.Time `json:"graceEnds,omitzero"`
	LastUsed  time.Time `json:"lastUsed,omitzero"` // to about a minute; zero: never
}

// State returns "active", "expired" or "revoked".
func (k *APIKey) State(now time.Time) string {
	switch {
	case !k.Revoked.IsZero():
		return "revoked"
	case !k.Expires.IsZero() && !now.Before(k.Expires):
		return "expired"
	}
	return "active"
}

// KeyFilter selects the keys that match all of its fields that are set.
type KeyFilter struct {
	// Prefix is the beginning of the ID or of the token (parley_…), of any length. Text
	// after the ID is ignored.
	Prefix  string
	Subject string
	Tenant  string
}

func (f *KeyFilter) match(k *APIKey) bool {
	prefix := strings.TrimPrefix(f.Prefix, tokenPrefix)
	if id, _, whole := strings.Cut(prefix, "_"); whole && id != k.ID {
		return false
	} else if !strings.HasPrefix(k.ID, id) {
		return false
	}
	return (f.Subject == "" || f.Subject == k.Subject) && (f.Tenant == "" || f.Tenant == k.Tenant)
}

// Create makes a key and returns it with its token, which is not stored and cannot be
// read later.
func (k *Keys) Create(ctx context.Context, spec KeySpec) (a2a.Secret, *APIKey, error) {
	rec, err := k.newRecord(spec)
	if err != nil {
		return "", nil, err
	}
	for {
		rec.ID = strings.ToLower(rand.Text()[:idSize])
		if spec.Subject == "" {
			rec.Subject = rec.ID
		}
		token := newToken(rec.ID)
		rec.setToken(token)
		doc := rec.marshal()
		now, err := k.vault.Keep(ctx, keyName+rec.ID, nil, doc)
		if err != nil {
			return "", nil, fmt.Errorf("auth: keep an API key: %w", err)
		}
		if bytes.Equal(now, doc) { // otherwise there is a key with this ID
			k.cache.drop(rec.ID)
			return a2a.Secret(token), &rec.APIKey, nil
		}
	}
}

func (k *Keys) newRecord(spec KeySpec) (*keyRecord, error) {
	now := k.now()
	rec := &keyRecord{APIKey: APIKey{Name: spec.Name, Subject: spec.Subject, Tenant: spec.Tenant, Created: seconds(now), Expires: seconds(spec.Expires)}}
	for what, s := range map[string]string{"name": spec.Name, "subject": spec.Subject, "tenant": spec.Tenant} {
		if err := checkLabel(s); err != nil {
			return nil, fmt.Errorf("auth: make an API key: its %s %w", what, err)
		}
	}
	switch {
	case !spec.Expires.IsZero() && !spec.Expires.After(now):
		return nil, errors.New("auth: make an API key: it would have expired already")
	case rec.Expires.Year() > 9999: // in UTC, as it is stored
		return nil, errors.New("auth: make an API key: it would expire after the year 9999")
	}
	scopes, err := expandScopes(spec.Scopes, spec.Roles)
	if err != nil {
		return nil, fmt.Errorf("auth: make an API key: %w", err)
	}
	rec.Scopes = scopes
	return rec, nil
}

// List returns the keys that match a filter, whatever their state, oldest
// first.
func (k *Keys) List(ctx context.Context, f KeyFilter) ([]APIKey, error) {
	all, err := k.vault.Kept(ctx)
	if err != nil {
		return nil, fmt.Errorf("auth: list API keys: %w", err)
	}
	used := parseUsed(all[usedName])
	var list []APIKey
	for name, doc := range all {
		id, ok := strings.CutPrefix(name, keyName)
		if !ok {
			continue
		}
		rec, err := parseRecord(id, doc)
		if err != nil {
			return nil, fmt.Errorf("auth: list API keys: %w", err)
		}
		rec.LastUsed = used.time(id)
		if f.match(&rec.APIKey) {
			list = append(list, rec.APIKey)
		}
	}
	slices.SortFunc(list, func(a, b APIKey) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) })
	return list, nil
}

// Find returns the only key whose ID or token begins with prefix, as in
// KeyFilter.Prefix. If there is none, the error is ErrNoKey; several are another error.
func (k *Keys) Find(ctx context.Context, prefix string) (*APIKey, error) {
	list, err := k.List(ctx, KeyFilter{Prefix: prefix})
	switch {
	case err != nil:
		return nil, err
	case len(list) == 0 || prefix == "" || prefix == tokenPrefix:
		return nil, ErrNoKey
	case len(list) > 1:
		return nil, fmt.Errorf("auth: %d API keys begin like this, such as %s and %s: give more of the id", len(list), list[0].ID, list[1].ID)
	}
	return &list[0], nil
}

// Rotate gives a key another secret and returns the new token. The old one stays good
// for the time of grace; one in the grace of an earlier rotation ends at once. It is an
// error if the key is revoked or has expired.
func (k *Keys) Rotate(ctx context.Context, id string, grace time.Duration) (a2a.Secret, *APIKey, error) {
	if grace < 0 {
		return "", nil, errors.New("auth: rotate an API key: the time of grace is negative")
	}
	token := newToken(id)
	now := k.now()
	key, err := k.change(ctx, id, func(rec *keyRecord) error {
		if s := rec.State(now); s != "active" {
			return fmt.Errorf("it is %s: make a new one", s)
		}
		rec.Previous, rec.GraceEnds = nil, time.Time{}
		if grace > 0 {
			rec.Previous, rec.GraceEnds = rec.Hash, seconds(now.Add(grace))
		}
		rec.Rotated = seconds(now)
		rec.setToken(token)
		return nil
	})
	if err != nil {
		return "", nil, err
	}
	return a2a.Secret(token), key, nil
}

// Revoke ends a key for good, and returns it. A revoked key stays as it is. Running
// servers refuse it within KeysOptions.Cache.
func (k *Keys) Revoke(ctx context.Context, id string) (*APIKey, error) {
	return k.change(ctx, id, func(rec *keyRecord) error {
		if rec.Revoked.IsZero() {
			rec.Revoked = seconds(k.now())
		}
		return nil
	})
}

// change replaces a key's record with the result of f. It repeats that if another
// caller was quicker.
func (k *Keys) change(ctx context.Context, id string, f func(*keyRecord) error) (*APIKey, error) {
	doc, err := k.vault.Keep(ctx, keyName+id, nil, nil)
	for {
		if err != nil {
			return nil, fmt.Errorf("auth: change the API key %s: %w", id, err)
		}
		if doc == nil {
			return nil, ErrNoKey
		}
		rec, err := parseRecord(id, doc)
		if err == nil {
			err = f(rec)
		}
		if err != nil {
			return nil, fmt.Errorf("auth: change the API key %s: %w", id, err)
		}
		next := rec.marshal()
		now, keepErr := k.vault.Keep(ctx, keyName+id, doc, next)
		if keepErr == nil && bytes.Equal(now, next) {
			k.cache.drop(id)
			return &rec.APIKey, nil
		}
		doc, err = now, keepErr
	}
}

// keyRecord is the stored form of a key.
type keyRecord struct {
	APIKey
	Hash     []byte `json:"hash"`               // SHA-256 of the token
	Previous []byte `json:"previous,omitempty"` // and of the one before, until GraceEnds
}

// Names in the vault.
const (
	keyName  = "apikey/" // and the ID
	usedName = "apikey-used"
)

func (rec *keyRecord) setToken(token string) {
	h := hashToken(token)
	rec.Hash = h[:]
}

func (rec *keyRecord) marshal() []byte {
	doc, err := json.Marshal(rec)
	if err != nil {
		panic(err) // none of its types can fail
	}
	return doc
}

func parseRecord(id string, doc []byte) (*keyRecord, error) {
	rec := &keyRecord{}
	if err := json.Unmarshal(doc, rec); err != nil || rec.ID != id || len(rec.Hash) == 0 || rec.Scopes == nil {
		return nil, fmt.Errorf("the record of the API key %s cannot be read: revoke it and make a new one, or bring a backup back", id)
	}
	rec.Scopes = slices.Clip(rec.Scopes) // callers share them
	return rec, nil
}

func seconds(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC().Truncate(time.Second)
}
