package auth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// fromFile makes the keyring take its keys from a file. The file is read again
// and again instead of watched: it is small, and a file that is put in the place
// of another, on whatever file system, is seen for sure. The keys never get too
// old; it is the operator who has them.
func (k *keyring) fromFile(name string) {
	k.every(10*time.Second, time.Second)
	k.load = func(context.Context) ([]*issuerKey, error) {
		doc, err := readBounded(name)
		if err != nil {
			return nil, err
		}
		if private(doc) {
			return nil, errors.New("the file holds private keys, with which tokens can be made: give the server the public ones only")
		}
		return parseIssuerKeys(doc, k.algorithms)
	}
}

// readBounded reads a file that is not larger than a set of keys may be. Its
// errors do not say where it is: the operator knows by the issuer's name.
func readBounded(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, bare(err)
	}
	if !info.Mode().IsRegular() { // a pipe would keep us
		return nil, errors.New("it is not a file")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, bare(err)
	}
	defer func() { _ = f.Close() }()
	doc, err := io.ReadAll(io.LimitReader(f, maxKeys+1))
	if err != nil {
		return nil, fmt.Errorf("read it: %w", bare(err))
	}
	return doc, nil
}

// bare takes the path off an error.
func bare(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}
