package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/admin"
	"github.com/parley-a2a/parley/internal/plain"
)

// Keys implements admin.API.
func (a *administration) Keys(ctx context.Context) ([]admin.Key, error) {
	if err := admin.May(ctx, a2a.ScopeAdminRead); err != nil {
		return nil, err
	}
	all, err := a.keys.List(ctx, auth.KeyFilter{})
	if err != nil {
		return nil, a.failed("list keys", err)
	}
	list := []admin.Key{}
	for i := range all {
		list = append(list, shownKey(&all[i]))
	}
	return list, nil
}

func shownKey(k *auth.APIKey) admin.Key {
	return admin.Key{
		ID: k.ID, Name: k.Name, Subject: k.Subject, Tenant: k.Tenant, Scopes: k.Scopes, State: k.State(time.Now()),
		Created: k.Created, Expires: k.Expires, Revoked: k.Revoked, LastUsed: k.LastUsed,
	}
}

// CreateKey implements admin.API.
func (a *administration) CreateKey(ctx context.Context, n admin.NewKey) (_ *admin.Key, err error) {
	if err := admin.May(ctx, a2a.ScopeAdminWrite); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			a.record(ctx, "create key", err)
		}
	}()
	if !n.Expires.IsZero() && !n.Expires.After(time.Now()) {
		return nil, admin.Invalid("expires", "%s has passed", plain.Date(n.Expires))
	}
	if a.h.location.Memory() {
		return nil, admin.Errorf(http.StatusConflict, "tasks and keys of this server are in memory, and nobody is asked for a key")
	}
	token, k, err := a.keys.Create(ctx, auth.KeySpec{Name: n.Name, Subject: n.Subject, Tenant: n.Tenant, Scopes: n.Scopes, Roles: n.Roles, Expires: n.Expires})
	if err != nil {
		if text, ok := strings.CutPrefix(err.Error(), "auth: make an API key: "); ok {
			return nil, admin.Invalid("key", "%s", text)
		}
		return nil, a.failed("make a key", err)
	}
	a.h.audit.Event(a2aserver.AuditKeyCreated, OfKey(k, a2a.CallerFrom(ctx).Subject)...)
	shown := shownKey(k)
	shown.Token = token.Reveal()
	return &shown, nil
}

// RevokeKey implements admin.API.
func (a *administration) RevokeKey(ctx context.Context, id string) (_ *admin.Key, err error) {
	if err := admin.May(ctx, a2a.ScopeAdminWrite); err != nil {
		return nil, err
	}
	k, err := a.keys.Revoke(ctx, id)
	switch {
	case errors.Is(err, auth.ErrNoKey):
		err = &admin.Error{Status: http.StatusNotFound, Field: "id", Message: "there is no API key " + plain.Quote(id)}
	case err != nil:
		err = a.failed("revoke a key", err)
	}
	if err != nil {
		a.record(ctx, "revoke key", err, slog.String("key", id))
		return nil, err
	}
	a.h.audit.Event(a2aserver.AuditKeyRevoked, OfKey(k, a2a.CallerFrom(ctx).Subject)...)
	shown := shownKey(k)
	return &shown, nil
}

// Limits of one query of the audit log, in bytes.
const (
	auditChunk = 64 << 10
	auditLook  = 16 << 20
	auditLine  = 1 << 20
)

// Audit implements admin.API: it reads the file from its end. Next is the number of
// bytes before the last record returned.
func (a *administration) Audit(ctx context.Context, q admin.AuditQuery) (*admin.AuditRecords, error) {
	if err := admin.May(ctx, a2a.ScopeAdminRead); err != nil {
		return nil, err
	}
	n, err := limit(q.Query)
	if err != nil {
		return nil, err
	}
	if a.h.audit.path == "" {
		return nil, admin.Errorf(http.StatusNotFound, "there is no audit log to read: audit_log in parley.yaml, or --audit-log, names a file")
	}
	f, err := os.Open(a.h.audit.path)
	if err != nil {
		return nil, a.failed("read the audit log", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, admin.Errorf(http.StatusNotFound, "the audit log is not a file that can be read")
	}
	end := info.Size()
	if q.After != "" {
		at, err := strconv.ParseInt(q.After, 10, 64)
		if err != nil || at < 0 {
			return nil, errAfter
		}
		end = min(end, at) // the file may have been rotated
	}
	res := &admin.AuditRecords{Records: []admin.AuditRecord{}}
	for line, err := range linesBefore(f, end) {
		if err != nil {
			return nil, a.failed("read the audit log", err)
		}
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		if r, ok := auditRecord(line.text); ok && (q.Event == "" || r.Event == q.Event) && (q.Task == "" || textOf(r.Attrs["task"]) == q.Task) {
			res.Records = append(res.Records, r)
		}
		if line.at > 0 && (len(res.Records) == n || end-line.at > auditLook) {
			res.Next = strconv.FormatInt(line.at, 10)
			break
		}
	}
	return res, nil
}

// fileLine is a line of a file, and the position at which it begins.
type fileLine struct {
	at   int64
	text []byte
}

// linesBefore yields the lines of a file before a position, the last one first.
func linesBefore(f io.ReaderAt, at int64) iter.Seq2[fileLine, error] {
	return func(yield func(fileLine, error) bool) {
		var rest []byte // of a line whose beginning has not been read yet
		for at > 0 {
			size := min(at, auditChunk)
			at -= size
			chunk := make([]byte, size, size+int64(len(rest)))
			if _, err := f.ReadAt(chunk, at); err != nil {
				yield(fileLine{}, err)
				return
			}
			chunk = append(chunk, rest...)
			for len(chunk) > 0 {
				// The line after the last line feed, except a final one.
				cut := bytes.LastIndexByte(bytes.TrimSuffix(chunk, []byte("\n")), '\n') + 1
				if cut == 0 && at > 0 {
					break
				}
				if !yield(fileLine{at + int64(cut), chunk[cut:]}, nil) {
					return
				}
				chunk = chunk[:cut]
			}
			if rest = chunk; len(rest) > auditLine {
				rest = nil // too long for a record of this server
			}
		}
	}
}

// auditRecord decodes a line.
func auditRecord(line []byte) (r admin.AuditRecord, ok bool) {
	if err := json.Unmarshal(line, &r.Attrs); err != nil {
		return r, false
	}
	if err := json.Unmarshal(r.Attrs["time"], &r.Time); err != nil {
		return r, false
	}
	r.Event = textOf(r.Attrs["event"])
	delete(r.Attrs, "time")
	delete(r.Attrs, "event")
	return r, r.Event != ""
}

func textOf(raw json.RawMessage) (s string) {
	_ = json.Unmarshal(raw, &s) // a value that is not a string never matches
	return s
}
