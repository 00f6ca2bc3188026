package engine

import (
	"crypto/ecdh"
	"crypto/hpke"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
)

// Requests between processes contain callers' messages, and credentials, which are in no log.
// So a memo is sealed for the process that it is sent to (RFC 9180): the database, its backups
// and their readers see only ciphertext. No key is stored: each process makes one in memory,
// and its name in the store is the public half.

// nodeKey is the key with which a process opens messages to it.
type nodeKey struct {
	name   string
	secret hpke.PrivateKey // nil: no process writes to it
}

// newNodeKey returns the key of a process that shares its store.
func newNodeKey() nodeKey {
	pair, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err == nil {
		var secret hpke.PrivateKey
		if secret, err = hpke.NewDHKEMPrivateKey(pair); err == nil {
			return nodeKey{base64.RawURLEncoding.EncodeToString(pair.PublicKey().Bytes()), secret}
		}
	}
	panic(fmt.Sprintf("engine: make a key: %v", err)) // without a key the process is of no use
}

// sealing is the first byte of a sealed memo, so that later releases can change the format.
const sealing = 1

// maxMail is the size limit of a memo, in bytes: more than a request may have over any binding,
// in the form in which it is forwarded.
const maxMail = 64 << 20

var (
	errTooMuch   = errors.New("too large to be forwarded")
	errNoMailbox = errors.New("a process of a release that takes no mail")
)

// seal encrypts a memo for the process called node.
func (m *memo) seal(node string) ([]byte, error) {
	raw, err := base64.RawURLEncoding.DecodeString(node)
	if err != nil {
		return nil, errNoMailbox
	}
	key, err := ecdh.X25519().NewPublicKey(raw)
	if err != nil {
		return nil, errNoMailbox
	}
	to, err := hpke.NewDHKEMPublicKey(key)
	if err != nil {
		return nil, err
	}
	plain, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	if len(plain) > maxMail {
		return nil, errTooMuch
	}
	sealed, err := hpke.Seal(to, hpke.HKDFSHA256(), hpke.AES256GCM(), sealedFor(node), plain)
	if err != nil {
		return nil, err
	}
	return append([]byte{sealing}, sealed...), nil
}

// open decrypts a memo that was sealed for this process.
func (k *nodeKey) open(body []byte) (*memo, error) {
	if len(body) == 0 || body[0] != sealing || len(body) > maxMail+1024 {
		return nil, errors.New("mail of another form")
	}
	plain, err := hpke.Open(k.secret, hpke.HKDFSHA256(), hpke.AES256GCM(), sealedFor(k.name), body[1:])
	if err != nil {
		return nil, fmt.Errorf("open mail: %w", err)
	}
	m := &memo{}
	if err := json.Unmarshal(plain, m); err != nil {
		return nil, fmt.Errorf("read mail: %w", err)
	}
	return m, nil
}

func sealedFor(node string) []byte { return []byte("parley mail for " + node) }
