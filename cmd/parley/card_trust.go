package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/auth"
)

// cardTrust is a repeatable flag of files with the keys that cards must be signed
// with; none means that cards need no signature.
type cardTrust struct {
	files []string
	keys  auth.KeySet
}

func (c *cardTrust) String() string { return strings.Join(c.files, ",") }
func (c *cardTrust) Type() string   { return "file" }
func (c *cardTrust) Set(name string) error {
	doc, err := readBounded(name, maxKeyFile)
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
	c.files, c.keys = append(c.files, name), slices.Concat(c.keys, keys)
	return nil
}

// trusted returns what a signature with a key that is trusted covers, and the
// key's id.
func (c *cardTrust) trusted(ctx context.Context, doc []byte) ([]byte, string, error) {
	v, err := auth.VerifyJSON(ctx, doc, c.keys, nil)
	if err == nil {
		err = v.Err()
	}
	if err != nil {
		return nil, "", err
	}
	good := v.Good()
	return good.Payload.JSON, good.KeyID, nil
}
