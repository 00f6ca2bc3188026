package torture

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// observedFor is how long memory is watched, from a start on.
const observedFor = 5 * time.Second

// measure prints what starts on a database cost.
func measure(t *testing.T, program, addr string) {
	full := stock{finished: *finished, unfinished: *unfinished}
	source := stocked(t, full)
	samples := make([][]sample, len(startNames))
	delays := map[string][]time.Duration{}
	for range *starts {
		m := &measuring{t: t, program: program, addr: addr, dir: t.TempDir()}
		copyFile(t, source, m.database())

		l, s := m.start(true)
		samples[0] = append(samples[0], s)
		l.kill()
		l, s = m.start(false)
		samples[1] = append(samples[1], s)
		l.stop()
		l, s = m.start(false)
		for what, took := range m.latencies(l) {
			delays["while tasks are taken up: "+what] = append(delays["while tasks are taken up: "+what], took)
		}
		m.finish(l, &s)
		samples[2] = append(samples[2], s)
		l.stop()
		l, s = m.start(false)
		for what, took := range m.latencies(l) {
			delays["at rest: "+what] = append(delays["at rest: "+what], took)
		}
		samples[3] = append(samples[3], s)
		l.stop()
		if err := os.RemoveAll(m.dir); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d finished tasks, %d unfinished ones; medians of %d:\n%s\n%s", full.finished, full.unfinished, *starts, startTable(samples), delayTable(delays))
	for i, name := range startNames {
		if s := median(samples[i], func(s sample) float64 { return s.ready }); s >= 2 {
			t.Errorf("%s: ready after %.2f s, which is not less than 2", name, s)
		}
	}
}

// stocked returns the path of a database as full says.
func stocked(t *testing.T, full stock) string {
	t.Helper()
	dir := *stocks
	if dir == "" {
		dir = t.TempDir()
	}
	path := filepath.Join(dir, fmt.Sprintf("%d-%d", full.finished, full.unfinished), "parley.db")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	fresh := filepath.Join(dir, "fresh", "parley.db")
	began := time.Now()
	err := full.fill(t.Context(), fresh, lost{"stream 40 50", "sleep 2", "ask", "echo hello"})
	if err == nil {
		err = os.Rename(filepath.Dir(fresh), filepath.Dir(path))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the database was made in %v", time.Since(began).Round(time.Second))
	return path
}

// measuring is one copy of a database with what happens to it.
type measuring struct {
	t                  *testing.T
	program, addr, dir string
	before             map[string]int // active tasks by node, before the last start
}

func (m *measuring) database() string { return filepath.Join(m.dir, "parley.db") }

// start measures a start, and the memory from then on. cold means that nothing
// of the database is in the system's cache.
func (m *measuring) start(cold bool) (*life, sample) {
	m.t.Helper()
	s := sample{taken: -1, ended: -1}
	if info, err := os.Stat(m.database() + "-wal"); err == nil {
		s.wal = float64(info.Size()) / (1 << 20)
	}
	o := observe(m.t, m.dir)
	var total int
	var err error
	m.before, total, err = o.nodes()
	if err == nil {
		err = o.close()
	}
	if err != nil {
		m.t.Fatal(err)
	}
	s.open = float64(total)
	if cold {
		uncache(m.t, m.database())
	}

	l := live(m.t, m.program, m.addr, m.dir)
	s.atReady = l.memory().now
	l.greet(m.t.Context())
	s.banner, s.ready, s.answered = l.banner.Seconds(), l.ready.Seconds(), l.answered.Seconds()
	m.watch(l, &s, func(open, taken int, since time.Duration) bool { return since > observedFor })
	mem := l.memory()
	s.after, s.peak = mem.now, mem.peak
	return l, s
}

// finish waits until no task is active any more.
func (m *measuring) finish(l *life, s *sample) {
	m.t.Helper()
	m.watch(l, s, func(open, _ int, _ time.Duration) bool { return open == 0 })
}

// watch looks at what is active until enough says so. open counts it, dead those
// that still are a dead node's.
func (m *measuring) watch(l *life, s *sample, enough func(open, dead int, since time.Duration) bool) {
	m.t.Helper()
	o := observe(m.t, m.dir)
	defer o.close()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		nodes, open, err := o.nodes()
		if err != nil {
			m.t.Fatal(err)
		}
		dead := 0
		for node, n := range nodes {
			if _, was := m.before[node]; was {
				dead += n
			}
		}
		since := time.Since(l.began)
		if dead == 0 && s.taken < 0 {
			s.taken = since.Seconds()
		}
		if open == 0 && s.ended < 0 {
			s.ended = since.Seconds()
		}
		if enough(open, dead, since) {
			return
		}
		select {
		case <-tick.C:
		case <-l.gone:
			m.t.Fatalf("the server ended with %v; it said:\n%s", l.err, l.log)
		}
	}
}

// latencies returns the median of 50 calls of each kind, one after the other.
func (m *measuring) latencies(l *life) map[string]time.Duration {
	m.t.Helper()
	ctx := m.t.Context()
	half, eighth := l.clientOf(tenants[0]), l.clientOf(tenants[1])
	page, err := eighth.ListTasks(ctx, &a2a.ListTasksRequest{PageSize: new(int32(100))})
	if err != nil {
		m.t.Fatal(err)
	}
	out := map[string]time.Duration{}
	for what, call := range map[string]func() error{
		"ListTasks, of half of all": func() error {
			_, err := half.ListTasks(ctx, &a2a.ListTasksRequest{})
			return err
		},
		"ListTasks, of an eighth": func() error {
			_, err := eighth.ListTasks(ctx, &a2a.ListTasksRequest{})
			return err
		},
		"GetTask": func() error {
			task := page.Tasks[rand.IntN(len(page.Tasks))]
			_, err := eighth.GetTask(ctx, &a2a.GetTaskRequest{ID: task.ID})
			return err
		},
		"SendMessage": func() error { return echo(ctx, half) },
	} {
		took := make([]time.Duration, 50)
		for i := range took {
			began := time.Now()
			if err := call(); err != nil {
				m.t.Fatalf("%s: %v", what, err)
			}
			took[i] = time.Since(began)
		}
		slices.Sort(took)
		out[what] = took[len(took)/2]
	}
	return out
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Sync()
	}
	if err == nil {
		err = out.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// uncache makes the system forget what it holds of a file in memory, as after
// the machine was started. The file must have been synced.
func uncache(t *testing.T, path string) {
	t.Helper()
	dd := exec.CommandContext(context.WithoutCancel(t.Context()), "dd", "if="+path, "iflag=nocache", "count=0", "status=none")
	if out, err := dd.CombinedOutput(); err != nil {
		t.Fatalf("dd: %v\n%s", err, out)
	}
}
