package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/database"
	"github.com/parley-a2a/parley/internal/pgtest"
	"github.com/parley-a2a/parley/internal/serve"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/archive"
	"github.com/parley-a2a/parley/store/postgres"
	"github.com/parley-a2a/parley/store/sqlite"
)

const password = "hunter2-correct-horse"

// withPassword is the address of a database with a password in it, which the
// cluster does not ask for.
func withPassword(address string) string {
	return strings.Replace(address, "parley@", "parley:"+password+"@", 1)
}

// typed runs the program in this process.
func typed(t *testing.T, args ...string) (out, errs string, code int) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(t.Context(), args, strings.NewReader(""), &o, &e)
	if strings.Contains(o.String()+e.String(), password) {
		t.Errorf("parley %s tells the password:\n%s%s", strings.Join(args, " "), o.String(), e.String())
	}
	return o.String(), e.String(), code
}

// mustType runs it and wants success.
func mustType(t *testing.T, args ...string) string {
	t.Helper()
	out, errs, code := typed(t, args...)
	if code != 0 {
		t.Fatalf("parley %s: exit %d\n%s%s", strings.Join(args, " "), code, out, errs)
	}
	return out
}

// postgresOf starts a PostgreSQL for one test.
func postgresOf(t *testing.T, o *pgtest.Options) *pgtest.Cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("a PostgreSQL of its own")
	}
	return pgtest.New(t, o)
}

// wantRefused runs it and wants an error that matches.
func wantRefused(t *testing.T, pattern string, args ...string) {
	t.Helper()
	out, errs, code := typed(t, args...)
	if code == 0 || !regexp.MustCompile(pattern).MatchString(errs) {
		t.Errorf("parley %s: exit %d, want %q\n%s%s", strings.Join(args, " "), code, pattern, out, errs)
	}
}

