package postgres

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/parley-a2a/parley/internal/pgtest"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/storetest"
)

var everySwitch = flag.Bool("switches", false, "run the suite in each combination of switches, with serialization failures and cut connections")

// conflicts makes one transaction of ten fail, as engines do that leave conflicts to their
// clients: half of these at a statement that changes a table, the others at the commit. Each
// transaction is decided once, so that one with many rows may pass. The outcomes come in
// turn, so that a repeated transaction succeeds.
const conflicts = `CREATE SEQUENCE public.fate;
CREATE FUNCTION public.conflict() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	IF coalesce(current_setting('conflict.fate', true), '') = '' THEN
		PERFORM set_config('conflict.fate', (nextval('public.fate') % 20)::text, true);
	END IF;
	IF current_setting('conflict.fate') = TG_ARGV[0] THEN RAISE EXCEPTION 'restart transaction' USING ERRCODE = '40001'; END IF;
	RETURN NULL; END $$;
DO $$ DECLARE t text; BEGIN
	FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = 'parley' AND tablename <> 'schema' LOOP
		EXECUTE format('CREATE TRIGGER conflict AFTER INSERT OR UPDATE OR DELETE ON parley.%I FOR EACH STATEMENT EXECUTE FUNCTION public.conflict(7)', t);
	END LOOP;
	CREATE CONSTRAINT TRIGGER conflict_late AFTER INSERT OR UPDATE ON parley.task DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.conflict(14);
END $$;
CREATE FUNCTION public.cut() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN
	EXECUTE (SELECT 'LOCK TABLE ' || string_agg('parley.' || tablename, ', ') || ' IN SHARE MODE NOWAIT' FROM pg_tables WHERE schemaname = 'parley');
	RETURN (SELECT count(pg_terminate_backend(pid)) FROM (SELECT pid FROM pg_stat_activity WHERE datname = current_database()
		AND application_name <> 'clean' AND state = 'idle' AND state_change < clock_timestamp() - interval '10 ms' ORDER BY random() LIMIT 1) AS p);
	EXCEPTION WHEN lock_not_available THEN RETURN 0; END $$`

// conflicted returns a store in a database with conflicts.
func conflicted(t testing.TB, parameters string) storetest.Opener {
	address := copied(t)
	sql(t, address, conflicts)
	return func(t testing.TB) store.Store { return mustOpen(t, address+parameters, nil) }
}

// switches are the features that engines may lack, as parameters of an address.
var switches = []string{"&listen=off", "&advisory=off", "&default_query_exec_mode=exec", "&options=-c%20default_transaction_isolation%3Dserializable"}

// TestSwitches: the suite passes without the features that some engines lack, while
// transactions fail and must be repeated. With -switches it runs the whole suite in each
// combination, while connections are cut too.
func TestSwitches(t *testing.T) {
	t.Parallel()
	pgtest.Require(t)
	if !*everySwitch {
		for _, off := range append([]string{""}, switches...) {
			t.Run("with"+off, func(t *testing.T) { storetest.Random(t, conflicted(t, off), 1, 60) })
		}
		return
	}
	for i := range 1 << len(switches) {
		off := ""
		for bit, parameter := range switches {
			if i&(1<<bit) != 0 {
				off += parameter
			}
		}
		t.Run("with"+off, func(t *testing.T) {
			t.Parallel()
			t.Run("cuts", func(t *testing.T) { testCuts(t, off) })
			address := copied(t)
			sql(t, address, conflicts)
			cuts := cutting(t, address)
			c := cleaner(t, address)
			defer c.Close(context.Background())
			run := storetest.Run
			if strings.Contains(off, "listen=off") {
				run = storetest.RunAlone // there are no hints
			}
			run(t, func(t testing.TB) storetest.Opener {
				if err := clean(c); err != nil { // the tests come one by one
					t.Fatal(err)
				}
				return func(t testing.TB) store.Store { return mustOpen(t, address+off, nil) }
			})
			if failed := sql(t, address, "SELECT last_value / 10 FROM public.fate"); failed == "0" || cuts.Load() == 0 {
				t.Errorf("%s transactions failed, and %d connections were cut", failed, cuts.Load())
			} else {
				t.Logf("about %s transactions failed, and %d connections were cut", failed, cuts.Load())
			}
		})
	}
}

