package webhook

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/budget"
)

// The headers of Standard Webhooks, as net/http spells them.
const (
	HeaderID        = "Webhook-Id"
	HeaderTimestamp = "Webhook-Timestamp"
	HeaderSignature = "Webhook-Signature"
)

const secretPrefix = "whsec_"

// Secret returns the HMAC key of a configuration's token: the decoded rest of a token
// that begins with whsec_, any other token unchanged. The key of an empty token is nil.
func Secret(token string) ([]byte, error) {
	in, ok := strings.CutPrefix(token, secretPrefix)
	if !ok {
		return []byte(token), nil
	}
	key, err := base64.StdEncoding.Strict().DecodeString(in)
	if err != nil || len(key) == 0 {
		return nil, errors.New("a token that begins with whsec_ continues in base64, with padding")
	}
	return key, nil
}

// signing is held while a large body is signed.
var signing sync.Mutex

// Sign sets the headers of Standard Webhooks on a delivery: its id, which is the same
// for each attempt and contains no dot; the time of this attempt; and signatures over
// both and over the body as it is sent. There is one with the token, if there is one,
// and one with the keys, if k is not nil; for Overlap after a rotation also one with
// the previous key, for receivers that do not know the new one yet.
func (k *Keys) Sign(h http.Header, id string, at time.Time, body []byte, token string) {
	stamp := strconv.FormatInt(at.Unix(), 10)
	h[HeaderID] = []string{id}
	h[HeaderTimestamp] = []string{stamp}
	secret, _ := Secret(token) // CheckToken has refused others
	if k == nil && len(secret) == 0 {
		delete(h, HeaderSignature)
		return
	}
	if len(body) > budget.Small {
		signing.Lock() // signing takes a copy and a processor for some 30 ms
		defer signing.Unlock()
	}
	content := signedContent(id, stamp, body)
	list := make([]byte, 0, 256)
	if len(secret) > 0 {
		mac := hmac.New(sha256.New, secret)
		mac.Write(content)
		var sum [sha256.Size]byte
		list = base64.StdEncoding.AppendEncode(append(list, "v1,"...), mac.Sum(sum[:0]))
	}
	if k != nil {
		for i, s := range k.sets {
			if i > 0 && at.Sub(k.sets[i-1].made) > Overlap {
				break
			}
			if len(list) > 0 {
				list = append(list, ' ')
			}
			list = base64.StdEncoding.AppendEncode(append(list, "v1a,"...), ed25519.Sign(s.ed, content))
		}
	}
	h[HeaderSignature] = []string{string(list)}
}

func signedContent(id, stamp string, body []byte) []byte {
	b := make([]byte, 0, len(id)+len(stamp)+len(body)+2)
	b = append(append(b, id...), '.')
	b = append(append(b, stamp...), '.')
	return append(b, body...)
}

// The id of a delivery is msg_<source>_<rest>. The source stands for the caller that
// owns the configuration; because the id is part of what is signed, a signature made
// for one caller never holds for another.

// SourceHeader is the header, and the metadata over gRPC, in which a server tells a
// caller the source of its webhooks. It is never sent with a delivery: there the signed
// id has the source, and a header could be forged.
const SourceHeader = "Parley-Webhook-Source"

const (
	idPrefix   = "msg_"
	sourceSize = 32 // letters of base32
)

// SourcedID puts a source into a delivery's id. Without a source the id does not
// change.
func SourcedID(source, id string) string {
	if source == "" {
		return id
	}
	return idPrefix + source + "_" + strings.TrimPrefix(id, idPrefix)
}

// SourceOf returns the source in a delivery's id, "" if it has none, as with other
// servers and with Parley before it had sources. It proves nothing unless the id was
// verified.
func SourceOf(id string) string {
	rest, ok := strings.CutPrefix(id, idPrefix)
	if !ok || len(rest) < sourceSize+2 || rest[sourceSize] != '_' || !ValidSource(rest[:sourceSize]) {
		return ""
	}
	return rest[:sourceSize]
}

// ValidSource reports whether s has the form of a source.
func ValidSource(s string) bool {
	return len(s) == sourceSize && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz234567") == ""
}
