package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/metric/noop"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/telemetry/metrics"
)

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"t-1": "t-1", "Aufgäbe 7": "Aufgäbe 7", "": "", "a\tb": `"a\tb"`, "\xff": `"\xff"`, `"a\tb"`: `"\"a\\tb\""`,
		strings.Repeat("é", 64):         strings.Repeat("é", 64),
		"x" + strings.Repeat("é", 64):   "x" + strings.Repeat("é", 63) + "…",
		strings.Repeat("a", 200) + "\n": strings.Repeat("a", 128) + "…",
	} {
		if got := printable(in); got != want {
			t.Errorf("printable(%q) = %s, want %s", in, got, want)
		}
	}
}

// FuzzPrintable: any text becomes one line, of a bounded length.
func FuzzPrintable(f *testing.F) {
	f.Add("t-1")
	f.Add("a\nb\x00\xff\u202e")
	f.Fuzz(func(t *testing.T, s string) {
		got := printable(s)
		if len(got) > 10*maxValue || strings.ContainsAny(got, "\n\r\x1b\x00") {
			t.Errorf("%q became %q", s, got)
		}
	})
}

// A flood of refusals does not fill the disk, and those that are left out are counted.
func TestFloodIsCounted(t *testing.T) {
	var b bytes.Buffer
	log := New(slog.New(Handler(&b)), nil, nil)
	const calls = 3 * floodBurst
	for range calls {
		var c Record
		c.Begin(log, a2a.BindingJSONRPC, "192.0.2.1", "")
		c.Fail(t.Context(), &a2a.Error{Code: a2a.CodeUnauthenticated})
	}
	var c Record
	c.Begin(log, a2a.BindingJSONRPC, "192.0.2.1", "")
	c.Succeed(t.Context())
	records := parse(t, b.Bytes())
	total := len(records) - 1
	if total < floodBurst || total > 2*floodBurst {
		t.Errorf("of %d refusals %d are recorded", calls, total)
	}
	for _, r := range records {
		if n, ok := r["skipped"].(float64); ok {
			total += int(n)
		}
	}
	if last := records[len(records)-1]; total != calls || last["outcome"] != "ok" {
		t.Errorf("%d refusals are recorded or counted, of %d; the last record is %v", total, calls, last)
	}
}