// cutting ends connections to a database until the test ends: after each third writing
// transaction, one that has been idle between transactions for a moment, so that repeated
// calls succeed on a busy machine too. After a cut COMMIT the outcome is unknown, which the
// suite does not expect (TestCuts covers that). So the tables are locked while a connection
// is cut, which keeps transactions from committing.
func cutting(t *testing.T, address string) *atomic.Int64 {
	t.Helper()
	c := cleaner(t, address)
	var cuts atomic.Int64
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() {
		defer c.Close(context.Background())
		for was := int64(0); ; {
			var now int64
			err := c.QueryRow(ctx, "SELECT last_value FROM public.fate, pg_sleep(0.05)").Scan(&now)
			if err == nil && now >= was+3 {
				was = now
				var cut int64
				err = c.QueryRow(ctx, "SELECT public.cut()").Scan(&cut)
				cuts.Add(cut)
			}
			if err != nil {
				return
			}
		}
	})
	t.Cleanup(func() {
		stop()
		all.Wait()
	})
	return &cuts
}

// TestProbe: features that a server lacks are detected, logged once and not used.
func TestProbe(t *testing.T) {
	t.Parallel()
	pgtest.Require(t)
	address := copied(t)
	role := "lacking_" + nameOf(address)
	sql(t, address, "CREATE ROLE "+role+" SUPERUSER LOGIN; CREATE SCHEMA old; CREATE FUNCTION old.pg_try_advisory_xact_lock_shared(int) RETURNS boolean LANGUAGE plpgsql AS "+
		"$$ BEGIN RAISE EXCEPTION 'not supported' USING ERRCODE = '0A000'; END $$; "+
		"CREATE FUNCTION old.current_setting(n text, missing boolean) RETURNS text LANGUAGE SQL AS $$ SELECT CASE WHEN n LIKE 'yb%' THEN 'repeatable read' ELSE pg_catalog.current_setting(n, missing) END $$; "+
		"CREATE FUNCTION old.clock_timestamp() RETURNS timestamptz LANGUAGE SQL AS $$ SELECT date_trunc('milliseconds', pg_catalog.clock_timestamp()) $$; ALTER ROLE "+role+" SET search_path = old, pg_catalog")
	var log bytes.Buffer
	s := mustOpen(t, as(t, address, role), &Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if !s.o.NoAdvisory || s.o.NoListen || strings.Count(log.String(), "no advisory locks") != 1 || strings.Count(log.String(), "no clock with microseconds") != 1 ||
		strings.Count(log.String(), "but at repeatable read") != 1 || len(s.Without()) != 3 {
		t.Errorf("a server without advisory locks, microseconds and read committed: %+v, %s, %q", s.o, log.String(), s.Without())
	}
	if err := store.Do(t.Context(), s, goOn("task", "node", 0)); err != nil {
		t.Error(err)
	}
	full := mustOpen(t, address, nil)
	if full.o.NoAdvisory || full.o.NoListen || len(full.Without()) != 0 {
		t.Errorf("PostgreSQL: %+v, %q", full.o, full.Without())
	}
	off := mustOpen(t, address+"&listen=off&advisory=off", nil)
	if len(off.Without()) != 2 {
		t.Errorf("with switches: %q", off.Without())
	}
	for statement, lacks := range map[string]bool{"LISTEN x": false, "LISTENING x": true, "SELECT no_such_function()": true} {
		if got, err := full.lacks(t.Context(), statement); got != lacks || err != nil {
			t.Errorf("%s: lacks %t, %v", statement, got, err)
		}
	}
	if _, err := full.lacks(t.Context(), "SELECT 1/0"); err == nil || errors.Is(err, store.ErrUnreachable) {
		t.Errorf("another error: %v", err)
	}
}
