package postgres

import (
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/pgtest"
)

// After the clock was set back, dead nodes do not count as alive until it catches up.
func TestBeatsAheadOfTheClock(t *testing.T) {
	pgtest.Require(t)
	address := cluster.Database(t)
	st := mustOpen(t, address, nil)
	now, err := st.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for node, at := range map[string]time.Time{"dead": now.Add(time.Hour), "asleep": now.Add(-time.Hour), "awake": now} {
		if err := st.Beat(t.Context(), node, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := st.Beat(t.Context(), "awake", now); err != nil {
		t.Fatal(err)
	}
	const ages = "SELECT string_agg(convert_from(name, 'UTF8') || ' ' || (beat > (extract(epoch FROM clock_timestamp()) - 600) * 1000 AND beat <= extract(epoch FROM clock_timestamp()) * 1000), ', ' ORDER BY name) FROM parley.node"
	if got := sql(t, address, ages); got != "asleep false, awake true, dead true" {
		t.Errorf("beats of the last ten minutes: %s", got)
	}
}
