package outbox

import (
	"testing"

	"github.com/parley-a2a/parley/store"
)

// Sources tell callers apart, of one tenant, of several, and at several agents, and
// say nothing else. Receivers keep them as settings: they never change.
func TestSources(t *testing.T) {
	seen := map[string]store.Key{}
	for _, k := range []store.Key{
		{}, {Owner: "a"}, {Tenant: "a"}, {Tenant: "a", Owner: "b"}, {Tenant: "ab"}, {Owner: "ab"}, {Tenant: "b", Owner: "a"}, {Tenant: "a\x00", Owner: "b"},
		{Tenant: "a", Owner: "\x00b"}, {Tenant: "\x1fx\x1fa", Owner: "b"}, {Tenant: "\x1fy\x1fa", Owner: "b"}, {Tenant: "\x1fx\x1f", Owner: "b"},
	} {
		s := sourceOf(k)
		if other, taken := seen[s]; taken || len(s) != 32 {
			t.Errorf("%+v has the source %s, as has %+v", k, s, other)
		}
		seen[s] = k
		k.ID = "task"
		if of := sourceOf(k); of != s {
			t.Errorf("of a task it is %s", of)
		}
	}
	if s := sourceOf(store.Key{Tenant: "acme", Owner: "key:ann"}); s != "c3dphlabse2ua3zbzwdeeqzyyv4dsiyw" {
		t.Errorf("the source is now %s: receivers that know it refuse what they get", s)
	}
}
