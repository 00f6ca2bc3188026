package webhook

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// tokenLife is how long a JWT is good for. Receivers of the samples allow as
// much by themselves.
const tokenLife = 5 * time.Minute

const maxToken = 8 << 10 // bytes of a JWT that are read

// Claims are the claims in the JWT of a delivery. There is no audience: a receiver that
// does not expect one refuses it, and those of the samples expect none.
type Claims struct {
	ID         string           `json:"jti,omitempty"` // of the delivery; of those without one, a hash of all claims
	IssuedAt   *jwt.NumericDate `json:"iat"`
	Expires    *jwt.NumericDate `json:"exp,omitempty"`
	TaskID     string           `json:"taskId,omitempty"`
	URL        string           `json:"htu,omitempty"` // of the receiver, without query, as RFC 9449 names it
	BodySHA256 string           `json:"request_body_sha256"`
}

// Bearer sets Authorization to a JWT that vouches for the body as it is sent. The body
// should have gone through Compact.
func (k *Keys) Bearer(h http.Header, id, taskID, url string, at time.Time, body []byte) error {
	sum := sha256.Sum256(body)
	url, _, _ = strings.Cut(url, "?")
	s, err := jwt.Signed(k.sets[0].signer).Claims(Claims{
		ID: id, TaskID: taskID, URL: url,
		IssuedAt: jwt.NewNumericDate(at), Expires: jwt.NewNumericDate(at.Add(tokenLife)),
		BodySHA256: hex.EncodeToString(sum[:]),
	}).Serialize()
	if err != nil {
		return err
	}
	h["Authorization"] = []string{"Bearer " + s}
	return nil
}

// Token is a JWT that was read but not yet verified.
type Token struct{ jwt *jwt.JSONWebToken }

var (
	// ErrMissing means that a delivery lacks the headers in question.
	ErrMissing = errors.New("the delivery is not signed")
	// ErrMalformed means that it has them, but they are invalid.
	ErrMalformed = errors.New("the signature of the delivery cannot be read")
	// ErrUnknownKey means that the key is not in the set.
	ErrUnknownKey = errors.New("the delivery is signed with an unknown key")
	// ErrForged means that the signature does not match the delivery.
	ErrForged = errors.New("the signature does not match the delivery")
)

// ReadToken reads the JWT of a delivery. The error is ErrMissing if another credential
// is in its place, such as the client's own, which may be a JWT, too.
func ReadToken(h http.Header) (*Token, error) {
	values := h["Authorization"]
	if len(values) == 0 {
		return nil, ErrMissing
	}
	scheme, raw, _ := strings.Cut(values[0], " ")
	switch {
	case len(values) > 1:
		return nil, ErrMalformed
	case !strings.EqualFold(scheme, "Bearer") || len(raw) > maxToken:
		return nil, ErrMissing
	}
	// The list keeps a token from choosing how it is verified.
	t, err := jwt.ParseSigned(raw, []jose.SignatureAlgorithm{jose.RS256})
	if err != nil || len(t.Headers) != 1 {
		return nil, ErrMissing
	}
	return &Token{t}, nil
}

// Claims verifies a token, and returns its claims if they are about this body. The
// caller has to check when it was issued. The same token may be written in several
// ways, so a token without an id gets a hash of its claims as its id.
func (t *Token) Claims(keys *KeySet, body []byte) (*Claims, error) {
	key := keys.rsa[t.jwt.Headers[0].KeyID]
	if key == nil {
		return nil, ErrUnknownKey
	}
	var c Claims
	var signed json.RawMessage
	if t.jwt.Claims(key, &c, &signed) != nil {
		return nil, ErrForged
	}
	sum := sha256.Sum256(body)
	if c.IssuedAt == nil || !strings.EqualFold(c.BodySHA256, hex.EncodeToString(sum[:])) {
		return nil, ErrForged
	}
	if c.ID == "" {
		sum = sha256.Sum256(signed)
		c.ID = hex.EncodeToString(sum[:])
	}
	return &c, nil
}
