package serve

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/parley-a2a/parley/engine"
	"github.com/parley-a2a/parley/store"
)

func TestTasksOfAgentsThatAreNotThere(t *testing.T) {
	for _, c := range []struct {
		tenants []string // of tasks
		want    []string
	}{
		{nil, nil},
		{[]string{""}, []string{""}},
		{[]string{"acme", "zeta"}, []string{""}},
		{[]string{engine.TenantOf("a", "")}, []string{"a"}},
		{[]string{"", "acme", engine.TenantOf("a", ""), engine.TenantOf("a", "zeta"), engine.TenantOf("a-b", "acme"), engine.TenantOf("ab", "")}, []string{"", "a", "a-b", "ab"}},
		{[]string{"acme", engine.TenantOf("b", "\x21")}, []string{"", "b"}},
	} {
		st := store.NewMemory()
		defer st.Close()
		for i, tenant := range c.tenants {
			for _, owner := range []string{"", "ann"} {
				done := make(chan error, 1)
				now := time.Unix(1_700_000_000, 0)
				st.Append(&store.Append{
					Row:     store.Row{Key: store.Key{Tenant: tenant, Owner: owner, ID: fmt.Sprint(i)}, Context: "c", Updated: now, Created: now},
					Entries: []store.Entry{{Seq: 1, Time: now, Kind: 1, Body: []byte("x")}},
				}, func(err error) { done <- err })
				if err := <-done; err != nil {
					t.Fatal(err)
				}
			}
		}
		got, err := agentsOf(t.Context(), st.Tasks)
		slices.Sort(got)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("tenants %q: agents %q, %v, want %q", c.tenants, got, err, c.want)
		}
	}
}
