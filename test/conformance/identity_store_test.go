package conformance

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/archive"
)

// probeTag begins the extension by which a request can be told from others in
// the store.
const probeTag = "urn:probe:"

// spy is a store that remembers which of its methods a request comes to: the
// same ones for another's task and for none, so that both take the same time.
// It also complains about what is looked up for somebody in a guarded owner's
// place. It embeds nothing, so that no method of a store can be forgotten.
type spy struct {
	inner    store.Store
	advanced chan struct{} // a hint: webhooks came on

	mu       sync.Mutex // protects the fields below
	calls    map[string][]string
	guarded  map[store.Key]bool // scopes
	watching bool               // appends to guarded scopes are wrong, too
	breaches []string
}

func newSpy(inner store.Store) *spy {
	return &spy{inner: inner, advanced: make(chan struct{}, 1), calls: map[string][]string{}, guarded: map[store.Key]bool{}}
}

// guard declares an owner whose things nobody else may ask for.
func (s *spy) guard(scope store.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.guarded[scope] = true
}

// watch says whether nothing may be written for the guarded owners.
func (s *spy) watch(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watching = on
}

// take returns the calls of a request and forgets them.
func (s *spy) take(tag string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := s.calls[tag]
	delete(s.calls, tag)
	return strings.Join(calls, " ")
}

func (s *spy) report(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.breaches {
		t.Error(b)
	}
	s.breaches = nil
}