// fill puts n tasks of all kinds into a database of SQLite: most have ended, some
// wait, some are at work; some have files, webhooks and receipts.
func fill(t *testing.T, file string, n int) {
	t.Helper()
	st, err := sqlite.Open(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 1, 2, 3, 4, 567e6, time.UTC)
	errs := make(chan error, n)
	for i := range n {
		id, when := fmt.Sprintf("task-%06d", i*7919%n), at.Add(time.Duration(i)*time.Millisecond)
		a := &store.Append{Row: store.Row{
			Key:     store.Key{Tenant: fmt.Sprint("tenant ", i%3), Owner: fmt.Sprint("owner ", i%5), ID: id},
			Context: fmt.Sprint("context ", i%100), State: int32(a2a.TaskStateCompleted), Updated: when, Created: at, Epoch: 1,
			Node: "was here", Turn: 1, Attempt: 1,
		}}
		for seq := range int64(2 + i%3) {
			a.Entries = append(a.Entries, store.Entry{Seq: seq + 1, Time: when, Kind: uint8(1 + seq%4), Body: fmt.Appendf(nil, `{"of":%q,"text":"%s"}`, id, strings.Repeat("x", i%300))})
		}
		switch last := int64(len(a.Entries)); i % 10 {
		case 0:
			a.Row.State, a.Row.Active = int32(a2a.TaskStateWorking), true
		case 1:
			a.Row.State = int32(a2a.TaskStateInputRequired)
		case 2:
			a.Blobs = []store.Blob{{Hash: fmt.Sprint("shared ", i%50), Data: bytes.Repeat([]byte{byte(i % 50)}, 100)}}
		case 3:
			a.Pushes = []store.PushConfig{{Key: a.Row.Key, ID: "hook", Host: "h.example", Body: []byte(`{"url":"https://h.example/"}`), Created: when, Node: "was here", Live: true, Progress: store.Progress{Cursor: last - 1}}}
			a.Letters = []store.DeadLetter{{PushID: a.Pushes[0].PushID(), Seq: 1, Time: when, Tries: 3, Reason: "404"}}
		case 4:
			a.Receipts = []store.Receipt{{Name: "message " + id, Time: when, Until: when.Add(24 * time.Hour), Digest: []byte(id), Seq: 1}}
		}
		if a.Row.State == int32(a2a.TaskStateCompleted) {
			a.Seal = &store.Seal{Head: []byte(`{"head":1}`), Body: fmt.Appendf(nil, `{"id":%q}`, id)}
		}
		st.Append(a, func(err error) { errs <- err })
	}
	for range n {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	if _, err := st.Keep(t.Context(), store.WebhookKeys, nil, []byte(`{"keys":[]}`)); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
}

func sameFiles(t *testing.T, a, b string) {
	t.Helper()
	x, err := os.ReadFile(a)
	y, errToo := os.ReadFile(b)
	if err != nil || errToo != nil || !bytes.Equal(x, y) {
		t.Errorf("%s and %s differ: %d and %d bytes, %v, %v", a, b, len(x), len(y), err, errToo)
	}
}

// checksums wants an import to have printed two that are the same.
func checksums(t *testing.T, out string) {
	t.Helper()
	m := regexp.MustCompile(`(?m)^Export:   (\w{64}), (.*)\nDatabase: (\w{64}), (.*)$`).FindStringSubmatch(out)
	if m == nil || m[1] != m[3] || m[2] != m[4] {
		t.Errorf("the checksums differ, or are not there: %s", out)
	}
}

// From SQLite to PostgreSQL and back all stays the same, and an import that is cut
// off is seen, and done again.
func TestMoveToPostgres(t *testing.T) {
	cluster := postgresOf(t, nil)
	address := cluster.Database(t)
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	data := in("audit")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	fill(t, in("one.db"), 500)
	mustType(t, "admin", "export", "--store", in("one.db"), in("one.jsonl"))

	t.Setenv(database.Env, withPassword(address))
	wantRefused(t, `there is nothing of parley's in this database`, "admin", "export", "--data", data)
	checksums(t, mustType(t, "admin", "import", "--data", data, in("one.jsonl")))
	mustType(t, "admin", "export", "--data", data, in("two.jsonl"))
	sameFiles(t, in("one.jsonl"), in("two.jsonl"))
	wantRefused(t, `there are tasks already`, "admin", "import", "--data", data, in("one.jsonl"))

	checksums(t, mustType(t, "admin", "import", "--store", in("three.db"), in("two.jsonl")))
	mustType(t, "admin", "export", "--store", in("three.db"), in("three.jsonl"))
	sameFiles(t, in("one.jsonl"), in("three.jsonl"))

	st, err := postgres.Open(t.Context(), address, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	now, err := st.Now(t.Context())
	if err == nil {
		err = st.Beat(t.Context(), "replica-1", now)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"import", in("one.jsonl")}, {"gc"}, {"erase", "--context", "context 1"}, {"push", "redeliver", "--all"}, {"push", "rotate-keys"}} {
		wantRefused(t, `in use by 1 server \(replica-1\)`, append(append([]string{"admin"}, args...), "--data", data)...)
	}
	mustType(t, "admin", "export", "--data", data, in("beside.jsonl"))
	if err := st.Leave(t.Context(), "replica-1"); err != nil {
		t.Fatal(err)
	}
	if out := mustType(t, "admin", "push", "list", "--data", data, "--task", "task-000001"); !strings.Contains(out, "Webhooks: ") {
		t.Error(out)
	}
	if out := mustType(t, "admin", "push", "dead", "--data", data); !strings.Contains(out, "Dead letters: 50") {
		t.Error(out)
	}
	if out := mustType(t, "admin", "push", "redeliver", "--data", data, "--all"); !strings.Contains(out, "50 dead letters") {
		t.Error(out)
	}
	if out := mustType(t, "admin", "gc", "--data", data, "--dry-run", "--older-than", "0s"); !strings.Contains(out, "Would delete 400 tasks") {
		t.Error(out)
	}
	if out := mustType(t, "admin", "gc", "--data", data, "--older-than", "0s"); !strings.Contains(out, "Deleted 400 tasks") {
		t.Error(out)
	}
	if out := mustType(t, "admin", "erase", "--data", data, "--context", "context 1", "--tenant", "tenant 1", "--owner", "owner 1"); !strings.Contains(out, "Erased ") {
		t.Error(out)
	}
	wantRefused(t, `pg_dump`, "admin", "backup", "--data", data, in("backup.db"))
	log, err := os.ReadFile(filepath.Join(data, serve.AuditName))
	if err != nil || strings.Contains(string(log), password) || !strings.Contains(string(log), `"event":"admin.gc"`) {
		t.Errorf("the audit log, %v:\n%s", err, log)
	}
}

// cutOff is a store whose appends fail from the n-th on.
type cutOff struct {
	store.Store
	left int
}

func (c *cutOff) Append(a *store.Append, done func(error)) {
	if c.left--; c.left < 0 {
		done(context.DeadlineExceeded)
		return
	}
	c.Store.Append(a, done)
}

func TestImportThatWasCutOff(t *testing.T) {
	cluster := postgresOf(t, nil)
	address := cluster.Database(t)
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	fill(t, in("one.db"), 600)
	fill(t, in("other.db"), 10)
	mustType(t, "admin", "export", "--store", in("one.db"), in("one.jsonl"))
	mustType(t, "admin", "export", "--store", in("other.db"), in("other.jsonl"))

	st, err := postgres.Open(t.Context(), address, nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(in("one.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := archive.Import(t.Context(), &cutOff{st, 300}, f, true); err == nil {
		t.Fatal("it was not cut off")
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}

	t.Setenv(database.Env, withPassword(address))
	wantRefused(t, `an import into this database was not finished`, "serve", "--listen", "127.0.0.1:0", "--data", dir)
	wantRefused(t, `an import into this database was not finished`, "admin", "export", "--data", dir, in("half.jsonl"))
	wantRefused(t, `an import of another export was not finished`, "admin", "import", "--data", dir, in("other.jsonl"))
	out, errs, code := typed(t, "admin", "import", "--data", dir, in("one.jsonl"))
	if code != 0 || !strings.Contains(errs, "tasks had been there already") {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	checksums(t, out)
	mustType(t, "admin", "export", "--data", dir, in("two.jsonl"))
	sameFiles(t, in("one.jsonl"), in("two.jsonl"))
}

var move = flag.Int("move", 1000, "how many tasks TestMoveManyToPostgres moves")

// How long many tasks take: go test -v -run TestMoveMany ./cmd/parley -move 10000.
func TestMoveManyToPostgres(t *testing.T) {
	cluster := postgresOf(t, &pgtest.Options{Durable: true})
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	fill(t, in("one.db"), *move)
	took := func(what string, f func()) {
		begin := time.Now()
		f()
		t.Logf("%s: %v", what, time.Since(begin).Round(10*time.Millisecond))
	}
	took("export from SQLite", func() { mustType(t, "admin", "export", "--store", in("one.db"), in("one.jsonl")) })
	t.Setenv(database.Env, withPassword(cluster.Database(t)))
	took("import into PostgreSQL, with its check", func() { checksums(t, mustType(t, "admin", "import", "--data", dir, in("one.jsonl"))) })
	took("export from PostgreSQL", func() { mustType(t, "admin", "export", "--data", dir, in("two.jsonl")) })
	sameFiles(t, in("one.jsonl"), in("two.jsonl"))
}

func TestKeysOnPostgres(t *testing.T) {
	cluster := postgresOf(t, nil)
	t.Setenv(database.Env, withPassword(cluster.Database(t)))
	data := t.TempDir()
	wantRefused(t, `there is nothing of`, "key", "list", "--data", data)
	token := strings.TrimSpace(mustType(t, "key", "create", "--name", "first", "--data", data))
	id := strings.Split(token, "_")[1]
	if out := mustType(t, "key", "list", "--data", data); !strings.Contains(out, id) || !strings.Contains(out, "Keys: 1") {
		t.Error(out)
	}
	if next := strings.TrimSpace(mustType(t, "key", "rotate", "--data", data, id)); next == token {
		t.Error("the token is the same")
	}
	if out := mustType(t, "key", "revoke", "--data", data, id); !strings.Contains(out, "Revoked: "+id) {
		t.Error(out)
	}
	checkStore(t, cluster)
}

// checkStore judges the server, which keeps its databases as they were.
func checkStore(t *testing.T, cluster *pgtest.Cluster) {
	t.Helper()
	all := func() string {
		t.Helper()
		names, err := cluster.Ask("SELECT string_agg(datname, ' ' ORDER BY datname) FROM pg_database")
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	empty := cluster.Database(t)
	before := all()
	check := []string{"admin", "store", "check", "--area", "kept-values"}
	out, errs, code := typed(t, append(check, withPassword(empty))...)
	if code != 0 || !regexp.MustCompile(`(?s)^Server: PostgreSQL .*Durability: .*parley.allow_async_commit allows it\n.*\nkept-values +2 +0 .*\n2 tests, all hold; others were not run\n$`).MatchString(out) ||
		!regexp.MustCompile(`^Check: the database parley_check_[a-z2-7]{12} at .* is made for the tests, and dropped at the end`).MatchString(errs) {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	t.Setenv(database.Env, withPassword(empty))
	if out := mustType(t, append(check, "--here", "-o", "json")...); !strings.Contains(out, `"tests":2,"failed":0,"only":["kept-values"],"usable":true`) {
		t.Error(out)
	}
	// A server that lacks something that cannot be done without.
	if err := cluster.Exec("CREATE ROLE lacking LOGIN CREATEDB; ALTER ROLE lacking SET default_transaction_read_only = on"); err != nil {
		t.Fatal(err)
	}
	lacking := strings.Replace(empty, "parley@", "lacking@", 1)
	wantRefused(t, "read-only transaction", append(check, lacking)...)
	if err := cluster.Exec("ALTER ROLE lacking NOCREATEDB; ALTER ROLE lacking RESET ALL"); err != nil {
		t.Fatal(err)
	}
	wantRefused(t, "(?s)the role may not create a database.*--here", append(check, lacking)...)
	mustType(t, "key", "create", "--name", "first", "--data", t.TempDir())
	wantRefused(t, "(?s)has a schema parley already.*empty database", append(check, "--here")...)
	if out := mustType(t, "key", "list", "--data", t.TempDir()); !strings.Contains(out, "Keys: 1") {
		t.Errorf("the check changed what was there: %s", out)
	}
	if after := all(); after != before {
		t.Errorf("databases before: %s; after: %s", before, after)
	}
	wantRefused(t, `which server`, "admin", "store", "check", "--store", filepath.Join(t.TempDir(), "parley.db"))
	wantRefused(t, `there is no lines`, "admin", "store", "check", "--area", "lines", empty)
}

// A server on PostgreSQL: it says where tasks are and not how to get there, it is
// ready while the database is, and alive in between.
func TestServeOnPostgres(t *testing.T) {
	cluster := postgresOf(t, &pgtest.Options{Durable: true})
	t.Setenv(database.Env, withPassword(cluster.Database(t)))
	k := newTools(t)
	if err := os.Mkdir(filepath.Join(k.dir, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	a := k.serve(t, "", "--dead-after", "2s", "--log-level", "debug")
	b := k.serve(t, "", "--dead-after", "2s")
	a.await(&a.out, `^  Tasks      PostgreSQL, database d1 at `)
	out, errs, code := k.run(t, "send", "-a", a.addr, "echo hello")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	id := taskID.FindStringSubmatch(out)[1]
	if out, errs, code := k.run(t, "task", "get", "-a", b.addr, id); code != 0 || !strings.Contains(out, "TASK_STATE_COMPLETED") {
		t.Errorf("the other replica says %s%s", out, errs)
	}
	// A command that is the agent does not get the password.
	c := k.serve(t, "", "--dead-after", "2s", "--", "sh", "-c", `echo "store=$`+database.Env+`."`)
	if out, errs, code := k.run(t, "send", "-a", c.addr, "x"); code != 0 || !strings.Contains(out, "store=.") {
		t.Errorf("the command says %s%s", out, errs)
	}

	if err := cluster.Stop(pgtest.Fast); err != nil {
		t.Fatal(err)
	}
	for _, p := range []*process{a, b, c} {
		p.awaitReadiness(http.StatusServiceUnavailable, `.`)
	}
	if out, errs, code := k.run(t, "admin", "status", "--data", "data"); code == 0 || !strings.Contains(out, "Ready: no: the database cannot be reached") {
		t.Errorf("admin status exits with %d and says %s%s", code, out, errs)
	}
	resp, err := http.Get("http://" + a.addr + "/livez")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("it is not alive: %s", resp.Status)
	}
	wantRefused(t, `cannot be reached|failed to connect|connection refused|no such file`, "serve", "--listen", "127.0.0.1:0", "--data", k.dir)
	if err := cluster.Start(); err != nil {
		t.Fatal(err)
	}
	a.awaitReadiness(http.StatusOK, `^ok$`)
	if out, errs, code := k.run(t, "task", "get", "-a", a.addr, id); code != 0 || !strings.Contains(out, "TASK_STATE_COMPLETED") {
		t.Errorf("after the restart: %s%s", out, errs)
	}
	for _, p := range []*process{a, b, c} {
		p.tell(syscall.SIGTERM)
		if code := p.exit(); code != 0 {
			t.Errorf("exit %d", code)
		}
		if all := p.out.String() + p.err.String(); strings.Contains(all, password) {
			t.Errorf("the password is told:\n%s", all)
		}
	}
}
