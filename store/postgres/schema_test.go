package postgres

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/parley-a2a/parley/internal/pgtest"
	"github.com/parley-a2a/parley/store"
)

// sql runs a statement in a database and returns the first value of its result as
// text.
func sql(t testing.TB, address, statement string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	results, err := conn.PgConn().Exec(t.Context(), statement).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	for _, r := range results {
		if len(r.Rows) > 0 {
			return string(r.Rows[0][0])
		}
	}
	return ""
}

// migrate migrates a database to a schema, as Open does.
func migrate(t testing.TB, address string, sc *schema) error {
	t.Helper()
	d, err := connect(t.Context(), address, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.pool.Close()
	return sc.migrate(t.Context(), d)
}

// later returns this program's schema with further steps.
func later(works int, steps ...string) *schema {
	return &schema{steps: append(append([]string{}, current.steps...), steps...), works: works}
}

// A program beside servers does not change the schema.
func TestExistingIsLeftAsItIs(t *testing.T) {
	pgtest.Require(t)
	address := cluster.Database(t)
	if _, err := Open(t.Context(), address, &Options{Existing: true}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty database: %v", err)
	}
	mustOpen(t, address, &Options{NoListen: true}).Close()
	was := current
	defer func() { current = was }()
	current = *later(1, "SELECT 1")
	if _, err := Open(t.Context(), address, &Options{Existing: true}); err == nil || !strings.Contains(err.Error(), "older version") {
		t.Errorf("a database of an older version: %v", err)
	}
	if got := sql(t, address, "SELECT version FROM parley.schema"); got != strconv.Itoa(was.version()) {
		t.Errorf("the schema is of version %s", got)
	}
	sql(t, address, "UPDATE parley.schema SET version = 99, works = 99")
	if _, err := Open(t.Context(), address, nil); err == nil || strings.Count(err.Error(), "postgres: ") != 1 {
		t.Errorf("a database of a newer version: %v", err)
	}
}

func TestManyProgramsStartAtOnce(t *testing.T) {
	pgtest.Require(t)
	for range 3 {
		address := cluster.Database(t)
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				s, err := Open(t.Context(), address, &Options{Conns: 2})
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := s.Secret(t.Context(), "name"); err != nil {
					t.Error(err)
				}
				s.Close()
			})
		}
		all.Wait()
		if got := sql(t, address, "SELECT version FROM parley.schema"); got != "1" && len(current.steps) == 1 {
			t.Errorf("version %s", got)
		}
	}
}

// TestVersionsSideBySide: a release may use the database of the next one, if that release
// allows it.
func TestVersionsSideBySide(t *testing.T) {
	pgtest.Require(t)
	address := cluster.Database(t)
	st := mustOpen(t, address, nil)
	// The next release is started beside this one, and then the one after it, which has
	// removed something.
	next := later(current.version(), "ALTER TABLE parley.kept ADD COLUMN more bigint; CREATE TABLE parley.more (x bigint)")
	if err := migrate(t, address, next); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Keep(t.Context(), "name", nil, []byte("value")); err != nil {
		t.Errorf("while the next one is there: %v", err)
	}
	if b, err := mustOpen(t, address, nil).Keep(t.Context(), "name", nil, nil); err != nil || string(b) != "value" {
		t.Errorf("opened beside the next one: %q, %v", b, err)
	}
	if got := sql(t, address, "SELECT version || ' ' || works FROM parley.schema"); got != "2 1" && current.version() == 1 {
		t.Errorf("the schema is %s", got)
	}
	v, err := OpenVault(t.Context(), address)
	if err != nil {
		t.Errorf("a vault beside the next one: %v", err)
	} else {
		v.Close()
	}

	after := later(current.version()+2, next.steps[current.version()], "DROP TABLE parley.more")
	if err := migrate(t, address, after); err != nil {
		t.Fatal(err)
	}
	for what, open := range map[string]func() error{
		"a store": func() error { _, err := Open(t.Context(), address, nil); return err },
		"a vault": func() error { _, err := OpenVault(t.Context(), address); return err },
	} {
		if err := open(); err == nil || !strings.Contains(err.Error(), "newer version") {
			t.Errorf("%s with what it cannot work with: %v", what, err)
		}
	}
}

func TestFailedMigrationLeavesNothing(t *testing.T) {
	pgtest.Require(t)
	address := cluster.Database(t)
	objects := func() string {
		return sql(t, address, "SELECT count(*) FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = 'parley'")
	}
	broken := &schema{steps: []string{"CREATE TABLE parley.a (x bigint); CREATE TABLE parley.a (x bigint)"}, works: 1}
	if err := migrate(t, address, broken); err == nil {
		t.Fatal("it passed")
	}
	if got := sql(t, address, "SELECT count(*) FROM pg_namespace WHERE nspname = 'parley'"); got != "0" {
		t.Error("the schema is there")
	}
	mustOpen(t, address, nil)
	before := objects()
	broken = later(1, "CREATE TABLE parley.good (x bigint)", "CREATE TABLE parley.bad (x bigint); SELECT 1/0")
	if err := migrate(t, address, broken); err == nil {
		t.Fatal("it passed")
	}
	if got := sql(t, address, "SELECT version - "+"1 FROM parley.schema"); got != "1" && current.version() == 1 {
		t.Errorf("the steps before are there: %s", got)
	}
	if after := objects(); after == before {
		t.Error("the step that passed is gone")
	}
	if got := sql(t, address, "SELECT count(*) FROM pg_class WHERE relname = 'bad'"); got != "0" {
		t.Error("a part of the step that failed is there")
	}
}

