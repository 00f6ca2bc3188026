package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/parley-a2a/parley/store"
)

// recorder is a testing.TB that only records whether a test failed.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Errorf(string, ...any) { r.failed = true }

// broken is a memory store with one fault.
type broken struct {
	*store.Memory
	list    func(*store.Page)
	entries func([]store.Entry) []store.Entry
	get     func(*store.Record)
	signs   func([]store.Receipt) []store.Receipt
	pushes  func([]store.PushConfig) []store.PushConfig
	letters func([]store.DeadLetter) []store.DeadLetter
	owners  func([]string) []string
}

func (b *broken) Owners(ctx context.Context, tenant, id string, limit int) ([]string, error) {
	all, err := b.Memory.Owners(ctx, tenant, id, limit)
	if b.owners != nil && len(all) > 0 {
		all = b.owners(all)
	}
	return all, err
}

func (b *broken) Pushes(ctx context.Context, k store.Key, after string, limit int) ([]store.PushConfig, error) {
	ps, err := b.Memory.Pushes(ctx, k, after, limit)
	if b.pushes != nil && len(ps) > 0 {
		ps = b.pushes(ps)
	}
	return ps, err
}

func (b *broken) DeadLetters(ctx context.Context, q store.LetterQuery) ([]store.DeadLetter, error) {
	ls, err := b.Memory.DeadLetters(ctx, q)
	if b.letters != nil && len(ls) > 0 {
		ls = b.letters(ls)
	}
	return ls, err
}

func (b *broken) Receipts(ctx context.Context, k store.Key) ([]store.Receipt, error) {
	rs, err := b.Memory.Receipts(ctx, k)
	if b.signs != nil && len(rs) > 0 {
		rs = b.signs(rs)
	}
	return rs, err
}

func (b *broken) List(ctx context.Context, q store.Query) (*store.Page, error) {
	p, err := b.Memory.List(ctx, q)
	if err == nil && b.list != nil && len(p.Records) > 0 {
		b.list(p)
	}
	return p, err
}

func (b *broken) Entries(ctx context.Context, k store.Key, after int64, limit int) ([]store.Entry, error) {
	es, err := b.Memory.Entries(ctx, k, after, limit)
	if b.entries != nil && len(es) > 0 {
		es = b.entries(es)
	}
	return es, err
}

func (b *broken) Get(ctx context.Context, k store.Key, most int64) (*store.Record, error) {
	r, err := b.Memory.Get(ctx, k, most)
	if err == nil && b.get != nil {
		b.get(r)
	}
	return r, err
}

