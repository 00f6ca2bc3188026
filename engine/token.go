package engine

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/store"
)

// A page token is the position after the last task or webhook of a page, with a tag that binds
// it to the caller and the filters of the list. The tag's key is in the store: a token survives
// a restart, cannot be forged, and is refused by any other list.

const tagSize = 16

func (e *Engine) formatToken(ctx context.Context, q *store.Query, p store.Position) (string, error) {
	key, err := e.pageKey(ctx)
	if err != nil {
		return "", err
	}
	raw := binary.BigEndian.AppendUint64(nil, uint64(p.Updated.UnixMilli()))
	raw = binary.AppendUvarint(raw, uint64(len(p.ID)))
	raw = append(raw, p.ID...)
	raw = append(raw, p.Owner...)
	raw = append(raw, tag(key, q, raw)...)
	return base64.RawURLEncoding.EncodeToString(raw), nil
}

// parseToken returns nil for the first page, whose token is "".
func (e *Engine) parseToken(ctx context.Context, q *store.Query, token string) (*store.Position, error) {
	if token == "" {
		return nil, nil
	}
	key, err := e.pageKey(ctx)
	if err != nil {
		return nil, err
	}
	bad := a2a.Invalid("pageToken", "is not a token of this list; take nextPageToken of its previous page, with the same filters")
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(raw) < 8+tagSize {
		return nil, bad
	}
	body := raw[:len(raw)-tagSize]
	if !hmac.Equal(raw[len(body):], tag(key, q, body)) {
		return nil, bad
	}
	n, k := binary.Uvarint(body[8:])
	names := body[8+max(k, 0):]
	if k <= 0 || n > uint64(len(names)) {
		return nil, bad // of an earlier version
	}
	return &store.Position{
		Updated: time.UnixMilli(int64(binary.BigEndian.Uint64(body))).UTC(),
		ID:      string(names[:n]),
		Owner:   string(names[n:]),
	}, nil
}

// tag covers the position, the scope and the filters; the page size may change from page to
// page.
func tag(key []byte, q *store.Query, body []byte) []byte {
	var raw []byte
	for _, s := range []string{string(body), q.Tenant, q.Owner, q.Context} {
		raw = binary.BigEndian.AppendUint64(raw, uint64(len(s)))
		raw = append(raw, s...)
	}
	raw = binary.BigEndian.AppendUint64(raw, uint64(q.State))
	if q.AnyOwner {
		raw = append(raw, 1)
	}
	since := int64(0)
	if !q.Since.IsZero() {
		since = q.Since.UnixMilli()
	}
	h := hmac.New(sha256.New, key)
	h.Write(binary.BigEndian.AppendUint64(raw, uint64(since)))
	return h.Sum(nil)[:tagSize]
}

// pageKey returns the key of page tokens, which is read from the store on first use.
func (e *Engine) pageKey(ctx context.Context) ([]byte, error) {
	if key := e.tokenKey.Load(); key != nil {
		return *key, nil
	}
	key, err := e.store.Secret(ctx, "page-token") // at worst several times, with the same answer
	if err != nil {
		return nil, stored.Failed(err, "read the key of page tokens")
	}
	e.tokenKey.Store(&key)
	return key, nil
}
