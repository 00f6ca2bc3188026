package torture

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// secretRun is a server that is killed while spies tell it secrets.
type secretRun struct {
	server func(dir, addr string) *exec.Cmd
	key    string // that lets requests in; "" where nobody has to
	dir    string // of the server's data; its log is beside it
	seed   uint64
	kills  int
}

// secretReport is what was told, and what was found.
type secretReport struct {
	planted     map[place]int
	errors      int // answers with an error
	files, rows int
	violations  []string
}

func (r *secretReport) String() string {
	var b strings.Builder
	total := 0
	for _, n := range r.planted {
		total += n
	}
	fmt.Fprintf(&b, "%d secrets in %d places, %d answers with errors, %d files, %d rows, %d violations", total, len(r.planted), r.errors, r.files, r.rows, len(r.violations))
	return b.String()
}

// varying is what makes equal violations differ.
var varying = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{8,28}|[0-9]+`)

// run kills the server again and again, and scans what it has left.
func (o *secretRun) run(t *testing.T) *secretReport {
	t.Helper()
	report := &secretReport{planted: map[place]int{}}
	var mu sync.Mutex
	seen := map[string]bool{}
	note := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		text := fmt.Sprintf(format, args...)
		text = text[:min(len(text), 400)]
		head, _, _ := strings.Cut(text, ": ")
		if kind := varying.ReplaceAllString(head, "*"); !seen[kind] && len(report.violations) < maxViolations {
			seen[kind] = true
			report.violations = append(report.violations, text)
		}
	}
	for _, dir := range []string{"data", "tmp", "log"} {
		if err := os.MkdirAll(filepath.Join(o.dir, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	log, err := os.Create(filepath.Join(o.dir, "log", "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	addr, err := FreePort(o.seed + 77)
	if err != nil {
		t.Fatal(err)
	}
	hooks := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if rand.IntN(3) == 0 {
			http.Error(w, "not now", http.StatusInternalServerError)
		}
	}))
	defer hooks.Close()
	deaf := httptest.NewServer(http.NotFoundHandler())
	deaf.Close()

	m := newMarks(o.seed)
	m.key = []byte(o.key)
	srv := newServer(&Options{Addr: addr, Server: func(int) *exec.Cmd {
		cmd := o.server(filepath.Join(o.dir, "data"), addr)
		tmp := filepath.Join(o.dir, "tmp")
		cmd.Env = append(slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, "TMPDIR=") }), "TMPDIR="+tmp, "TMP="+tmp, "SQLITE_TMPDIR="+tmp)
		return cmd
	}}, newLastLines(log))
	defer srv.kill()
	w := newWorld(srv.o)
	w.log, w.server = srv.log, srv
	if err := srv.begin(); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	all, wait := spyOn(ctx, m, o.seed, "http://"+addr, hooks.URL, deaf.URL, o.key, note, stop)
	rng := rand.New(rand.NewPCG(o.seed, 9))
	for n := range o.kills {
		if err := w.up(ctx); err != nil {
			t.Fatal(err)
		}
		pause(ctx, ms(300+rng.IntN(900)))
		if n == o.kills/2 { // one goes in peace: its log is cleared then
			if err := srv.stop(0); err != nil {
				note("SIGTERM: %v", err)
			}
		} else {
			srv.kill()
		}
		if err := srv.begin(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.up(ctx); err != nil {
		t.Fatal(err)
	}
	pause(ctx, ms(700))
	close(stop)
	wait()
	srv.kill() // what is in the write-ahead log stays there
	for _, s := range all {
		for p, n := range s.planted {
			report.planted[p] += n
		}
		report.errors += s.errors
		if s.count == 0 {
			note("nothing was said in %s", s.how)
		}
	}
	database := filepath.Join(o.dir, "data", "parley.db")
	if report.files, report.rows, err = scan(m, []string{o.dir}, database, note); err != nil {
		t.Fatal(err)
	}
	// Deleted content is gone from the file, too, once the server has stopped.
	if err := srv.begin(); err != nil {
		t.Fatal(err)
	}
	if err := w.up(ctx); err != nil {
		t.Fatal(err)
	}
	last := &spy{planter: newPlanter(m, o.seed, note), url: "http://" + addr, hooks: hooks.URL, deaf: deaf.URL, how: spies[0]}
	last.key, last.honest = o.key, true
	c, err := last.dial(ctx)
	if err == nil {
		err = last.forget(ctx, c)
	}
	if err != nil {
		note("a webhook cannot be made and deleted: %v", err)
	}
	if err := srv.stop(0); err != nil {
		note("SIGTERM: %v", err)
	}
	if _, _, err = scan(m, []string{o.dir}, database, note); err != nil {
		t.Fatal(err)
	}
	return report
}

// TestSecrets is the promise that a secret is nowhere but where it has to be:
// not in logs at their most talkative, not in errors, not in the database
// outside of the column that is meant for it, not in any other file. make
// torture is its long form.
func TestSecrets(t *testing.T) {
	o := &secretRun{seed: *seed, kills: 3, dir: t.TempDir()}
	if o.seed == 0 {
		o.seed = rand.Uint64N(1_000_000) + 1
	}
	if *rounds > 0 {
		o.kills = *rounds
	}
	if *logs != "" {
		var err error
		if o.dir, err = os.MkdirTemp(*logs, "secrets-"); err != nil {
			t.Fatal(err)
		}
	}
	program := built(t)
	data := filepath.Join(o.dir, "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), program, "key", "create", "--name", "spies", "--subject", "spies", "--data", data).Output()
	if err != nil {
		t.Fatal(err)
	}
	o.key = strings.TrimSpace(string(out))
	o.server = func(data, addr string) *exec.Cmd {
		return exec.Command(program, "serve", "--listen", addr, "--data", data, "--log-level", "debug", "--auth-keys",
			"--card-profile", "extended", "--rate", "0", "--max-failures", "0", "--max-running-per-caller", "0", "--max-streams", "0")
	}
	report := o.run(t)
	for _, v := range report.violations {
		t.Errorf("seed %d: %s", o.seed, v)
	}
	if len(report.planted) < 15 || report.errors == 0 || report.rows == 0 || report.files < 3 {
		t.Errorf("seed %d: too little was put to the test: %v", o.seed, report)
	}
	t.Logf("secrets that were told: %v", report)
}
