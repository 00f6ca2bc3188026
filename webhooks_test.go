package parley

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/webhook"
	"github.com/parley-a2a/parley/store"
)

// Servers that share a store sign with the same keys, whoever made them.
func TestWebhookKeysAreTheStores(t *testing.T) {
	st := store.NewMemory()
	defer st.Close()
	var made [4][]byte
	var work sync.WaitGroup
	for i := range made {
		work.Go(func() {
			k, _, err := keysOf(t.Context(), st, time.Now())
			if err != nil {
				t.Error(err)
				return
			}
			made[i] = k.JWKS()
		})
	}
	work.Wait()
	for _, k := range made {
		if len(k) == 0 || !bytes.Equal(k, made[0]) {
			t.Fatalf("keys %s and %s", k, made[0])
		}
	}

	now := time.Now()
	public, err := RotateWebhookKeys(t.Context(), st, now)
	if err != nil {
		t.Fatal(err)
	}
	k, _, err := keysOf(t.Context(), st, now)
	if err != nil || k.PublicKey() != public || !k.Made().Equal(now.UTC().Truncate(time.Second)) {
		t.Errorf("after the rotation %v, %v", k, err)
	}
	set, err := webhook.ParseKeySet(k.JWKS())
	if err != nil || set == nil || bytes.Equal(k.JWKS(), made[0]) {
		t.Errorf("the published keys are %s, %v", k.JWKS(), err)
	}
}

// racing is a store in which somebody else rotates first.
type racing struct{ store.Store }

func (r racing) Keep(ctx context.Context, name string, was, is []byte) ([]byte, error) {
	if len(was) > 0 {
		if _, err := RotateWebhookKeys(ctx, r.Store, time.Now()); err != nil {
			return nil, err
		}
	}
	return r.Store.Keep(ctx, name, was, is)
}

func TestRotationsDoNotUndoEachOther(t *testing.T) {
	st := store.NewMemory()
	defer st.Close()
	if public, err := RotateWebhookKeys(t.Context(), racing{st}, time.Now()); err == nil {
		t.Errorf("%s is said to be the key, and is not", public)
	}
}

func TestWebhookKeysThatCannotBeRead(t *testing.T) {
	st := store.NewMemory()
	if _, err := st.Keep(t.Context(), store.WebhookKeys, nil, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if _, err := RotateWebhookKeys(t.Context(), st, time.Now()); err == nil {
		t.Error("keys that cannot be read were replaced")
	}
	st.Close()
	if _, _, err := keysOf(t.Context(), st, time.Now()); !errors.Is(err, store.ErrClosed) {
		t.Errorf("of a closed store: %v", err)
	}
}
