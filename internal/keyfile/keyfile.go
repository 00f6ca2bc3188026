// Package keyfile reads the files that hold agent cards and the keys of their
// signatures.
package keyfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/plain"
)

// Size limits of files, in bytes.
const (
	MaxCard = 1 << 20
	MaxKey  = 256 << 10
)

// Read returns the content of a file of at most limit bytes.
func Read(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	doc, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(doc)) > limit {
		err = fmt.Errorf("%s is larger than %d bytes", plain.Quote(name), limit)
	}
	return doc, err
}

// Signing returns the private key in the file that a flag names.
func Signing(flag, name string) (*auth.Key, error) {
	secret, err := Read(name, MaxKey)
	if err != nil {
		return nil, failure.Usagef("%s: %v", flag, err)
	}
	key, err := auth.ParseKey(secret)
	if err != nil {
		return nil, failure.Usagef("%s %s: %v", flag, plain.Quote(name), err)
	}
	return key, nil
}

// Trust is the set of keys, from files, one of which must have signed a card. The zero value is
// empty: cards then need no signature.
type Trust struct {
	Keys  auth.KeySet
	files []string
}

// Add adds the keys of a file.
func (t *Trust) Add(name string) error {
	doc, err := Read(name, MaxKey)
	if err != nil {
		return err
	}
	keys, err := auth.ParseKeySet(doc)
	if err != nil {
		return err
	}
	if len(keys) == 0 {
		return errors.New("there is no key in it that signs cards")
	}
	t.files, t.Keys = append(t.files, name), slices.Concat(t.Keys, keys)
	return nil
}

// String returns the names of the files.
func (t *Trust) String() string { return strings.Join(t.files, ",") }

// Check returns the part of a card that a signature with one of the keys covers,
// and the id of that key.
func (t *Trust) Check(ctx context.Context, doc []byte) (signed []byte, key string, err error) {
	v, err := auth.VerifyJSON(ctx, doc, t.Keys, nil)
	if err == nil {
		err = v.Err()
	}
	if err != nil {
		return nil, "", err
	}
	good := v.Good()
	return good.Payload.JSON, good.KeyID, nil
}
