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

// Requests between processes contain callers' messages, and their answers to
// questions for credentials, which are in no log. So it is sealed for the process
// that it is for (RFC 9180): the database, its backups and whoever reads them have
// nothing but noise. No key is kept anywhere: each process makes one, in memory,
// and its name in the store is the public half.

// nodeKey is what a process opens its mail with.
type nodeKey struct {
	name   string
	secret hpke.PrivateKey // nil: nobody writes to it
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
	panic(fmt.Sprintf("engine: make a key: %v", err)) // of no use to anybody
}

// sealing begins what is sealed, so that later releases can do it otherwise.
const sealing = 1

// maxMail is the largest piece of mail, in bytes: more than a request may have
// over any binding, in the form in which it travels.
const maxMail = 64 << 20

var (
	errTooMuch   = errors.New("too large to be forwarded")
	errNoMailbox = errors.New("a process of a release that takes no mail")
)

// seal closes a memo for the process of a name.
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

// open reads what was sealed for this process.
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
