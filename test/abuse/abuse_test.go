package abuse

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/test/fixtures"
)

var (
	length  = flag.Duration("abuse", 0, "how long the quiet run and the attack are; 0 is the short form, which does not judge times")
	rounds  = flag.Int("rounds", 5, "how often the long form does both")
	callers = flag.Int("callers", 50, "callers who behave")
	binary  = flag.String("parley", "", "the binary to abuse; empty builds it")
	keep    = flag.String("logs", "", "directory for the server's logs and database; empty keeps nothing")
	only    = flag.String("attack", "", "the only attack, by a part of its name; empty means all")
	clear   = flag.Bool("clear", false, "without TLS")
)

// attackArg makes the test binary an attacker, so that the callers who behave
// have a process of their own: what to do follows as JSON.
const attackArg = "-abuse-attack="

type order struct {
	Addr, CA, Only string
	Keys           []string
	Length         time.Duration
	Part           float64
}

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && strings.HasPrefix(os.Args[1], attackArg) {
		if err := attack(strings.TrimPrefix(os.Args[1], attackArg)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func attack(arg string) error {
	var o order
	if err := json.Unmarshal([]byte(arg), &o); err != nil {
		return err
	}
	t := &Target{Addr: o.Addr, Keys: o.Keys}
	if o.CA != "" {
		var err error
		if t.TLS, err = trusting(o.CA); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), o.Length)
	defer cancel()
	if o.Only != "" {
		var some []Attack
		for _, a := range Attacks {
			if strings.Contains(a.Name, o.Only) {
				some = append(some, a)
			}
		}
		Attacks = some
	}
	return json.NewEncoder(os.Stdout).Encode(Run(ctx, t, o.Part))
}

func trusting(ca string) (*tls.Config, error) {
	pem, err := os.ReadFile(ca)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12, ServerName: "127.0.0.1"}, nil
}

// round is one quiet run, one while another server of the machine is under attack (in
// the long form), and one under attack.
type round struct {
	quiet, aside, busy *Times
	before, calm       Usage // of the quiet run: when it began, and the most
	began, high        Usage // of the attack
	tallies            []Tally
}

// run does one round. The attack on the other server tells what the machine does to
// times, apart from this server: its processors and its disk are those of all.
func (w *served) run(t *testing.T, good *Callers, other *served, quietly time.Duration, part float64) *round {
	t.Helper()
	r := &round{before: w.usage(t)}
	stop := Watch(w.pid)
	r.quiet = good.Run(t.Context(), quietly)
	r.calm = stop()
	if other != nil {
		r.aside, _ = other.attacked(t, good, quietly, part)
	}
	r.began, stop = w.usage(t), Watch(w.pid)
	r.busy, r.tallies = w.attacked(t, good, quietly, part)
	r.high = stop()
	return r
}

// attacked attacks w while callers who behave do what they do.
func (w *served) attacked(t *testing.T, good *Callers, quietly time.Duration, part float64) (*Times, []Tally) {
	t.Helper()
	arg, err := json.Marshal(order{w.addr, w.ca, *only, w.keys[:len(Attacks)], quietly + 3*time.Second, part})
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := []string{self, attackArg + string(arg)}
	if *length > 0 {
		// Attackers elsewhere would not take the server's processors: these run where
		// nothing else does (SCHED_IDLE). In the short form, which judges no times, they
		// get their share: beside other work they would meet nobody.
		command = append([]string{"chrt", "--idle", "0"}, command...)
	}
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	var tallies []Tally
	attacked := make(chan error, 1)
	go func() {
		out, err := cmd.Output()
		if err == nil {
			err = json.Unmarshal(out, &tallies)
		}
		attacked <- err
	}()
	pause(t.Context(), time.Second) // until it is under way
	times := good.Run(t.Context(), quietly)
	if err := <-attacked; err != nil {
		t.Fatal(err)
	}
	return times, tallies
}

