package a2aserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
)

// Ids that clients choose cannot begin a line of the log, whatever its handler does
// with them, and cannot fill the disk.
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

// Secrets and content are in no field of any record.
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