// as returns an address for a new role of a test.
func as(t testing.TB, address, role string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(role)
	return u.String()
}

func TestRoles(t *testing.T) {
	pgtest.Require(t)
	address := cluster.Database(t)
	given, nobody := "given_"+nameOf(address), "nobody_"+nameOf(address) // roles are of the server, which other tests use
	for _, role := range []string{given, nobody} {
		if err := cluster.Exec("CREATE ROLE " + role + " LOGIN"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Open(t.Context(), as(t, address, nobody), nil); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("who may not make a schema: %v", err)
	}
	sql(t, address, "CREATE SCHEMA parley AUTHORIZATION "+given)
	st := mustOpen(t, as(t, address, given), nil)
	if _, err := st.Secret(t.Context(), "name"); err != nil {
		t.Errorf("who was given a schema: %v", err)
	}
	st.Close()
	if _, err := Open(t.Context(), as(t, address, nobody), nil); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("who was given nothing: %v", err)
	}
	// Enough rights to work, but not to change the schema.
	sql(t, address, "GRANT USAGE ON SCHEMA parley TO "+nobody+"; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA parley TO "+nobody+"; "+
		"GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA parley TO "+nobody)
	if _, err := mustOpen(t, as(t, address, nobody), nil).Secret(t.Context(), "other"); err != nil {
		t.Errorf("who was given rights to what there is: %v", err)
	}
}

// TestForeignSchema: another program's schema called parley is refused.
func TestForeignSchema(t *testing.T) {
	pgtest.Require(t)
	for _, foreign := range []string{
		"CREATE SCHEMA parley; CREATE TABLE parley.schema (one boolean, version integer, works integer)",
		"CREATE SCHEMA parley; CREATE TABLE parley.schema (name text)",
		"CREATE SCHEMA parley; CREATE TABLE parley.treaty (clause text)",
		"CREATE SCHEMA parley; CREATE VIEW parley.task AS SELECT 1",
	} {
		address := cluster.Database(t)
		sql(t, address, foreign)
		const all = "SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = 'parley'"
		before := sql(t, address, all)
		for what, open := range map[string]func() error{
			"a store": func() error { _, err := Open(t.Context(), address, nil); return err },
			"a vault": func() error { _, err := OpenVault(t.Context(), address); return err },
		} {
			if err := open(); err == nil || !strings.Contains(err.Error(), "not made by this program") {
				t.Errorf("%s: %s opened it: %v", foreign, what, err)
			}
		}
		if after := sql(t, address, all); after != before {
			t.Errorf("%s: there is %s", foreign, after)
		}
	}
	address := cluster.Database(t)
	sql(t, address, "CREATE SCHEMA parley") // an empty one was made for us
	mustOpen(t, address, nil)
}

func TestVault(t *testing.T) {
	pgtest.Require(t)
	address := cluster.Database(t)
	if _, err := OpenVault(t.Context(), address); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "when a server starts") {
		t.Errorf("without a schema: %v", err)
	}
	if got := sql(t, address, "SELECT count(*) FROM pg_namespace WHERE nspname = 'parley'"); got != "0" {
		t.Error("a vault made the schema")
	}
	st := mustOpen(t, address, nil)
	v, err := OpenVault(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.Keep(t.Context(), "name", nil, []byte("value")); err != nil {
		t.Error(err)
	}
	if b, err := st.Keep(t.Context(), "name", []byte("value"), []byte{}); err != nil || b == nil || len(b) != 0 {
		t.Errorf("%q, %v", b, err)
	}
	if all, err := v.Kept(t.Context()); err != nil || len(all) != 1 || all["name"] == nil {
		t.Errorf("%v, %v", all, err)
	}
	mine, err := v.Secret(t.Context(), "secret")
	theirs, err2 := st.Secret(t.Context(), "secret")
	if err != nil || err2 != nil || len(mine) != store.SecretSize || string(mine) != string(theirs) {
		t.Errorf("one secret, twice: %x, %v and %x, %v", mine, err, theirs, err2)
	}
	for range 2 {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := v.Kept(t.Context()); err != store.ErrClosed {
		t.Errorf("after Close: %v", err)
	}
	newer := later(1, "SELECT 1")
	if _, err := openVault(t.Context(), address, newer); err == nil || !strings.Contains(err.Error(), "older version") {
		t.Errorf("of an older version: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := OpenVault(ctx, address); err == nil {
		t.Error("opened by who left")
	}
}