// judge says what was seen in a round, and what none may have.
func (r *round) judge(t *testing.T) {
	t.Helper()
	t.Logf("the server took %v in quiet, %v at most then, %v under attack", r.before, r.calm, r.high)
	// What a host takes is missed by everybody, and no fault of the server.
	took := func(name string, before, after Usage) {
		t.Logf("%-12s %6v of processor time, %6v of waiting for it; the host took %v of the machine's", name, after.CPU-before.CPU,
			(after.Waited - before.Waited).Round(10*time.Millisecond), after.Stolen-before.Stolen)
	}
	took("in quiet", r.before, r.calm)
	took("under attack", r.began, r.high)
	idle := 0
	for _, a := range r.tallies {
		t.Logf("%-36s %6d attempts, %d of them without a connection", a.Name, a.Attempts, a.Unheard)
		if a.Attempts == a.Unheard {
			idle++
			t.Logf("%s: nobody was attacked", a.Name)
		}
		if a.Fails > 0 {
			t.Errorf("%s: %d were borne: %s", a.Name, a.Fails, a.Last)
		}
	}
	// In the seconds of the short form, beside other tests, not every attacker gets a
	// connection.
	if idle > 0 && (*length > 0 || idle > len(r.tallies)/2) {
		t.Errorf("%d of %d attacks met nobody", idle, len(r.tallies))
	}
	for i, err := range append(r.quiet.Errors, r.busy.Errors...) {
		if i < 10 {
			t.Errorf("a caller who behaves: %v", err)
		}
	}
	if r.high.RSS > memory {
		t.Errorf("the server took %d MiB", r.high.RSS>>20)
	}
}

// TestAbuse: callers who behave notice little of those who do not, and nothing of
// those is left when they are gone. make abuse is its long form.
func TestAbuse(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("it reads /proc, and takes an address of the loopback network for itself")
	}
	quietly, n, part, times := *length, *callers, 1.0, *rounds
	if *length == 0 {
		quietly, n, part, times = 2*time.Second, 8, 0.1, 1
	}
	w := start(t, n)
	var other *served
	if *length > 0 {
		// It takes what nobody else wants of the processors, as the attackers do.
		other = start(t, n, "chrt", "--idle", "0")
	}
	good, err := NewCallers(t.Context(), w.url, w.keys[len(Attacks):], w.tls)
	if err != nil {
		t.Fatal(err)
	}
	good.Leave()
	before := w.usage(t)
	good.Run(t.Context(), time.Second) // all connections are there
	var all []*round
	for i := range times {
		r := w.run(t, good, other, quietly, part)
		t.Logf("round %d: %d callers who behave, %v in quiet and %v beside %d connections that do not:\n%s",
			i+1, n, quietly, quietly, conns(part), table(r))
		r.judge(t)
		for i, bad := range good.Check(t.Context()) {
			if i < 10 {
				t.Error(bad)
			}
		}
		all = append(all, r)
	}
	for _, what := range []struct {
		name string
		of   func(*Times) []time.Duration
	}{
		{"an event after another", func(x *Times) []time.Duration { return x.Events }},
		{"a first event", func(x *Times) []time.Duration { return x.First }},
	} {
		p99 := func(x *Times) float64 { return float64(Quantile(what.of(x), 0.99)) }
		var quiet, aside []float64
		for _, r := range all {
			quiet = append(quiet, p99(r.busy)/p99(r.quiet))
			if r.aside != nil {
				aside = append(aside, p99(r.busy)/p99(r.aside))
			}
		}
		t.Logf("p99 of %s under attack, as a multiple of that in quiet: %.2f", what.name, quiet)
		if aside == nil {
			continue
		}
		t.Logf("and of that while another server is under attack: %.2f", aside)
		if most := slices.Max(quiet); most > 2 {
			t.Errorf("p99 of %s is %.2f times what it is in quiet in one of the rounds", what.name, most)
		}
	}
	good.Leave()
	// Attackers that were cut off may be noticed when a time-out ends. The
	// database's readers are opened as they are needed, and kept.
	limit := time.Now().Add(3 * time.Minute)
	for u := w.usage(t); u.Files > before.Files+16; u = w.usage(t) {
		if time.Now().After(limit) {
			t.Errorf("the server had %v before and has %v after the attack", before, u)
			break
		}
		pause(t.Context(), 200*time.Millisecond)
	}
	t.Logf("afterwards it takes %v", w.usage(t))
	w.end(t)
}

func conns(part float64) (n int) {
	for _, a := range Attacks {
		if strings.Contains(a.Name, *only) {
			n += max(1, int(float64(a.Conns)*part))
		}
	}
	return n
}

