package console

import (
	"context"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/admin"
)

// missed is an API that tells what readers missed, without ids as feeds do.
type missed struct {
	admin.API
	tasks []*admin.Task
}

func (m *missed) Events(context.Context, string) iter.Seq2[admin.Event, error] {
	return func(yield func(admin.Event, error) bool) {
		for _, t := range m.tasks {
			if !yield(admin.Event{Type: admin.EventTask, Task: t}, nil) {
				return
			}
		}
	}
}

// A task that is in the same state again has a row of its own: readers who missed both
// times see the last one.
func TestRowsOfMissedChangesAreNotOld(t *testing.T) {
	at := time.Date(2026, 11, 28, 9, 0, 0, 0, time.UTC)
	api := new(missed)
	c, err := New(Options{Secret: []byte(strings.Repeat("s", 32)), Admin: api, Agents: func() []Agent { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	for _, hour := range []time.Duration{0, time.Hour} {
		changed := at.Add(hour)
		api.tasks = []*admin.Task{{TaskKey: admin.TaskKey{ID: "t"}, Name: "~t", State: "input-required", Updated: changed}}
		w := httptest.NewRecorder()
		viewer := a2a.Caller{Subject: "key:op", Scopes: []string{a2a.ScopeAdminRead}}
		c.changes(w, &request{httptest.NewRequest(http.MethodGet, "/tasks/live", nil), t.Context(), viewer, ""})
		if want := changed.Format("15:04:05"); !strings.Contains(w.Body.String(), want) {
			t.Errorf("a row changed at %s is\n%s", want, w.Body)
		}
	}
}