func (s *spy) note(ctx context.Context, method string, keys ...store.Key) store.Store {
	c := a2a.CallerFrom(ctx)
	at := slices.IndexFunc(c.Extensions, func(uri string) bool { return strings.HasPrefix(uri, probeTag) })
	if at < 0 {
		return s.inner // the engine by itself, or its agent
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[c.Extensions[at]] = append(s.calls[c.Extensions[at]], method)
	for _, k := range keys {
		if s.guarded[k.Scope()] && c.Subject != k.Owner && len(s.breaches) < 20 {
			s.breaches = append(s.breaches, fmt.Sprintf("for the caller %q of %q, the store was asked for %s of %q in %q", c.Subject, c.Tenant, method, k.Owner, k.Tenant))
		}
	}
	return s.inner
}

func (s *spy) Append(a *store.Append, done func(error)) {
	s.mu.Lock()
	if s.watching && s.guarded[a.Row.Key.Scope()] {
		s.breaches = append(s.breaches, fmt.Sprintf("an append to %q of %q in %q", a.Row.ID, a.Row.Owner, a.Row.Tenant))
	}
	s.mu.Unlock()
	s.inner.Append(a, done)
}

func (s *spy) Get(ctx context.Context, k store.Key, most int64) (*store.Record, error) {
	return s.note(ctx, "Get", k).Get(ctx, k, most)
}

func (s *spy) Entries(ctx context.Context, k store.Key, after int64, limit int) ([]store.Entry, error) {
	return s.note(ctx, "Entries", k).Entries(ctx, k, after, limit)
}

func (s *spy) Owners(ctx context.Context, tenant, id string, limit int) ([]string, error) {
	return s.note(ctx, "Owners").Owners(ctx, tenant, id, limit)
}

func (s *spy) List(ctx context.Context, q store.Query) (*store.Page, error) {
	return s.note(ctx, "List", store.Key{Tenant: q.Tenant, Owner: q.Owner}).List(ctx, q)
}

func (s *spy) Blob(ctx context.Context, hash string) ([]byte, error) {
	return s.note(ctx, "Blob").Blob(ctx, hash)
}

func (s *spy) Beat(ctx context.Context, node string, now time.Time) error {
	return s.note(ctx, "Beat").Beat(ctx, node, now)
}

func (s *spy) Claim(ctx context.Context, node string, deadBefore time.Time, limit int) ([]store.Row, error) {
	return s.note(ctx, "Claim").Claim(ctx, node, deadBefore, limit)
}

func (s *spy) Take(ctx context.Context, node string, deadBefore time.Time, k store.Key) (*store.Row, error) {
	return s.note(ctx, "Take", k).Take(ctx, node, deadBefore, k)
}

func (s *spy) Draw(ctx context.Context, node, after string, limit int) ([]store.Row, error) {
	return s.note(ctx, "Draw").Draw(ctx, node, after, limit)
}

func (s *spy) Now(ctx context.Context) (time.Time, error) { return s.note(ctx, "Now").Now(ctx) }

func (s *spy) Rows(ctx context.Context, keys []store.Key) ([]store.Row, error) {
	return s.note(ctx, "Rows", keys...).Rows(ctx, keys)
}

func (s *spy) Post(ctx context.Context, all []store.Mail) error {
	return s.note(ctx, "Post").Post(ctx, all)
}

func (s *spy) Mail(ctx context.Context, node string, limit int) ([]store.Mail, error) {
	return s.note(ctx, "Mail").Mail(ctx, node, limit)
}

func (s *spy) Watch(ctx context.Context, f func(store.Hint)) error {
	return s.note(ctx, "Watch").Watch(ctx, f)
}

func (s *spy) Leave(ctx context.Context, node string) error {
	return s.note(ctx, "Leave").Leave(ctx, node)
}

func (s *spy) Receipt(ctx context.Context, k store.Key, name string) (*store.Receipt, error) {
	return s.note(ctx, "Receipt", k).Receipt(ctx, k, name)
}

func (s *spy) Receipts(ctx context.Context, k store.Key) ([]store.Receipt, error) {
	return s.note(ctx, "Receipts", k).Receipts(ctx, k)
}

func (s *spy) Forget(ctx context.Context, q store.ForgetQuery) (int, error) {
	return s.note(ctx, "Forget").Forget(ctx, q)
}

func (s *spy) Secret(ctx context.Context, name string) ([]byte, error) {
	return s.note(ctx, "Secret").Secret(ctx, name)
}

func (s *spy) Keep(ctx context.Context, name string, was, is []byte) ([]byte, error) {
	return s.note(ctx, "Keep").Keep(ctx, name, was, is)
}

func (s *spy) Kept(ctx context.Context) (map[string][]byte, error) {
	return s.note(ctx, "Kept").Kept(ctx)
}

func (s *spy) Idle(ctx context.Context, q store.IdleQuery) ([]store.Row, error) {
	return s.note(ctx, "Idle").Idle(ctx, q)
}

func (s *spy) Delete(ctx context.Context, rows []store.Row) (int, error) {
	return s.note(ctx, "Delete").Delete(ctx, rows)
}

func (s *spy) Tasks(ctx context.Context, after *store.Key, limit int) ([]store.Row, error) {
	return s.note(ctx, "Tasks").Tasks(ctx, after, limit)
}

func (s *spy) SetPush(ctx context.Context, p *store.PushConfig) error {
	return s.note(ctx, "SetPush", p.Key).SetPush(ctx, p)
}

func (s *spy) Push(ctx context.Context, id store.PushID) (*store.PushConfig, error) {
	return s.note(ctx, "Push", id.Key).Push(ctx, id)
}

func (s *spy) Pushes(ctx context.Context, k store.Key, after string, limit int) ([]store.PushConfig, error) {
	return s.note(ctx, "Pushes", k).Pushes(ctx, k, after, limit)
}

func (s *spy) DropPush(ctx context.Context, id store.PushID) error {
	return s.note(ctx, "DropPush", id.Key).DropPush(ctx, id)
}

func (s *spy) Advance(ctx context.Context, all []store.Advance) error {
	err := s.note(ctx, "Advance").Advance(ctx, all)
	select {
	case s.advanced <- struct{}{}:
	default:
	}
	return err
}

func (s *spy) ClaimPushes(ctx context.Context, node string, deadBefore time.Time, limit int) (int, error) {
	return s.note(ctx, "ClaimPushes").ClaimPushes(ctx, node, deadBefore, limit)
}

func (s *spy) LivePushes(ctx context.Context, node string, after int64, limit int) ([]store.PushState, error) {
	return s.note(ctx, "LivePushes").LivePushes(ctx, node, after, limit)
}

func (s *spy) DeadLetters(ctx context.Context, q store.LetterQuery) ([]store.DeadLetter, error) {
	return s.note(ctx, "DeadLetters").DeadLetters(ctx, q)
}

func (s *spy) SetLetters(ctx context.Context, letters []store.DeadLetter, gone bool) error {
	return s.note(ctx, "SetLetters").SetLetters(ctx, letters, gone)
}

func (s *spy) Blobs(ctx context.Context, k store.Key) ([]string, error) {
	return s.note(ctx, "Blobs", k).Blobs(ctx, k)
}

func (s *spy) Close() error { return s.inner.Close() }

// only is the part of a store that belongs to one owner.
type only struct {
	store.Store
	scope store.Key
}

func (o only) Tasks(ctx context.Context, after *store.Key, limit int) ([]store.Row, error) {
	rows, err := o.Store.Tasks(ctx, after, 10_000)
	return slices.DeleteFunc(rows, func(r store.Row) bool { return r.Key.Scope() != o.scope }), err
}

func (o only) Kept(context.Context) (map[string][]byte, error) { return nil, nil }

// possessions is all that a store has of an owner, as text.
func (s *spy) possessions(t *testing.T, scope store.Key) string {
	t.Helper()
	var b bytes.Buffer
	count, _, err := archive.Export(t.Context(), only{s.inner, scope}, &b)
	if err != nil {
		t.Fatal(err)
	}
	if count.Tasks == 0 {
		t.Fatalf("%q of %q has nothing", scope.Owner, scope.Tenant)
	}
	return b.String()
}

// delivered waits until the webhooks of an owner have nothing to deliver.
func (s *spy) delivered(t *testing.T, scope store.Key) {
	t.Helper()
	late := time.After(patience)
	for {
		rows, err := only{s.inner, scope}.Tasks(t.Context(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		behind := 0
		for i := range rows {
			pushes, err := s.inner.Pushes(t.Context(), rows[i].Key, "", 100)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range pushes {
				if p.Live && p.Cursor < rows[i].Last {
					behind++
				}
			}
		}
		if behind == 0 {
			return
		}
		select {
		case <-s.advanced:
		case <-late:
			t.Fatalf("%d webhooks of %q are behind", behind, scope.Owner)
		}
	}
}
