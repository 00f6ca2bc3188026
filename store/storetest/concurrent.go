package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/parley-a2a/parley/store"
)

var concurrencyBehaviours = []behaviour{
	{"64 writers and as many readers", testConcurrent},
	{"a context that has ended ends a read", testEndedContext},
	{"a closed store says so", testClosed},
	{"close waits for queued appends", testCloseWaits},
}

func testConcurrent(t testing.TB, open Opener) {
	st := start(t, open)
	const writers, rounds = 64, 12
	var wg sync.WaitGroup
	keys := make([]store.Key, writers)
	for w := range writers {
		keys[w] = name(fmt.Sprintf("task %02d", w))
		acked := make(chan int64, rounds)
		wg.Go(func() {
			defer close(acked)
			a := create(keys[w], 1)
			for i := range rounds {
				if i > 0 {
					a = then(a, 1+i%3)
				}
				if err := store.Do(t.Context(), st, a); err != nil {
					t.Errorf("writer %d: %v", w, err)
					return
				}
				acked <- a.After + int64(len(a.Entries))
			}
		})
		wg.Go(func() { // acknowledged entries can be read at once
			var after int64
			for last := range acked {
				es, err := st.Entries(t.Context(), keys[w], after, 0)
				if err != nil || after+int64(len(es)) < last {
					t.Errorf("reader %d: %d entries after %d, %d are acknowledged: %v", w, len(es), after, last, err)
					continue
				}
				r, err := st.Get(t.Context(), keys[w], store.RowOnly)
				if err != nil || r.Last < last {
					t.Errorf("reader %d: record %+v, %d entries are acknowledged: %v", w, r, last, err)
				}
				after += int64(len(es))
			}
		})
	}
	wg.Wait()
	Check(t, st, keys...)
	Check(t, restart(t, st, open), keys...)
}

func testEndedContext(t testing.TB, open Opener) {
	st := start(t, open)
	a := create(name("a"), 1)
	must(t, st, a)
	ctx := ended(t)
	for what, err := range calls(ctx, st, a.Row.Key) {
		wantError(t, what, err, context.Canceled)
	}
	if r := get(t, st, a.Row.Key, false); r.Node != "node" || r.Epoch != 1 {
		t.Errorf("a claim with an ended context took the task: %+v", r.Row)
	}
	for what, err := range calls(t.Context(), st, a.Row.Key) { // nothing is stuck
		if err != nil {
			t.Errorf("%s afterwards: %v", what, err)
		}
	}
}

// calls calls every method that takes a context. It uses a blob "h", and a receipt, a task
// and a push config "unknown", none of which exists.
func calls(ctx context.Context, st store.Store, k store.Key) map[string]error {
	errs := map[string]error{}
	_, errs["get"] = st.Get(ctx, k, store.Whole)
	_, errs["entries"] = st.Entries(ctx, k, 0, 0)
	_, errs["list"] = st.List(ctx, store.Query{Tenant: k.Tenant, Owner: k.Owner, Limit: 1})
	errs["beat"] = st.Beat(ctx, "node", began)
	_, errs["claim"] = st.Claim(ctx, "other", began, 1)
	_, errs["idle"] = st.Idle(ctx, store.IdleQuery{Limit: 1})
	_, errs["delete"] = st.Delete(ctx, nil)
	_, errs["tasks"] = st.Tasks(ctx, nil, 1)
	_, errs["blobs"] = st.Blobs(ctx, k)
	_, errs["secret"] = st.Secret(ctx, "name")
	_, errs["receipts"] = st.Receipts(ctx, k)
	_, errs["forget"] = st.Forget(ctx, store.ForgetQuery{Before: began, Limit: 1})
	errs["leave"] = st.Leave(ctx, "gone")
	_, errs["push configs"] = st.Pushes(ctx, k, "", 1)
	errs["drop push config"] = st.DropPush(ctx, store.PushID{Key: k, ID: "unknown"})
	errs["advance"] = st.Advance(ctx, []store.Advance{{PushID: store.PushID{Key: k, ID: "unknown"}}})
	_, errs["claim push configs"] = st.ClaimPushes(ctx, "other", began, 1)
	_, errs["live push configs"] = st.LivePushes(ctx, "node", 0, 1)
	_, errs["dead letters"] = st.DeadLetters(ctx, store.LetterQuery{Limit: 1})
	errs["set letters"] = st.SetLetters(ctx, nil, true)
	_, errs["keep"] = st.Keep(ctx, "name", nil, nil)
	_, errs["kept"] = st.Kept(ctx)
	_, errs["now"] = st.Now(ctx)
	_, errs["rows"] = st.Rows(ctx, []store.Key{k})
	_, errs["draw"] = st.Draw(ctx, "other", "", 1)
	errs["post"] = st.Post(ctx, []store.Mail{{Node: "node"}})
	_, errs["mail"] = st.Mail(ctx, "node", 1)
	found := func(what string, err error) {
		if !errors.Is(err, store.ErrNotFound) {
			errs[what] = err
		}
	}
	_, err := st.Blob(ctx, "h")
	found("blob", err)
	_, err = st.Receipt(ctx, k, "unknown")
	found("receipt", err)
	_, err = st.Take(ctx, "other", began, name("unknown"))
	found("take", err)
	_, err = st.Push(ctx, store.PushID{Key: k, ID: "unknown"})
	found("push config", err)
	found("set push config", st.SetPush(ctx, new(push(name("unknown"), "p", "node"))))
	return errs
}

func testClosed(t testing.TB, open Opener) {
	st := start(t, open)
	a := create(name("a"), 1)
	must(t, st, a)
	for range 2 {
		if err := st.Close(); err != nil {
			t.Fatalf("close: %v", err)
		}
	}
	refuse(t, st, then(a, 1), store.ErrClosed)
	for what, err := range calls(t.Context(), st, a.Row.Key) {
		wantError(t, what, err, store.ErrClosed)
	}
	same(t, "log", log(t, start(t, open), a.Row.Key, 0, 0), entries(0, 1))
}

func testCloseWaits(t testing.TB, open Opener) {
	st := start(t, open)
	const n = 200
	done := make(chan error, n)
	var keys []store.Key
	for i := range n {
		a := create(name(fmt.Sprint(i)), 1)
		keys = append(keys, a.Row.Key)
		st.Append(a, func(err error) { done <- err })
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if len(done) != n {
		t.Fatalf("close returned after %d of %d outcomes", len(done), n)
	}
	for range n {
		if err := <-done; err != nil {
			t.Errorf("a queued append was lost: %v", err)
		}
	}
	st = start(t, open)
	for _, k := range keys {
		get(t, st, k, false)
	}
	Check(t, st, keys...)
}