func table(r *round) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-44s %10s %10s %10s %10s %8s\n", "", "p50", "p99", "p99.9", "most", "count")
	row := func(name string, list []time.Duration) {
		fmt.Fprintf(&b, "%-44s", name)
		for _, q := range []float64{0.5, 0.99, 0.999, 1} {
			fmt.Fprintf(&b, " %10v", Quantile(list, q).Round(100*time.Microsecond))
		}
		fmt.Fprintf(&b, " %8d\n", len(list))
	}
	rows := []struct {
		name string
		of   *Times
	}{{"quiet", r.quiet}, {"another is attacked", r.aside}, {"under attack", r.busy}}
	for _, at := range rows {
		if at.of != nil {
			row("an event after another, "+at.name, at.of.Events)
		}
	}
	for _, at := range rows {
		if at.of != nil {
			row("a first event, "+at.name, at.of.First)
		}
	}
	fmt.Fprintf(&b, "%d and %d tasks, %d and %d errors", r.quiet.Tasks, r.busy.Tasks, len(r.quiet.Errors), len(r.busy.Errors))
	return b.String()
}

// served is a server with the binary's own limits.
type served struct {
	url, addr, ca string
	keys          []string // the attackers' first, one for each kind
	tls           *tls.Config
	pid           int
	cmd           *exec.Cmd
	log           string
}

// start starts a server for n callers who behave, by a command if there is one.
func start(t *testing.T, n int, command ...string) *served {
	t.Helper()
	dir := t.TempDir()
	if *keep != "" {
		var err error
		if dir, err = os.MkdirTemp(*keep, "abuse-"); err != nil {
			t.Fatal(err)
		}
	}
	program := *binary
	if program == "" {
		var err error
		if program, err = fixtures.Program(t.TempDir()); err != nil {
			t.Fatal(err)
		}
	}
	w := &served{log: filepath.Join(dir, "stderr")}
	data := filepath.Join(dir, "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range n + len(Attacks) {
		name := fmt.Sprintf("caller-%d", i)
		out, err := exec.CommandContext(t.Context(), program, "key", "create", "--name", name, "--subject", name, "--data", data).Output()
		if err != nil {
			t.Fatal(err)
		}
		w.keys = append(w.keys, strings.TrimSpace(string(out)))
	}
	args := []string{"serve", "--listen", "127.0.0.1:0", "--data", data, "--auth-keys", "--log-format", "text"}
	scheme := "http://"
	if !*clear {
		cert, key := certificate(t, dir)
		args = append(args, "--tls-cert", cert, "--tls-key", key)
		var err error
		if w.tls, err = trusting(cert); err != nil {
			t.Fatal(err)
		}
		w.ca, scheme = cert, "https://"
	}
	log, err := os.Create(w.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	command = append(append(command, program), args...)
	w.cmd = exec.Command(command[0], command[1:]...)
	w.cmd.Stderr = log
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.cmd.Process.Kill() })
	lines := bufio.NewScanner(out)
	for lines.Scan() && w.addr == "" {
		if i := strings.Index(lines.Text(), "127.0.0.1:"); i >= 0 {
			w.addr = strings.TrimRight(strings.Fields(lines.Text()[i:])[0], "/,.")
		}
	}
	if _, _, err := net.SplitHostPort(w.addr); err != nil {
		text, _ := os.ReadFile(w.log)
		t.Fatalf("the server does not say where it is: %v\n%s", err, text)
	}
	go func() { // ends with the server
		for lines.Scan() {
		}
	}()
	w.url, w.pid = scheme+w.addr, w.cmd.Process.Pid
	return w
}

func (w *served) usage(t *testing.T) Usage {
	t.Helper()
	u, err := UsageOf(w.pid)
	if err != nil {
		text, _ := os.ReadFile(w.log)
		t.Fatalf("the server is gone: %v\n%.5000s", err, text)
	}
	return u
}

// end stops the server, which must have nothing to complain about itself.
func (w *served) end(t *testing.T) {
	t.Helper()
	if err := w.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := w.cmd.Wait(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
	text, err := os.ReadFile(w.log)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "level=ERROR") || strings.Contains(line, "panic") || strings.Contains(line, "DATA RACE") {
			t.Errorf("the server says: %.300s", line)
			break
		}
	}
}
