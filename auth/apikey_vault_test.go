package auth

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// vault is a Vault in memory that counts, and fails on demand.
type vault struct {
	mu     sync.Mutex // protects the fields below
	kept   map[string][]byte
	reads  int
	writes int
	err    error
	meet   func() // called by the next write before it reads, without the lock
	hold   chan struct{}
}

func (v *vault) Keep(ctx context.Context, name string, was, is []byte) ([]byte, error) {
	v.mu.Lock()
	hold, meet := v.hold, v.meet
	if is != nil {
		v.meet = nil
	}
	v.mu.Unlock()
	if hold != nil {
		<-hold
	}
	if meet != nil && is != nil {
		meet()
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.err != nil {
		return nil, v.err
	}
	if was == nil && is == nil {
		v.reads++
		return bytes.Clone(v.kept[name]), nil
	}
	if now, ok := v.kept[name]; ok != (was != nil) || !bytes.Equal(now, was) {
		return bytes.Clone(now), nil
	}
	if v.kept == nil {
		v.kept = map[string][]byte{}
	}
	v.writes++
	v.kept[name] = bytes.Clone(is)
	return is, nil
}

func (v *vault) Kept(context.Context) (map[string][]byte, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return maps.Clone(v.kept), v.err
}

func (v *vault) count() (reads, writes int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.reads, v.writes
}

func (v *vault) fail(err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.err = err
}

// A key that cannot be checked is not a wrong key, and is not remembered.
func TestVaultFails(t *testing.T) {
	v := &vault{}
	k := NewKeys(v, nil)
	token, _ := mustCreate(t, k, KeySpec{})
	trouble := errors.New("the disk is gone")
	v.fail(trouble)
	if c, err := k.Authenticate(request(KeyHeader, token)); c != nil || errors.Is(err, ErrCredentials) || !errors.Is(err, trouble) {
		t.Errorf("%v, %v", c, err)
	}
	v.fail(nil)
	if letIn(t, k, token) == "" {
		t.Error("refused afterwards")
	}
}

// Made-up keys use bounded memory, and displace no good key.
func TestMadeUpKeysPushNobodyOut(t *testing.T) {
	now := time.Now()
	v := &vault{}
	k := NewKeys(v, &KeysOptions{Now: func() time.Time { return now }})
	token, _ := mustCreate(t, k, KeySpec{})
	letIn(t, k, token)
	for i := range 3 * maxCachedMisses {
		if letIn(t, k, newToken(base32Of(i))) != "" {
			t.Fatal("a made-up key is good")
		}
	}
	if n := len(k.cache.missing); n > maxCachedMisses {
		t.Errorf("%d made-up keys are remembered", n)
	}
	before, _ := v.count()
	letIn(t, k, token)
	if after, _ := v.count(); after != before {
		t.Error("a good key was forgotten")
	}
}

// base32Of returns an ID for a number.
func base32Of(n int) string {
	b := []byte("aaaaaaaaaa")
	for i := range b {
		b[i] = "abcdefghijklmnopqrstuvwxyz234567"[n&31]
		n >>= 5
	}
	return string(b)
}

func TestManyAskForOneKeyOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &vault{}
		token, key := mustCreate(t, NewKeys(v, nil), KeySpec{})
		k := NewKeys(v, nil)
		hold := make(chan struct{})
		v.hold = hold
		ctx, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if letIn(t, k, token) == "" {
					t.Error("refused")
				}
			})
		}
		synctest.Wait()
		all.Go(func() {
			if _, err := k.Authenticate(request(KeyHeader, token).WithContext(ctx)); !errors.Is(err, context.Canceled) {
				t.Errorf("the caller that left: %v", err)
			}
		})
		synctest.Wait()
		leave()
		synctest.Wait()
		k.cache.drop(key.ID) // as if it were changed now: the answer on its way is for the old key and used no more
		close(hold)
		all.Wait()
		if reads, _ := v.count(); reads != 1 {
			t.Errorf("asked %d times", reads)
		}
		v.hold = nil
		letIn(t, k, token)
		if reads, _ := v.count(); reads != 2 {
			t.Errorf("asked %d times, with a change", reads)
		}
	})
}
