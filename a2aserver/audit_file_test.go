package a2aserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// Ids that clients choose cannot begin a line of their own, whatever the
// handler does about them, and cannot fill the disk.
func TestAuditedIDsAreHarmless(t *testing.T) {
	evil := "x\n{\"event\":\"call\",\"outcome\":\"ok\"}\r\n\u2028\x1b[2J\u009b\u202eforged" + strings.Repeat("é", 300)
	for name, handler := range map[string]func(*lines) slog.Handler{
		"JSON":  func(l *lines) slog.Handler { return AuditHandler(l) },
		"text":  func(l *lines) slog.Handler { return slog.NewTextHandler(l, nil) },
		"naive": func(l *lines) slog.Handler { return naive{l} },
	} {
		log := newLines()
		s := New(agreeable{}, testCard(), &Options{Audit: slog.New(handler(log))})
		id, _ := json.Marshal(evil)
		do(s, http.MethodPost, "/", `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"tenant":`+string(id)+`,"id":`+string(id)+`}}`)
		got := log.String()
		if strings.Count(got, "\n") != 1 || strings.ContainsAny(got, "\r\x1b\u2028\u009b\u202e") {
			t.Errorf("%s: %q", name, got)
		}
		if !strings.Contains(got, "x") || len(got) > 2000 {
			t.Errorf("%s: the record has %d bytes: %s", name, len(got), got)
		}
	}
	for in, want := range map[string]string{
		"t-1": "t-1", "Aufgäbe 7": "Aufgäbe 7", "": "", "a\tb": `"a\tb"`, "\xff": `"\xff"`,
		strings.Repeat("é", 64):         strings.Repeat("é", 64),
		"x" + strings.Repeat("é", 64):   "x" + strings.Repeat("é", 63) + "…",
		strings.Repeat("a", 200) + "\n": strings.Repeat("a", 128) + "…",
	} {
		if got := audited(in); got != want {
			t.Errorf("audited(%q) = %s, want %s", in, got, want)
		}
	}
}

// naive writes values as they are.
type naive struct{ to *lines }

func (naive) Enabled(context.Context, slog.Level) bool { return true }
func (n naive) WithAttrs([]slog.Attr) slog.Handler     { return n }
func (n naive) WithGroup(string) slog.Handler          { return n }
func (n naive) Handle(_ context.Context, r slog.Record) error {
	var b bytes.Buffer
	b.WriteString(r.Message)
	r.Attrs(func(a slog.Attr) bool { fmt.Fprintf(&b, " %s=%v", a.Key, a.Value); return true })
	b.WriteByte('\n')
	_, err := n.to.Write(b.Bytes())
	return err
}

// FuzzAudited: whatever comes is one line, of a bounded length.
func FuzzAudited(f *testing.F) {
	f.Add("t-1")
	f.Add("a\nb\x00\xff\u202e")
	f.Fuzz(func(t *testing.T, s string) {
		got := audited(s)
		if len(got) > 10*maxAudited || strings.ContainsAny(got, "\n\r\x1b\x00") {
			t.Errorf("%q became %q", s, got)
		}
	})
}