// Several processes append to one file, which no other user can read. When it is moved away,
// a new one is created.
func TestAuditFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	var files []*File
	for range 2 {
		f, err := Open(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	var writers sync.WaitGroup
	for n, f := range files {
		for range 4 {
			writers.Go(func() {
				for range 250 {
					f.Event(KeyCreated, slog.String("key", strings.Repeat("k", 300)), slog.Int("file", n))
				}
			})
		}
	}
	writers.Wait()
	if got := read(t, path); len(got) != 2000 || got[0]["event"] != KeyCreated || got[0]["level"] != nil || got[0]["time"] == nil {
		t.Errorf("%d records, the first is %v", len(got), got[0])
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode is %v, %v", info.Mode(), err)
	}
	if runtime.GOOS != "windows" { // where open files cannot be moved
		if err := os.Rename(path, path+".1"); err != nil {
			t.Fatal(err)
		}
		files[0].Event(CardSigned)
		if err := files[0].Reopen(); err != nil {
			t.Fatal(err)
		}
		files[0].Event(TLSReloaded)
		if got := read(t, path); len(got) != 2 || got[0]["event"] != Reopened || got[1]["event"] != TLSReloaded {
			t.Errorf("the new file has %v", got)
		}
		if got := read(t, path+".1"); len(got) != 2001 {
			t.Errorf("the old file has %d records", len(got))
		}
	}
	for _, f := range files {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := Open(filepath.Join(path, "no", "where"), nil); err == nil {
		t.Error("a file was opened below a file")
	}
}

// A record cut off by a crash or a full disk does not spoil the next one.
func TestAuditGoesOnBehindATornLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	for before, want := range map[string]int{"": 1, "{}\n": 2, "{}\n{\"event\":\"ca": 2} {
		if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		a, err := Open(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		a.Event(CardSigned)
		a.Close()
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		whole := 0
		for line := range bytes.Lines(b) {
			if json.Valid(line) {
				whole++
			}
		}
		if whole != want || bytes.Contains(b, []byte("\n\n")) {
			t.Errorf("behind %q: %q", before, b)
		}
	}
}

// Texts that do not come from a caller are made harmless too: names and subjects of keys,
// users, errors.
func TestAuditEventsAreHarmless(t *testing.T) {
	var log bytes.Buffer
	slog.New(Handler(&log)).Info(KeyCreated, "name", "ci\u009b2J\u202e\x1b[2J\n{}", "by", "root", "subject", "\xff\u2028", "error", "Zürich")
	const want = `"name":"\"ci\\u009b2J\\u202e\\x1b[2J\\n{}\"","by":"root","subject":"\"\\xff\\u2028\"","error":"Zürich"`
	if got := log.String(); !strings.Contains(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
}

func read(t *testing.T, path string) []map[string]any {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, b)
}

func parse(t *testing.T, b []byte) (records []map[string]any) {
	t.Helper()
	for line := range bytes.Lines(b) {
		var m map[string]any
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatalf("%q is no JSON: %v", line, err)
		}
		records = append(records, m)
	}
	return records
}

// full is a disk with space for some bytes.
type full struct {
	room int
	b    bytes.Buffer
}

func (f *full) Write(p []byte) (int, error) {
	n := min(len(p), f.room)
	f.room -= n
	f.b.Write(p[:n])
	if n < len(p) {
		return n, errors.New("no space left on device")
	}
	return n, nil
}

func (*full) Close() error { return nil }

// On a full disk, writing a record does not fail. The missing records are reported at once to
// the logger, and in the file as soon as possible.
func TestAuditOnAFullDisk(t *testing.T) {
	var failures bytes.Buffer
	heard := func() []map[string]any { defer failures.Reset(); return parse(t, failures.Bytes()) }
	a, err := Open(filepath.Join(t.TempDir(), "audit.jsonl"), slog.New(slog.NewJSONHandler(&failures, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	local := metrics.NewLocal(noop.NewMeterProvider())
	a.Measure(local)
	real, disk := a.f, &full{room: 200}
	a.f = disk
	for range 5 {
		a.Event(Call, slog.String("task", strings.Repeat("t", 80)))
	}
	if got := heard(); len(got) != 1 || got[0]["level"] != "ERROR" {
		t.Errorf("the operator hears %v", got)
	}
	disk.room = 1 << 20
	a.Event(Call)
	a.f = real
	var events []any
	lost := 0.0
	for line := range strings.Lines(disk.b.String()) {
		var m map[string]any
		if json.Unmarshal([]byte(line), &m) != nil {
			events = append(events, "torn")
			continue
		}
		events = append(events, m["event"])
		if n, ok := m["lost"].(float64); ok {
			lost = n
		}
	}
	if want := fmt.Sprint([]any{Call, "torn", Lost, Call}); fmt.Sprint(events) != want && fmt.Sprint(events) != strings.Replace(want, Call+" ", "", 1) {
		t.Errorf("the log has %v", events)
	}
	if lost < 4 {
		t.Errorf("%v records are said to be lost", lost)
	}
	local.Read(func(m *metrics.Metric, points []metrics.Point) {
		if n := points[0].Value; float64(n) != lost {
			t.Errorf("%s is %d, and %v records are lost", m.Name, n, lost)
		}
		lost = 0
	})
	if lost > 0 {
		t.Error("they are not counted")
	}
	if got := heard(); len(got) != 1 || got[0]["level"] != "INFO" {
		t.Errorf("the operator hears %v", got)
	}
}
