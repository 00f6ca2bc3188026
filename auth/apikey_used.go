package auth

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"sync"
	"time"
)

// Last uses of all keys are in one record: writing it costs one commit a minute,
// however many keys there are, and never conflicts with a change of a key. It maps IDs
// to Unix seconds.
type lastUses map[string]int64

// parseUsed reads the record. One that cannot be read is begun anew: people look at it,
// but nothing depends on it.
func parseUsed(doc []byte) lastUses {
	var u lastUses
	if json.Unmarshal(doc, &u) != nil || u == nil {
		return lastUses{}
	}
	return u
}

func (u lastUses) time(id string) time.Time {
	if s, ok := u[id]; ok {
		return time.Unix(s, 0).UTC()
	}
	return time.Time{}
}

// uses collects the last uses of keys until they are written.
type uses struct {
	mu  sync.Mutex // protects the fields below
	all lastUses
}

// note records that a key was used. There is at most one element for each key that
// exists, because no other is used.
func (u *uses) note(id string, at time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.all == nil {
		u.all = lastUses{}
	}
	u.all[id] = max(u.all[id], at.Unix())
}

// take returns what was noted since the last time.
func (u *uses) take() lastUses {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := u.all
	u.all = nil
	return all
}

// How often last uses are written, and how long the final write may take.
const (
	usedEvery = time.Minute
	usedLast  = 5 * time.Second
)

// Run writes the last uses of keys once a minute, and once more when ctx ends.
func (k *Keys) Run(ctx context.Context) error {
	tick := time.NewTicker(usedEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			k.writeUsed(ctx)
		case <-ctx.Done():
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), usedLast)
			defer cancel()
			k.writeUsed(ctx)
			return nil
		}
	}
}

// writeUsed writes what was noted. A failure is only logged: nobody is let in or
// refused by it.
func (k *Keys) writeUsed(ctx context.Context) {
	fresh := k.used.take()
	if len(fresh) == 0 {
		return
	}
	doc, err := k.vault.Keep(ctx, usedName, nil, nil)
	for err == nil {
		all := parseUsed(doc)
		next := maps.Clone(all)
		for id, s := range fresh {
			next[id] = max(next[id], s)
		}
		if maps.Equal(all, next) {
			return
		}
		var is, now []byte
		if is, err = json.Marshal(next); err != nil {
			break
		}
		if now, err = k.vault.Keep(ctx, usedName, doc, is); err == nil && bytes.Equal(now, is) {
			return
		}
		doc = now
	}
	for id, s := range fresh {
		k.used.note(id, time.Unix(s, 0))
	}
	k.log.Warn("the last use of API keys could not be written; trying again in a minute", "keys", len(fresh), "error", err)
}