func TestCheckFinds(t *testing.T) {
	m := store.NewMemory()
	defer m.Close()
	var keys []store.Key
	for i := range 3 {
		a := signed(create(name(fmt.Sprint(i)), 5), fmt.Sprint("m", i), fmt.Sprint("n", i))
		with(a, "node", "p", "q")
		a.Letters = []store.DeadLetter{letter(a.Pushes[0], 2), letter(a.Pushes[0], 4)}
		must(t, m, a)
		keys = append(keys, a.Row.Key)
	}
	for what, c := range map[string]struct {
		st   broken
		fine bool
	}{
		"nothing":                      {broken{}, true},
		"a list without its first":     {broken{list: func(p *store.Page) { p.Records = p.Records[1:] }}, false},
		"a list in another order":      {broken{list: func(p *store.Page) { r := p.Records; r[0], r[len(r)-1] = r[len(r)-1], r[0] }}, false},
		"a total that is too high":     {broken{list: func(p *store.Page) { p.Total++ }}, false},
		"a list with another state":    {broken{list: func(p *store.Page) { p.Records[0].State = 9 }}, false},
		"a log without its last":       {broken{entries: func(es []store.Entry) []store.Entry { return es[:len(es)-1] }}, false},
		"a log without its first":      {broken{entries: func(es []store.Entry) []store.Entry { return es[1:] }}, false},
		"a log with one entry twice":   {broken{entries: func(es []store.Entry) []store.Entry { es[0].Seq++; return es }}, false},
		"a row ahead of its log":       {broken{get: func(r *store.Record) { r.Last++ }}, false},
		"a sealed task that is active": {broken{get: func(r *store.Record) { r.Seal = &store.Seal{} }}, false},
		"another's record":             {broken{get: func(r *store.Record) { r.Owner = "stranger" }}, false},
		"a receipt of no entry":        {broken{signs: func(rs []store.Receipt) []store.Receipt { rs[0].Seq = 6; return rs }}, false},
		"another's receipt":            {broken{signs: func(rs []store.Receipt) []store.Receipt { rs[1].TaskID = "other"; return rs }}, false},
		"a receipt nobody finds":       {broken{signs: func(rs []store.Receipt) []store.Receipt { rs[1].Name = "z"; return rs }}, false},
		"receipts in another order":    {broken{signs: func(rs []store.Receipt) []store.Receipt { rs[0], rs[1] = rs[1], rs[0]; return rs }}, false},
		"a receipt with other content": {broken{signs: func(rs []store.Receipt) []store.Receipt { rs[0].Digest = []byte("x"); return rs }}, false},
		"a config ahead of the log":    {broken{pushes: func(ps []store.PushConfig) []store.PushConfig { ps[0].Cursor = 6; return ps }}, false},
		"another's config":             {broken{pushes: func(ps []store.PushConfig) []store.PushConfig { ps[0].Owner = "stranger"; return ps }}, false},
		"a config nobody finds":        {broken{pushes: func(ps []store.PushConfig) []store.PushConfig { ps[1].ID = "x"; return ps }}, false},
		"configs in another order":     {broken{pushes: func(ps []store.PushConfig) []store.PushConfig { ps[0], ps[1] = ps[1], ps[0]; return ps }}, false},
		"a config with other content":  {broken{pushes: func(ps []store.PushConfig) []store.PushConfig { ps[1].Node = "x"; return ps }}, false},
		"a dead letter of no entry":    {broken{letters: func(ls []store.DeadLetter) []store.DeadLetter { ls[0].Seq = 6; return ls }}, false},
		"another's dead letter":        {broken{letters: func(ls []store.DeadLetter) []store.DeadLetter { ls[0].ID = "q"; return ls }}, false},
		"an owner nobody finds":        {broken{owners: func(all []string) []string { return all[1:] }}, false},
		"letters in another order":     {broken{letters: func(ls []store.DeadLetter) []store.DeadLetter { ls[0], ls[1] = ls[1], ls[0]; return ls }}, false},
	} {
		t.Run(what, func(t *testing.T) {
			c.st.Memory = m
			r := &recorder{TB: t}
			Check(r, &c.st, keys...)
			if r.failed == c.fine {
				t.Errorf("found something: %t, want %t", r.failed, !c.fine)
			}
		})
	}
}

