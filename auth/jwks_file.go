package auth

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// fromFile makes the keyring take its keys from a file. The file is read again
// and again instead of watched: it is small, and a file that is put in the place
// of another, on whatever file system, is seen for sure. The keys never get too
// old; it is the operator who has them.
func (k *keyring) fromFile(name string) {
	k.every(10*time.Second, time.Second)
	k.load = func(context.Context) ([]*issuerKey, error) {
		doc, _, err := readCredentials(name, maxKeys)
		if p, ok := errors.AsType[*fs.PathError](err); ok && p.Op == "read" {
			return nil, fmt.Errorf("read it: %w", p.Err)
		} else if err != nil {
			return nil, bare(err) // the operator knows by the issuer where it is
		}
		if private(doc) {
			return nil, errors.New("the file holds private keys, with which tokens can be made: give the server the public ones only")
		}
		return parseIssuerKeys(doc, k.algorithms)
	}
}
