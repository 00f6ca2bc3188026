package postgres

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/pgtest"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/storetest"
)

var everySwitch = flag.Bool("switches", false, "run the suite in each combination of switches, with serialization failures")

// conflicts lets one statement of 20 and one commit of 20 that changes a table fail
// as those of engines do that leave conflicts to their clients.
const conflicts = `CREATE FUNCTION public.conflict() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	IF random() < 0.05 THEN RAISE EXCEPTION 'restart transaction' USING ERRCODE = '40001'; END IF;
	RETURN NULL; END $$;
DO $$ DECLARE t text; BEGIN
	FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = 'parley' AND tablename <> 'schema' LOOP
		EXECUTE format('CREATE TRIGGER conflict AFTER INSERT OR UPDATE OR DELETE ON parley.%I FOR EACH STATEMENT EXECUTE FUNCTION public.conflict()', t);
	END LOOP;
	CREATE CONSTRAINT TRIGGER conflict_late AFTER INSERT OR UPDATE ON parley.task DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.conflict();
END $$`

// conflicted returns a store in a database with conflicts.
func conflicted(t testing.TB, parameters string) storetest.Opener {
	address := copied(t)
	sql(t, address, conflicts)
	return func(t testing.TB) store.Store { return mustOpen(t, address+parameters, nil) }
}

// TestSwitches: the suite passes without what some engines lack, while transactions
// fail and are to be repeated.
func TestSwitches(t *testing.T) {
	t.Parallel()
	pgtest.Require(t)
	if !*everySwitch {
		for _, off := range []string{"", "&listen=off", "&advisory=off", "&default_query_exec_mode=exec"} {
			t.Run("with"+off, func(t *testing.T) { storetest.Random(t, conflicted(t, off), 1, 60) })
		}
		return
	}
	for i := range 1 << 3 {
		off := ""
		for bit, parameter := range []string{"&listen=off", "&advisory=off", "&default_query_exec_mode=exec"} {
			if i&(1<<bit) != 0 {
				off += parameter
			}
		}
		t.Run(fmt.Sprint("with", off), func(t *testing.T) {
			storetest.Main(t, func(t testing.TB) storetest.Opener { return conflicted(t, off) })
		})
	}
}

// TestProbe: what a server lacks is found out, said once and done without.
func TestProbe(t *testing.T) {
	t.Parallel()
	pgtest.Require(t)
	address := copied(t)
	role := "lacking_" + nameOf(address)
	sql(t, address, "CREATE ROLE "+role+" SUPERUSER LOGIN; CREATE SCHEMA old; CREATE FUNCTION old.pg_try_advisory_xact_lock_shared(int) RETURNS boolean LANGUAGE plpgsql AS "+
		"$$ BEGIN RAISE EXCEPTION 'not supported' USING ERRCODE = '0A000'; END $$; ALTER ROLE "+role+" SET search_path = old, pg_catalog")
	var log bytes.Buffer
	s := mustOpen(t, as(t, address, role), &Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if !s.o.NoAdvisory || s.o.NoListen || strings.Count(log.String(), "no advisory locks") != 1 {
		t.Errorf("a server without advisory locks: %+v, %s", s.o, log.String())
	}
	if err := store.Do(t.Context(), s, goOn("task", "node", 0)); err != nil {
		t.Error(err)
	}
	full := mustOpen(t, address, nil)
	if full.o.NoAdvisory || full.o.NoListen {
		t.Errorf("PostgreSQL: %+v", full.o)
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
