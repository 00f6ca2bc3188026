package serve

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/store/sqlite"
)

// world sets up the surroundings of a server: it returns the flags of parley serve.
type world func(t *testing.T) []string

func flagsOf(list ...string) world { return func(*testing.T) []string { return list } }

// answering is a service on this machine. A path that is not in answers is not there.
func answering(t *testing.T, answers map[string]string, status int, date string) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if date != "" {
			w.Header().Set("Date", date)
		}
		text, ok := answers[req.URL.Path]
		if !ok {
			w.WriteHeader(status)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, strings.ReplaceAll(text, "URL", "http://"+req.Host))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func mustWrite(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, mode); err != nil { // whatever the umask
		t.Fatal(err)
	}
}

// database makes one with some API keys, and may change it afterwards.
func withDatabase(keys int, change func(t *testing.T, file string), more ...string) world {
	return func(t *testing.T) []string {
		file := filepath.Join("d", "parley.db")
		st, err := sqlite.Open(file, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range keys {
			if _, _, err := auth.NewKeys(st, nil).Create(t.Context(), auth.KeySpec{Name: fmt.Sprint(i), Subject: "me"}); err != nil {
				t.Fatal(err)
			}
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
		if change != nil {
			change(t, file)
		}
		return append([]string{"--data=d"}, more...)
	}
}

// Each check finds what is wrong in a broken world, and nothing in a good one; and
// whatever it finds, it changes nothing.
func TestExamine(t *testing.T) {
	const nobody = "http://127.0.0.1:1"
	models := map[string]string{"/v1/models": `{"data":[{"id":"big"},{"id":"tiny"}]}`}
	parley := map[string]string{"/livez": "ok\n", "/healthz": "ok\n"}
	issuer := map[string]string{
		"/.well-known/openid-configuration": `{"issuer":"URL","jwks_uri":"URL/keys"}`,
		"/keys":                             `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"a","alg":"EdDSA","use":"sig","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`,
	}
	at := func(flag, path string, answers map[string]string, status int, date string, more ...string) world {
		return func(t *testing.T) []string {
			return append([]string{flag + answering(t, answers, status, date) + path}, more...)
		}
	}
	hold := func(t *testing.T, file string) {
		st, err := sqlite.Open(file, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { st.Close() })
	}
	halfPacked := func(t *testing.T, file string) {
		st, err := sqlite.Open(file, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := st.Keep(t.Context(), "sqlite packing", nil, []byte("2 4")); err != nil {
			t.Fatal(err)
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
	}
	wideKey := func(t *testing.T) []string {
		_, key := issue(t, nil, func(*x509.Certificate) {})
		mustWrite(t, "card-key.pem", key, 0o600)
		chmod(t, "card-key.pem", 0o644)
		return []string{"--card-key=card-key.pem", "--public-url=https://agent.example", "--allow-anonymous"}
	}
	file := func(name, text string, flags ...string) world {
		return func(t *testing.T) []string {
			mustWrite(t, name, text, 0o600)
			return flags
		}
	}
	for name, c := range map[string]struct {
		world               world
		check, result, says string
	}{
		"no settings":       {flagsOf(), "settings", "ok", "no parley.yaml here and no options: the demo agent"},
		"a file":            {file("parley.yaml", "version: 1\nagents: {a: {builtin: demo}, b: {builtin: demo}}\n"), "settings", "ok", "parley.yaml, 2 agents"},
		"a file's mistakes": {file("parley.yaml", "version: 1\nagents: {a: {builtin: dmeo}}\n"), "settings", "problem", "parley.yaml has 1 mistake; parley.yaml:2:"},
		"contradictions":    {flagsOf("--ephemeral", "--data=d"), "settings", "problem", "--ephemeral keeps nothing"},

		"a free port":          {flagsOf("--listen=127.0.0.1:0"), "port", "ok", "127.0.0.1:0 is free"},
		"a port of a parley":   {listening(parley), "port", "warning", "is taken by a parley serve that runs"},
		"a port of a stranger": {listening(nil), "port", "problem", "is taken by another program"},
		"a port for metrics": {func(t *testing.T) []string {
			return []string{"--metrics-listen=" + strings.TrimPrefix(answering(t, nil, 404, ""), "http://")}
		}, "port", "problem", "is taken: another program listens there"},
		"an address elsewhere": {flagsOf("--listen=203.0.113.1:7275", "--allow-anonymous"), "port", "problem", "cannot listen on 203.0.113.1:7275"},

		"no TLS":       {flagsOf(), "tls", "ok", "no certificate"},
		"no TLS files": {flagsOf("--tls-cert=cert.pem", "--tls-key=key.pem"), "tls", "problem", "no such file"},

		"this machine":       {flagsOf(), "callers", "ok", "everybody on this machine"},
		"everybody":          {flagsOf("--listen=:0"), "callers", "problem", "nothing says who may"},
		"everybody, as said": {flagsOf("--listen=:0", "--allow-anonymous"), "callers", "warning", "sees the tasks of all others"},
		"no encryption":      {flagsOf("--listen=:0", "--auth-keys"), "callers", "warning", "without encryption"},
		"no users":           {flagsOf("--auth-basic=users"), "callers", "problem", "users: no such file"},

		"no directory":           {flagsOf("--data=d"), "data", "ok", "d is not there yet"},
		"a directory":            {withDatabase(0, nil), "data", "ok", "d, mode 0700"},
		"a file for a directory": {file("d", "", "--data=d"), "data", "problem", "d is not a directory"},
		"a wide directory":       {withDatabase(0, func(t *testing.T, file string) { chmod(t, "d", 0o777) }), "data", "warning", "d has mode 0777 and can be changed by other users"},
		"a wide database":        {withDatabase(0, func(t *testing.T, file string) { chmod(t, file, 0o644) }), "data", "warning", "mode 0644 and can be read by other users"},
		"no audit log":           {flagsOf("--audit-log=nowhere/audit.jsonl"), "data", "problem", "the audit log cannot be written: "},
		"an audit log":           {file("audit.jsonl", "", "--audit-log=audit.jsonl"), "data", "ok", ".parley is not there yet"},
		"memory":                 {flagsOf("--ephemeral"), "data", "ok", "in memory"},

		"a disk":  {withDatabase(0, nil), "disk", "", "a write of 4 KiB is on disk after"},
		"no disk": {flagsOf("--ephemeral"), "disk", "ok", "nothing is kept on disk"},

		"no database":            {flagsOf("--data=d"), "database", "ok", "is not there yet"},
		"a database":             {withDatabase(0, nil), "database", "ok", "as this program has"},
		"an older database":      {withDatabase(0, older), "database", "warning", "has schema 1: the server takes it to "},
		"a half packed database": {withDatabase(0, halfPacked), "database", "ok", "50 % are done"},
		"a newer database":       {withDatabase(0, header(60, 999)), "database", "problem", "newer version of this program (schema 999"},
		"another database":       {withDatabase(0, header(68, 1)), "database", "problem", "is not a database of this program"},
		"a database in use":      {withDatabase(0, hold), "database", "problem", "has it open, and no server answers at"},
		"the server's database":  {all(withDatabase(0, hold), listening(parley)), "database", "ok", "has it open, which is the server that answers at"},
		"a database that is cut": {withDatabase(0, func(t *testing.T, file string) { mustWrite(t, file, "SQLite format 3\x00", 0o600) }), "database", "problem", "is not a database of this program"},

		"no keys":               {withDatabase(0, nil), "keys", "ok", "no API keys, and none are required"},
		"keys":                  {withDatabase(2, nil, "--auth-keys"), "keys", "ok", "2 API keys can be used"},
		"keys without a server": {withDatabase(2, nil), "keys", "warning", "2 API keys can be used, and nothing asks for them"},
		"nobody has a key":      {withDatabase(0, nil, "--auth-keys"), "keys", "warning", "--auth-keys asks for API keys, and there are none"},
		"keys out of reach":     {flagsOf("--store=postgres://127.0.0.1:1/a", "--auth-keys"), "keys", "ok", "not looked at"},
		"keys beside a server":  {withDatabase(1, hold, "--auth-keys"), "keys", "ok", "1 API key can be used"},

		"a built-in agent": {flagsOf(), "agents", "ok", "demo"},
		"no command":       {file("parley.yaml", "version: 1\nagents: {a: {exec: {command: [sh]}}, b: {builtin: demo, default: true}}\n"), "agents", "ok", "a (sh): the command is there"},

		"nothing behind":   {flagsOf(), "upstream", "ok", "no agent needs another service"},
		"a service":        {at("--http=", "/", nil, 405, ""), "upstream", "ok", "reachable (HEAD is answered with 405)"},
		"a service, down":  {at("--http=", "/", nil, 503, ""), "upstream", "warning", "answers 503"},
		"no service":       {flagsOf("--http=" + nobody), "upstream", "problem", "not reachable"},
		"a model":          {at("--openai=", "/v1", models, 404, "", "--model=tiny"), "upstream", "ok", "reachable, and has the model"},
		"another model":    {at("--openai=", "/v1", models, 404, "", "--model=huge"), "upstream", "problem", "huge is not there, but big, tiny"},
		"no list":          {at("--openai=", "/v1", nil, 404, "", "--model=huge"), "upstream", "ok", "does not say which models"},
		"no model":         {flagsOf("--openai="+nobody+"/v1", "--model=huge"), "upstream", "problem", "not reachable"},
		"no other agent":   {flagsOf("--proxy=" + nobody), "upstream", "problem", "agent at 127.0.0.1:1: "},
		"no server of MCP": {flagsOf("--mcp=" + nobody), "upstream", "problem", "MCP server at 127.0.0.1:1: "},

		"no tokens": {flagsOf(), "issuer", "ok", "no token issuer"},
		"an issuer": {at("--oidc-issuer=", "", issuer, 404, "", "--oidc-audience=me"), "issuer", "ok", "has keys to verify tokens with"},
		"no issuer": {flagsOf("--oidc-issuer="+nobody, "--oidc-audience=me"), "issuer", "problem", nobody},

		"no other clock":    {flagsOf(), "clock", "ok", "no other clock"},
		"a clock":           {at("--http=", "/", nil, 405, ""), "clock", "ok", "as 1 other clock says"},
		"a clock, ahead":    {at("--http=", "/", nil, 405, "Mon, 01 Jan 2125 00:00:00 GMT"), "clock", "problem", "behind that of 127.0.0.1:"},
		"the issuer's":      {at("--oidc-issuer=", "", issuer, 404, "Sat, 01 Jan 2000 00:00:00 GMT", "--oidc-audience=me"), "clock", "problem", "ahead of that of 127.0.0.1:"},
		"a clock set back":  {withDatabase(0, touch), "clock", "problem", "the database was changed on 2125-"},
		"a card":            {flagsOf(), "card", "ok", "1 card complete"},
		"a card's key":      {wideKey, "card", "warning", "card-key.pem can be read by every user of this machine"},
		"a card not known":  {flagsOf("--mcp=" + nobody), "card", "warning", "it is not known yet"},
		"a card of nothing": {at("--http=", "/", nil, 405, ""), "card", "warning", "the description and the skills are generated"},
	} {
		t.Run(name, func(t *testing.T) {
			env := testEnv(t, t.Output())
			line := lineOf(t, c.world(t)...)
			if !line.Sets("listen") {
				line = append(line, Flag{"listen", "127.0.0.1:0"})
			}
			if name == "no settings" {
				line = nil
			}
			before := files(t)
			found := Examine(t.Context(), env, line, nil)
			if after := files(t); after != before {
				t.Errorf("files were\n%sand are\n%s", before, after)
			}
			i := slices.IndexFunc(found, func(f Finding) bool {
				return f.Check == c.check && (c.result == "" || f.Result == c.result) && strings.Contains(f.Detail, c.says)
			})
			if i < 0 {
				t.Fatalf("no finding %s %s %q in %s", c.result, c.check, c.says, shownFindings(found))
			}
			if f := found[i]; (f.Do == "") != (f.Result == ResultOK) {
				t.Errorf("%s and to do %q", f.Result, f.Do)
			}
			if f := found[i]; strings.Contains(f.Do, "docs/") && strings.Contains(f.Detail, "docs/") {
				t.Errorf("%q says what to do once more: %q", f.Detail, f.Do)
			}
		})
	}
}

// Nobody listens where the command of an MCP server ended: it is to be run by hand.
func TestDoctorOfMCPCommand(t *testing.T) {
	found := Examine(t.Context(), testEnv(t, t.Output()), lineOf(t, "--mcp=stdio", "--listen=127.0.0.1:0"), []string{"false"})
	if !slices.ContainsFunc(found, func(f Finding) bool {
		return f.Check == "upstream" && strings.Contains(f.Detail, "exit status 1") && strings.Contains(f.Do, "run the command")
	}) {
		t.Error(shownFindings(found))
	}
}

func shownFindings(found []Finding) string {
	text, _ := json.MarshalIndent(found, "", " ")
	return string(text)
}

func all(worlds ...world) world {
	return func(t *testing.T) (flags []string) {
		for _, w := range worlds {
			flags = append(flags, w(t)...)
		}
		return flags
	}
}

// listening has a program at the address of --listen.
func listening(answers map[string]string) world {
	return func(t *testing.T) []string {
		return []string{"--listen=" + strings.TrimPrefix(answering(t, answers, 404, ""), "http://")}
	}
}

func chmod(t *testing.T, name string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
}

// header changes a number in the head of a database.
func header(at int64, to uint32) func(*testing.T, string) {
	return func(t *testing.T, file string) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		binary.BigEndian.PutUint32(text[at:], to)
		mustWrite(t, file, string(text), 0o600)
	}
}

// older puts a database of the first version there.
func older(t *testing.T, file string) {
	text, err := os.ReadFile(filepath.Join(sourceDir, "..", "..", "store", "sqlite", "testdata", "v1.db"))
	if err != nil {
		t.Fatal(err)
	}
	mustWrite(t, file, string(text), 0o600)
}

// sourceDir is this package's; tests change theirs.
var sourceDir, _ = os.Getwd()

func touch(t *testing.T, file string) {
	later := time.Date(2125, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := os.Chtimes(file, later, later); err != nil {
		t.Fatal(err)
	}
}

// files lists what is in the working directory: names, modes, sizes and times. What
// SQLite's readers share beside a server is the server's.
func files(t *testing.T) string {
	t.Helper()
	var out bytes.Buffer
	err := filepath.WalkDir(".", func(name string, e os.DirEntry, err error) error {
		if err != nil || strings.HasSuffix(name, "-shm") {
			return err
		}
		st, err := e.Info()
		if err != nil {
			return err
		}
		when := st.ModTime()
		if e.IsDir() {
			when = time.Time{} // a name that came and went
		}
		_, err = fmt.Fprintln(&out, name, st.Mode(), st.Size(), when)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// A check that hangs is reported, and keeps the others from what it may still use.
func TestExamineLeavesWhatHangs(t *testing.T) {
	d := &doctor{patience: time.Millisecond}
	stuck := make(chan struct{})
	defer close(stuck)
	found := d.check(t.Context(), check{"disk", func(context.Context, *report) { <-stuck }})
	if len(found) != 1 || found[0].Result != ResultProblem || !d.stuck || !strings.Contains(found[0].Detail, "no answer within") {
		t.Errorf("%+v", found)
	}
}

func TestJudgments(t *testing.T) {
	for name, c := range map[string]struct {
		judge        func(r *report)
		result, says string
	}{
		"room":         {func(r *report) { judgeDisk(r, "d", 10<<30, true, time.Millisecond) }, "ok", "d: 10.0 GiB free; a write of 4 KiB is on disk after 1ms (median of 9)"},
		"little room":  {func(r *report) { judgeDisk(r, "d", 500<<20, true, time.Millisecond) }, "warning", "500.0 MiB free"},
		"no room":      {func(r *report) { judgeDisk(r, "d", 5<<20, true, time.Millisecond) }, "problem", "5.0 MiB free"},
		"a slow disk":  {func(r *report) { judgeDisk(r, "d", 0, false, 70*time.Millisecond) }, "warning", "d: a write of 4 KiB is on disk after 70ms"},
		"a slow clock": {func(r *report) { judgeClock(r, "h", 20*time.Second) }, "warning", "this machine's clock is 20s behind that of h"},
		"a fast clock": {func(r *report) { judgeClock(r, "h", -2*time.Minute) }, "problem", "this machine's clock is 2m0s ahead of that of h"},
	} {
		r := &report{check: "x"}
		if c.judge(r); len(r.found) != 1 || r.found[0].Result != c.result || !strings.Contains(r.found[0].Detail, c.says) {
			t.Errorf("%s: %+v", name, r.found)
		}
	}
	r := &report{}
	if judgeClock(r, "h", 3*time.Second); len(r.found) > 0 {
		t.Errorf("a clock that is right: %+v", r.found)
	}
	for _, c := range []struct{ wall, passed, want time.Duration }{
		{time.Second, time.Second, 0}, {2 * time.Second, time.Second, 0}, {time.Hour, time.Second, time.Hour - time.Second}, {-time.Minute, 0, -time.Minute},
	} {
		if got := jump(c.wall, c.passed); got != c.want {
			t.Errorf("%s in %s: %s, want %s", c.wall, c.passed, got, c.want)
		}
	}
}
