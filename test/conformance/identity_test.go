package conformance

// The property of identity: whoever is somebody else never learns of what a
// caller has, and never touches it. For every operation, through every door
// that the tables know, what others get for its names is, byte for byte, what
// they get for names that name nothing; the store is asked for the same things
// in the same order, so that it takes the same time; and afterwards all is as it
// was. An operation that is new in the table fails the test until it says, in
// probes, by what it could be broken into; doors are found by themselves.

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/sqlite"
)

func TestNobodyReachesWhatIsAnothers(t *testing.T) {
	t.Parallel()
	for i := range dialect.Operations {
		if op := dialect.Operations[i].Op; probes[op] == nil {
			t.Fatalf("nobody knows how to break in by %s: add to probes a request for each way in which it can name something", op)
		}
	}
	if missing := allVersions(); missing != nil {
		t.Fatalf("nobody tries the versions %v: add them to doors", missing)
	}
	t.Run("in memory, where nobody is anonymous", func(t *testing.T) {
		t.Parallel()
		breakIn(t, store.NewMemory(), false)
	})
	t.Run("on disk, where anybody may be anonymous", func(t *testing.T) {
		t.Parallel()
		st, err := sqlite.Open(t.TempDir()+"/parley.db", nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() })
		breakIn(t, st, true)
	})
}

func breakIn(t *testing.T, st store.Store, anonymous bool) {
	tenant := "tenant-" + uuid.NewString()
	at, guard := newOffice(t, st, anonymous, "alice:"+tenant, "anna:", "other:"+tenant)
	var certificates *authority
	if !anonymous {
		certificates = at.ca
	}
	s := openIdentity(t, st, guard, certificates)
	victims := []*victim{
		{name: "alice", caller: callerOf("key:", "alice", tenant), shows: at.key("alice", tenant)},
		{name: "anna", caller: callerOf(plainIssuer+"#", "anna", ""), shows: at.token("anna", "")},
	}
	before := make([]string, len(victims))
	runs := 0
	for i, v := range victims {
		v.settle(t, s)
		s.spy.delivered(t, v.scope())
		before[i] = s.spy.possessions(t, v.scope())
		for len(v.box.posts) > 0 {
			<-v.box.posts
		}
		runs += s.butler.ran(v.caller)
	}
	s.spy.watch(true)
	attackers := who(at, victims, anonymous)
	t.Run("attackers", func(t *testing.T) {
		for _, a := range attackers {
			t.Run(a.name+", of "+a.of.name, func(t *testing.T) {
				if !a.alone {
					t.Parallel()
				}
				a.attack(t, s)
			})
		}
	})
	s.spy.watch(false)
	s.spy.report(t)
	s.butler.report(t)
	for i, v := range victims {
		if after := s.spy.possessions(t, v.scope()); after != before[i] {
			t.Errorf("what %s has is not what it was:\n%s\nand before:\n%s", v.name, after, before[i])
		}
		if n := len(v.box.posts); n > 0 {
			t.Errorf("%s got %d webhooks meanwhile", v.name, n)
		}
		runs -= s.butler.ran(v.caller)
	}
	if runs != 0 {
		t.Errorf("the agent ran %d times for the victims", -runs)
	}
	close(s.butler.release)
	for _, v := range victims {
		// The task as it was, and its end.
		all := receive(t, v.stream.all, "the end of the stream")
		if n := strings.Count(all, "\n"); !strings.Contains(all, "done "+v.word) || strings.Contains(all, greeting) || n != v.stream.lines+1 {
			t.Errorf("the stream of %s was, in %d events:\n%s", v.name, n, all)
		}
		v.inspect(t, s)
	}
}

