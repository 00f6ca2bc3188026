package auth

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestLastUseIsWrittenOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &vault{}
		var logged bytes.Buffer
		k := NewKeys(v, &KeysOptions{Logger: slog.New(slog.NewTextHandler(&logged, nil))})
		one, first := mustCreate(t, k, KeySpec{Name: "one"})
		two, _ := mustCreate(t, k, KeySpec{Name: "two"})
		mustCreate(t, k, KeySpec{Name: "three"})
		lastUsed := func() (used []time.Time) {
			t.Helper()
			for _, name := range []string{"one", "two", "three"} {
				list, err := NewKeys(v, nil).List(t.Context(), KeyFilter{})
				i := slices.IndexFunc(list, func(key APIKey) bool { return key.Name == name })
				if err != nil || i < 0 {
					t.Fatal(list, err)
				}
				used = append(used, list[i].LastUsed)
			}
			return used
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); k.Run(ctx) }()
		_, began := v.count()
		start := time.Now()
		for range 590 { // nearly ten minutes
			letIn(t, k, one)
			time.Sleep(time.Second)
		}
		_, wrote := v.count()
		if wrote -= began; wrote != 9 {
			t.Errorf("%d writes in ten minutes", wrote)
		}
		if used := lastUsed(); used[0].Before(start.Add(8*time.Minute)) || !used[1].IsZero() || !used[2].IsZero() {
			t.Errorf("after %v: %v", start, used)
		}
		letIn(t, k, two)
		v.fail(errors.New("the disk is gone"))
		time.Sleep(time.Minute)
		synctest.Wait()
		if !strings.Contains(logged.String(), "the disk is gone") {
			t.Errorf("logged: %s", logged.String())
		}
		v.fail(nil)
		time.Sleep(time.Minute)
		if used := lastUsed(); used[1].IsZero() {
			t.Error("a use was lost with the failure")
		}
		letIn(t, k, one)
		ends := time.Now()
		if _, err := k.Revoke(t.Context(), first.ID); err != nil {
			t.Fatal(err)
		}
		cancel()
		<-done
		if used := lastUsed(); !used[0].Equal(ends.Truncate(time.Second).UTC()) {
			t.Errorf("the last use before the end is %v, not %v", used[0], ends)
		}
	})
}

// The last use of a key in constant use is recorded, however long answers of the vault
// are cached.
func TestLastUseBehindALongCache(t *testing.T) {
	now := time.Now()
	v := &vault{}
	k := NewKeys(v, &KeysOptions{Cache: time.Hour, Now: func() time.Time { return now }})
	token, _ := mustCreate(t, k, KeySpec{})
	letIn(t, k, token)
	now = now.Add(30 * time.Minute)
	letIn(t, k, token)
	k.writeUsed(t.Context())
	if list, err := k.List(t.Context(), KeyFilter{}); err != nil || now.Sub(list[0].LastUsed) > time.Minute {
		t.Errorf("at %v: %+v, %v", now, list, err)
	}
}