// Who floods the server with wrong credentials does not fill its disk, and what
// is left out is counted.
func TestFloodIsCounted(t *testing.T) {
	log := newLines()
	s := New(agreeable{}, testCard(), &Options{Audit: slog.New(AuditHandler(log)), Identity: keyed{"right"}})
	const calls = 3 * floodBurst
	for range calls {
		do(s, http.MethodPost, "/", getTask("1"))
	}
	do(s, http.MethodPost, "/", getTask("1"), "X-API-Key: right")
	records := log.take(t)
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

// Several processes append to one file, which nobody else can read; when it is
// moved away a new one is begun.
func TestAuditFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	var files []*AuditFile
	for range 2 {
		f, err := OpenAudit(path, nil)
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
					f.Event(AuditKeyCreated, slog.String("key", strings.Repeat("k", 300)), slog.Int("file", n))
				}
			})
		}
	}
	writers.Wait()
	if got := read(t, path); len(got) != 2000 || got[0]["event"] != AuditKeyCreated || got[0]["level"] != nil || got[0]["time"] == nil {
		t.Errorf("%d records, the first is %v", len(got), got[0])
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode is %v, %v", info.Mode(), err)
	}
	if runtime.GOOS != "windows" { // where open files cannot be moved
		if err := os.Rename(path, path+".1"); err != nil {
			t.Fatal(err)
		}
		files[0].Event(AuditCardSigned)
		if err := files[0].Reopen(); err != nil {
			t.Fatal(err)
		}
		files[0].Event(AuditTLSReloaded)
		if got := read(t, path); len(got) != 2 || got[0]["event"] != AuditReopened || got[1]["event"] != AuditTLSReloaded {
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
	if _, err := OpenAudit(filepath.Join(path, "no", "where"), nil); err == nil {
		t.Error("a file was opened below a file")
	}
}

func read(t *testing.T, path string) []map[string]any {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	l := newLines()
	_, _ = l.Write(b)
	return l.take(t)
}

// full is a disk with room for some bytes.
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

// On a full disk calls go on; what is missing is said, here at once and in the
// log as soon as that is possible.
func TestAuditOnAFullDisk(t *testing.T) {
	trouble := newLines()
	a, err := OpenAudit(filepath.Join(t.TempDir(), "audit.jsonl"), slog.New(slog.NewJSONHandler(trouble, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	real, disk := a.f, &full{room: 200}
	a.f = disk
	s := New(agreeable{}, testCard(), &Options{Audit: a.Logger()})
	for range 5 {
		if w := do(s, http.MethodPost, "/", getTask("1")); w.Code != http.StatusOK {
			t.Fatalf("answered with %d", w.Code)
		}
	}
	if got := trouble.take(t); len(got) != 1 || got[0]["level"] != "ERROR" {
		t.Errorf("the operator hears %v", got)
	}
	disk.room = 1 << 20
	do(s, http.MethodPost, "/", getTask("1"))
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
	if want := fmt.Sprint([]any{AuditCall, "torn", AuditLost, AuditCall}); fmt.Sprint(events) != want && fmt.Sprint(events) != strings.Replace(want, AuditCall+" ", "", 1) {
		t.Errorf("the log has %v", events)
	}
	if lost < 4 {
		t.Errorf("%v records are said to be lost", lost)
	}
	if got := trouble.take(t); len(got) != 1 || got[0]["level"] != "INFO" {
		t.Errorf("the operator hears %v", got)
	}
}

// What is secret, or content, is in no field of any record.
func TestNoSecretIsAudited(t *testing.T) {
	const mark = "planted-7f3a"
	log := newLines()
	for _, key := range []string{"right", "other"} {
		s := New(agreeable{}, auditCard(), &Options{Audit: slog.New(AuditHandler(log)), Identity: keyed{key}})
		for _, h := range []string{
			"X-API-Key: " + mark, "Authorization: Bearer " + mark, "Authorization: Basic " + mark, "Cookie: a=" + mark,
			"A2A-Extensions: https://example.org/" + mark, "Last-Event-ID: " + mark, "Idempotency-Key: " + mark, "A2A-Version: " + mark, "User-Agent: " + mark,
		} {
			part := `{"messageId":"` + mark + `","role":"ROLE_USER","parts":[{"text":"` + mark + `"}],"metadata":{"` + mark + `":1},"unknown":"` + mark + `"}`
			hook := `{"taskId":"t","url":"https://u:` + mark + `@example.org/?q=` + mark + `","token":"` + mark + `","authentication":{"scheme":"Bearer","credentials":"` + mark + `"}}`
			for method, params := range map[string]string{
				"SendMessage": `{"message":` + part + `,"configuration":{"taskPushNotificationConfig":` + hook + `}}`, "SendStreamingMessage": `{"message":` + part + `}`,
				"CreateTaskPushNotificationConfig": hook, "ListTasks": `{"pageToken":"` + mark + `"}`, mark: `{}`,
			} {
				do(s, http.MethodPost, "/?token="+mark, `{"jsonrpc":"2.0","id":"`+mark+`","method":"`+method+`","params":`+params+`}`, h, "X-API-Key: right")
			}
			do(s, http.MethodPost, "/message:send?key="+mark, `{"message":`+part+`}`, h, "X-API-Key: right")
			do(s, http.MethodPost, "/tasks/t/pushNotificationConfigs", hook, h, "X-API-Key: right")
			do(s, http.MethodPost, "/", `{"`+mark, h, "X-API-Key: right")
		}
	}
	if got := log.String(); strings.Contains(got, mark) || strings.Count(got, "\n") < 50 {
		i := max(0, strings.Index(got, mark))
		t.Errorf("%d records; a secret: %s", strings.Count(got, "\n"), got[i:min(len(got), i+300)])
	}
}