func TestFaultyFailsOnce(t *testing.T) {
	var m *store.Memory
	writes := []func(st store.Store) error{
		func(st store.Store) error { return store.Do(t.Context(), st, create(name("a"), 1)) },
		func(st store.Store) error { return st.Beat(t.Context(), "node", began.Add(time.Hour)) },
		func(st store.Store) error {
			_, err := st.Claim(t.Context(), "me", began.Add(2*time.Hour), 1)
			return err
		},
		func(st store.Store) error { _, err := st.Secret(t.Context(), "s"); return err },
		func(st store.Store) error {
			must(t, m, create(name("old"), 1)) // this store does not fail
			_, err := st.Delete(t.Context(), []store.Row{row(t, m, name("old"))})
			return err
		},
		func(st store.Store) error {
			must(t, m, owned("taken", "dead"))
			_, err := st.Take(t.Context(), "me", began, name("taken"))
			return err
		},
		func(st store.Store) error { return st.Leave(t.Context(), "leaver") },
		func(st store.Store) error { return store.Do(t.Context(), st, alone("a")) },
		func(st store.Store) error {
			must(t, m, alone("old"))
			_, err := st.Forget(t.Context(), store.ForgetQuery{Before: began.Add(2 * time.Hour), Limit: 1})
			return err
		},
		func(st store.Store) error {
			_, err := st.Keep(t.Context(), "k", nil, []byte("v"))
			return err
		},
		func(st store.Store) error {
			must(t, m, with(create(name("hooked"), 3), "dead", "dropped", "ahead", "claimed", "letters"))
			return st.SetPush(t.Context(), new(push(name("hooked"), "set", "node")))
		},
		func(st store.Store) error {
			return st.DropPush(t.Context(), store.PushID{Key: name("hooked"), ID: "dropped"})
		},
		func(st store.Store) error {
			return st.Advance(t.Context(), []store.Advance{advanced(push(name("hooked"), "ahead", "dead"), 3)})
		},
		func(st store.Store) error {
			_, err := st.ClaimPushes(t.Context(), "me", began, 99)
			return err
		},
		func(st store.Store) error {
			p := push(name("hooked"), "letters", "dead")
			bury(t, m, p, letter(p, 1))
			return st.SetLetters(t.Context(), []store.DeadLetter{letter(p, 1)}, true)
		},
		func(st store.Store) error {
			must(t, m, waiting(name("waits")))
			_, err := st.Draw(t.Context(), "me", "", 1)
			return err
		},
		func(st store.Store) error { return st.Post(t.Context(), []store.Mail{{Node: "posted"}}) },
		func(st store.Store) error {
			send(t, m, store.Mail{Node: "taken"})
			_, err := st.Mail(t.Context(), "taken", 1)
			return err
		},
	}
	scenario := func(st store.Store) (failed []int) {
		for i, w := range writes {
			if err := w(st); errors.Is(err, ErrFault) {
				failed = append(failed, i)
			}
		}
		return failed
	}
	m = store.NewMemory()
	defer m.Close()
	if n := Steps(func(st store.Store) { scenario(st) }); n != len(writes) {
		t.Fatalf("%d steps, want %d", n, len(writes))
	}
	for step := range writes {
		for _, f := range []Fault{FailBefore, FailAfter} {
			m = store.NewMemory()
			defer m.Close()
			same(t, "the writes that failed", scenario(Faulty(m, step, f)), []int{step})
			happened := f == FailAfter
			switch step {
			case 0:
				if _, err := m.Get(t.Context(), name("a"), store.RowOnly); (err == nil) != happened {
					t.Errorf("append, fault %v: get says %v", f, err)
				}
			case 1: // a node that sends beats keeps its task
				must(t, m, create(name("b"), 1))
				kept := true
				for _, r := range claim(t, m, "other", began, 10) {
					kept = kept && r.ID != "b"
				}
				if kept != happened {
					t.Errorf("beat, fault %v: the node kept its task: %t", f, kept)
				}
			case 2:
				if r := get(t, m, name("a"), false); (r.Node == "me") != happened {
					t.Errorf("claim, fault %v: the task is with %s", f, r.Node)
				}
			case 4:
				if _, err := m.Get(t.Context(), name("old"), store.RowOnly); (err != nil) != happened {
					t.Errorf("delete, fault %v: get says %v", f, err)
				}
			case 5:
				if r := get(t, m, name("taken"), false); (r.Node == "me") != happened {
					t.Errorf("take, fault %v: the task is with %s", f, r.Node)
				}
			case 6:
				must(t, m, owned("left", "leaver"))
				if r := take(t, m, "other", began.Add(2*time.Hour), name("left")); (r.Lost == 0) != happened {
					t.Errorf("leave, fault %v: lost %d", f, r.Lost)
				}
			case 9:
				if now := keep(t, m, "k", nil, nil); (now == `"v"`) != happened {
					t.Errorf("keep, fault %v: %s is kept", f, now)
				}
			case 10:
				if p := pushOf(t, m, name("hooked"), "set"); (p != nil) != happened {
					t.Errorf("set push config, fault %v: %+v", f, p)
				}
			case 11:
				if p := pushOf(t, m, name("hooked"), "dropped"); (p == nil) != happened {
					t.Errorf("drop push config, fault %v: %+v", f, p)
				}
			case 12:
				if p := pushOf(t, m, name("hooked"), "ahead"); (p.Cursor == 3) != happened {
					t.Errorf("advance, fault %v: %+v", f, p)
				}
			case 13:
				if p := pushOf(t, m, name("hooked"), "claimed"); (p.Node == "me") != happened {
					t.Errorf("claim push configs, fault %v: %+v", f, p)
				}
			case 14:
				if n := len(letters(t, m, store.LetterQuery{}, 9)); (n == 0) != happened {
					t.Errorf("set letters, fault %v: %d are left", f, n)
				}
			case 15:
				if r := get(t, m, name("waits"), false); (r.Node == "me") != happened {
					t.Errorf("draw, fault %v: the task is with %q", f, r.Node)
				}
			case 16:
				if n := len(receive(t, m, "posted", 9)); (n == 1) != happened {
					t.Errorf("post, fault %v: %d pieces are there", f, n)
				}
			case 17:
				if n := len(receive(t, m, "taken", 9)); (n == 0) != happened {
					t.Errorf("mail, fault %v: %d pieces are left", f, n)
				}
			case 7, 8: // one of the two is removed
				n := 0
				for _, r := range []string{"a", "old"} {
					if lookUp(t, m, name(""), r) != nil {
						n++
					}
				}
				if want := map[int]int{7: 0, 8: 2}[step]; happened && n != 1 || !happened && n != want {
					t.Errorf("step %d, fault %v: %d receipts are left", step, f, n)
				}
			}
		}
	}
}