// attack tries all that there is.
func (a attacker) attack(t *testing.T, s *identityServer) {
	v := a.of
	visitor := s.visitor(t, a.shows)
	box := newMailbox(t, nil)
	own := uuid.NewString()
	if !a.refused {
		c := s.client(t, a.shows, "1.0")
		res, err := c.SendMessage(t.Context(), &a2a.SendMessageRequest{Message: &a2a.Message{MessageID: uuid.NewString(), Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart("mine")}}})
		if err == nil && res.Task != nil {
			own = res.Task.ID
		}
	}
	pair := newPair(v.mine.as(own, box.url))
	// Version 0.1 chooses the ids of new tasks: its messages come last.
	type step struct {
		op dialect.Op
		d  door
	}
	var steps, last []step
	for i := range dialect.Operations {
		op := dialect.Operations[i].Op
		for _, d := range doors(op) {
			if d.dialect < dialect.V10 && (a.names != none || a.shows.at != "" && d.binding == a2a.BindingGRPC) {
				continue // older versions have no word for it
			}
			if d.dialect == dialect.V01 && (op == dialect.SendMessage || op == dialect.SendStreamingMessage) {
				last = append(last, step{op, d})
			} else {
				steps = append(steps, step{op, d})
			}
		}
	}
	broken := map[dialect.Op]bool{}
	pairs, made := 0, false
	for n, st := range append(steps, last...) {
		reals, fakes := probes[st.op](pair.real), probes[st.op](pair.fake)
		for i := range reals {
			if broken[st.op] {
				break
			}
			turns := min(16, len(reals))
			if a.refused {
				turns = 3 * len(reals) // nobody looks at what they ask for
			}
			if !a.thorough && (i+n*len(reals)+a.turn)%turns != 0 {
				continue // it is another's turn
			}
			pair.tenant(reals[i].req, fakes[i].req, a.names)
			one, two := try(t, s, visitor, st.d, st.op, reals[i]), try(t, s, visitor, st.d, st.op, fakes[i])
			pairs++
			// From now on this caller has tasks of both names. Whether one that just ended is
			// read from the store, or is still in memory, is a matter of moments.
			made = made || st.d.dialect == dialect.V01 && (st.op == dialect.SendMessage || st.op == dialect.SendStreamingMessage) && one != nil && two != nil && one.ok && two.ok
			wrong := ""
			switch {
			case one == nil || two == nil:
				broken[st.op] = true
				continue
			case a.refused && (one.ok || !strings.Contains(one.head, "Www-Authenticate")):
				wrong = "is not refused at the door"
			case a.refused && one.calls != "":
				wrong = "is refused, and asks the store for " + one.calls
			case !a.refused && !a.alone && strings.Contains(one.String(), "UNAUTHENTICATED"):
				wrong = "is refused, and the credentials are good"
			case a.alone && st.op == dialect.GetExtendedAgentCard && one.ok:
				wrong = "is not for callers without a name"
			case strings.Contains(one.String(), v.word):
				wrong = "tells what " + v.name + " has"
			case !pair.same(one, two):
				wrong = "tells what there is"
			case !one.ok && one.calls != two.calls && !(made && st.d.dialect == dialect.V01):
				wrong = "asks the store for " + one.calls + ", and for what is not there for " + two.calls
			}
			if wrong != "" {
				broken[st.op] = true
				t.Errorf("%s over %s, %s: %s:\n%s\n\nand where nothing is:\n%s", st.op, st.d, reals[i].what, wrong, one, two)
			}
		}
	}
	t.Logf("%d pairs of requests", pairs)
	for len(box.posts) > 0 {
		if p := <-box.posts; strings.Contains(string(p.raw), v.word) {
			t.Errorf("a webhook brought what is %s's: %s", v.name, p.raw)
		}
	}
}

// pair are somebody's names and others like them.
type pair struct {
	real, fake         *belongings
	realOnly, fakeOnly *strings.Replacer
	both               *strings.Replacer
}

func newPair(real *belongings) *pair {
	p := &pair{real: real, fake: real.like()}
	p.realOnly = strings.NewReplacer(p.real.placeholders()...)
	p.fakeOnly = strings.NewReplacer(p.fake.placeholders()...)
	p.both = strings.NewReplacer(append(p.real.placeholders(), p.fake.placeholders()...)...)
	return p
}

// same compares two answers after their names. Values that depend on time may
// differ, and lists have the things made with either name.
func (p *pair) same(one, two *reply) bool {
	// Most answers are equal already. To take off times and to read JSON costs more than a request.
	same := func(one, two string, is func(string) string) bool {
		return one == two || is(anonymous(one)) == is(anonymous(two))
	}
	whole := func(text string) string { return text }
	if one.ok && two.ok {
		return same(p.both.Replace(one.head), p.both.Replace(two.head), whole) && same(p.both.Replace(one.body), p.both.Replace(two.body), gist)
	}
	return same(p.realOnly.Replace(one.String()), p.fakeOnly.Replace(two.String()), whole)
}

// tenant sets that of two requests.
func (p *pair) tenant(one, two any, names tenancy) {
	set := func(req any, tenant string) { reflect.ValueOf(req).Elem().FieldByName("Tenant").SetString(tenant) }
	switch names {
	case theirs:
		set(one, p.real.tenant)
		set(two, p.real.tenant)
	case theirsOrNone:
		set(one, p.real.tenant)
		set(two, p.fake.tenant)
	}
}

// tags count requests.
var tags atomic.Int64

func try(t *testing.T, s *identityServer, v *visitor, d door, op dialect.Op, p probe) *reply {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tag := fmt.Sprintf("%s%08d", probeTag, tags.Add(1))
	r, err := v.call(ctx, d, op, p, tag)
	if err != nil {
		t.Errorf("%s over %s, %s: %v", op, d, p.what, err)
		return nil
	}
	r.calls = s.spy.take(tag)
	return r
}

// inspect proves that the test can fail: through each door the victim itself is
// answered otherwise for what it has than for what is not there.
func (v *victim) inspect(t *testing.T, s *identityServer) {
	visitor := s.visitor(t, v.shows)
	pair := newPair(v.mine.as(v.mine.done, v.box.url))
	for i := range dialect.Operations {
		op := dialect.Operations[i].Op
		for _, d := range doors(op) {
			told := false
			reals, fakes := probes[op](pair.real), probes[op](pair.fake)
			for i := 0; i < len(reals) && !told; i++ {
				one, two := try(t, s, visitor, d, op, reals[i]), try(t, s, visitor, d, op, fakes[i])
				told = one != nil && two != nil && (!pair.same(one, two) || strings.Contains(one.String(), v.word))
			}
			if !told {
				t.Errorf("%s over %s tells %s nothing of its own: no probe of it could fail", op, d, v.name)
			}
		}
	}
}
