package torture

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// place is where a client puts a secret. Its name is a part of the secret.
type place string

const (
	inBearer     place = "bearer"     // Authorization: Bearer
	inBasic      place = "basic"      // Authorization: Basic
	inKey        place = "apikey"     // X-API-Key
	inCookie     place = "cookie"     // Cookie
	inParameter  place = "parameter"  // of the service, by a header
	inExtension  place = "extension"  // an address in A2A-Extensions
	inProxy      place = "proxied"    // Proxy-Authorization
	inQuery      place = "query"      // ?access_token=
	inUnknown    place = "unknown"    // a field that nobody knows, in JSON and in protocol buffers
	inPage       place = "pagetoken"  // of a list
	inAnswer     place = "answer"     // to a task that wants an authorization
	inUserinfo   place = "userinfo"   // in the address of a webhook
	inHookQuery  place = "hookquery"  // there, too
	inPushToken  place = "pushtoken"  // of a webhook
	inPushSecret place = "pushsecret" // whsec_, of a webhook
	inPushAuth   place = "pushauth"   // credentials of a webhook
	inContent    place = "content"    // text and metadata of messages
	inGone       place = "gone"       // of a webhook that was deleted since
	inKeyItself  place = "?"          // the key that lets requests in
)

// kept are the columns that are meant for what comes in some places; all others
// are for none.
var kept = map[place][]string{
	inPushToken: {"push.body"}, inPushSecret: {"push.body"}, inPushAuth: {"push.body"}, inHookQuery: {"push.body"},
	inExtension: {"entry.body"}, // the agent is told what its client supports, also when it runs again
	inContent:   {"entry.body", "seal.body", "task.head", "receipt.answer"},
}

// given are the places whose secrets an answer without an error may have: the
// settings of a webhook, for who made it, and what tasks are about.
var given = []place{inGone, inPushToken, inPushSecret, inPushAuth, inHookQuery, inContent}

// marks makes secrets that a scan finds again, in several codings.
type marks struct {
	nonce string
	forms [][]byte // of nonce, in lower case

	key []byte // that lets requests in; nil where nobody has to
}

func newMarks(seed uint64) *marks {
	m := &marks{nonce: fmt.Sprintf("zq%010xqz", seed&0xffffffffff)}
	m.forms = [][]byte{[]byte(m.nonce), []byte(hex.EncodeToString([]byte(m.nonce)))}
	// Base64 of anything with nonce in it, wherever it begins: the characters at
	// the ends depend on what is beside it.
	for pad := range 3 {
		enc := strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\x00", pad)+m.nonce)), "=")
		m.forms = append(m.forms, bytes.ToLower([]byte(enc[[]int{0, 2, 3}[pad]:len(enc)-1])))
	}
	return m
}

// of is a secret for a place.
func (m *marks) of(p place) string { return m.nonce + string(p) + "0" }

var placeName = regexp.MustCompile(`^[a-z]+`)

// in returns the places of the secrets in b; "?" where it was coded.
func (m *marks) in(b []byte) []place {
	var found []place
	if len(m.key) > 0 && bytes.Contains(b, m.key) {
		found = append(found, inKeyItself)
	}
	b = bytes.ToLower(b)
	for n, form := range m.forms {
		for rest := b; ; {
			i := bytes.Index(rest, form)
			if i < 0 {
				break
			}
			rest = rest[i+len(form):]
			p := place("coded")
			if n == 0 {
				p = place(placeName.Find(rest))
			}
			if !slices.Contains(found, p) {
				found = append(found, p)
			}
		}
	}
	return found
}

// except returns those of list that are not allowed. A secret that is coded may
// be any of those that are, and so may one that ends with a page.
func except(list, allowed []place) []place {
	return slices.DeleteFunc(slices.Clone(list), func(p place) bool {
		return slices.ContainsFunc(allowed, func(a place) bool { return p == "coded" || strings.HasPrefix(string(a), string(p)) })
	})
}
