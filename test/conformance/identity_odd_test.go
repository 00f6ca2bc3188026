package conformance

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/parley-a2a/parley/store"
)

// TestOddRequestsReachNothing asks for another's things in ways that no client
// would: byte for byte as written, since clients clean up what they send. In the
// lines, names in braces stand for what the victim has, or for nothing.
func TestOddRequestsReachNothing(t *testing.T) {
	t.Parallel()
	st := store.NewMemory()
	tenant := "tenant-" + uuid.NewString()
	at, guard := newOffice(t, st, true)
	s := openIdentity(t, st, guard, nil)
	v := &victim{name: "alice", caller: callerOf("key:", "alice", tenant), shows: at.key("alice", tenant)}
	v.settle(t, s)
	s.spy.delivered(t, v.scope())
	before := s.spy.possessions(t, v.scope())
	s.spy.watch(true)

	var requests []string
	// Paths with a tenant in all spellings, and around it.
	for _, where := range []string{
		"/{tenant}", "//{tenant}", "/%74{tail}", "/./{tenant}", "/x/../{tenant}", "/{tenant}/.", "/{tenant}/..", "/%2E/{tenant}", "/{tenant}%2F", "/%2F{tenant}", "/{tenant};a=b",
		"/{tenant}%00", "/{tenant}%20", "/v1/{tenant}", "/{tenant}/v1", "/v1", "", "/", "/*", "/%25%37%34{tail}", "/http://{tenant}",
	} {
		for _, line := range []string{
			"GET " + where + "/tasks/{id}", "HEAD " + where + "/tasks/{id}", "GET " + where + "/tasks", "GET " + where + "/tasks?contextId={context}&tenant={tenant}",
			"GET " + where + "/tasks/{id}:subscribe", "POST " + where + "/tasks/{id}:cancel", "DELETE " + where + "/tasks/{id}/pushNotificationConfigs/{config}",
		} {
			requests = append(requests, line+" HTTP/1.1")
		}
	}
	// Ids in other spellings, verbs, methods and versions of HTTP.
	requests = append(requests,
		"GET /tasks/{id}/ HTTP/1.1", "GET /tasks//{id} HTTP/1.1", "GET /tasks/./{id} HTTP/1.1", "GET /tasks/x/../{id} HTTP/1.1", "GET /tasks/{id}%00 HTTP/1.1", "GET /tasks/{id}%20 HTTP/1.1",
		"GET /TASKS/{id} HTTP/1.1", "GET /tasks/{id}:cancel HTTP/1.1", "GET /tasks/{id}%3Asubscribe HTTP/1.1", "GET /tasks/{id}:subscribe:subscribe HTTP/1.1",
		"PUT /tasks/{id} HTTP/1.1", "PATCH /tasks/{id} HTTP/1.1", "DELETE /tasks/{id} HTTP/1.1", "OPTIONS /tasks/{id} HTTP/1.1", "TRACE /tasks/{id} HTTP/1.1", "QUERY /tasks HTTP/1.1",
		"POST /tasks/{id} HTTP/1.1\r\nX-HTTP-Method-Override: GET", "POST /tasks/{id}?_method=GET HTTP/1.1", "GET http://127.0.0.1/tasks/{id} HTTP/1.1", "GET /tasks/{id} HTTP/1.0",
		"GET /tasks/{id}?id={id}&tenant={tenant} HTTP/1.1", "GET /tasks/{id}?tenant=x&tenant={tenant} HTTP/1.1", "GET /x/tasks/{id}?tenant={tenant} HTTP/1.1",
		"GET /tasks/{id} HTTP/1.1\r\nIf-None-Match: *", "GET /tasks/{id} HTTP/1.1\r\nRange: bytes=0-0", "GET /tasks/{id} HTTP/1.1\r\nIf-Modified-Since: Mon, 01 Jan 2001 00:00:00 GMT",
		"GET /tasks/{id} HTTP/1.1\r\nA2A-Version: 0.3", "GET /tasks/{id} HTTP/1.1\r\nA2A-Version: 9.9", "GET /v1/tasks/{id} HTTP/1.1\r\nA2A-Version: 1.0",
		"GET /tasks/{id} HTTP/1.1\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA", "GET /tasks/{id}/pushNotificationConfigs/{config} HTTP/1.1", "GET /tasks/{id}/pushNotificationConfigs?pageToken={config} HTTP/1.1",
		"GET /.well-known/agent-card.json?tenant={tenant} HTTP/1.1", "GET /{tenant}/.well-known/agent-card.json HTTP/1.1", "GET /agent/authenticatedExtendedCard?tenant={tenant} HTTP/1.1",
		"HEAD /agent/authenticatedExtendedCard HTTP/1.1", "GET /{tenant}/extendedAgentCard HTTP/1.1", "GET /readyz?{id} HTTP/1.1", "GET /livez/{id} HTTP/1.1",
	)
	// Bodies that say things twice, or in other ways.
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"x","id":"{id}"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"tenant":"x","tenant":"{tenant}","id":"{id}"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"Tenant":"{tenant}","ID":"{id}","id":"{id}"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"tenant":null,"id":"{id}"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"\u0000{id}"}}`,
		`{"jsonrpc":"2.0","id":"{id}","method":"GetTask","params":{"id":" {id} "}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"{id}","metadata":{"tenant":"{tenant}","subject":"alice","owner":"key:alice"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"GetTask","method":"CancelTask","params":{"id":"{id}"}}`,
		`[{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"{id}"}}]`,
		`{"jsonrpc":"2.0","method":"CancelTask","params":{"id":"{id}"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"` + uuid.NewString() + `","role":"ROLE_AGENT","taskId":"{id}","parts":[{"text":"x"}]}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"` + uuid.NewString() + `","role":"ROLE_USER","parts":[{"url":"parley-blob:{id}"}]}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tasks/{id}","params":{"id":"{id}"}}`,
	} {
		requests = append(requests, "POST / HTTP/1.1\r\nContent-Type: application/json\r\n\r\n"+body, "POST /?tenant={tenant} HTTP/1.1\r\nContent-Type: application/json\r\n\r\n"+body)
	}
	real := v.mine
	fake := real.like()
	fake.tenant = "t" + fake.tenant[1:] // to be written in the same ways
	tail := func(b *belongings) string { return strings.TrimPrefix(b.tenant, "t") }
	fill := func(b *belongings, id, line string) string {
		return strings.NewReplacer("{tenant}", b.tenant, "{tail}", tail(b), "{id}", id, "{context}", b.context, "{config}", b.config).Replace(line)
	}
	t.Run("callers", func(t *testing.T) {
		for name, shows := range map[string]proof{
			"in the tenant": at.key("bob", tenant), "in no tenant": at.token("bert", ""), "in another": at.key("alice", "elsewhere"), "anonymous": {},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				fake := fake.as("", "")
				if name == "in the tenant" {
					fake.tenant = tenant // which is no secret in it
				}
				realNames := strings.NewReplacer(append(real.placeholders(), tail(real), "<tail>")...)
				fakeNames := strings.NewReplacer(append(fake.placeholders(), tail(fake), "<tail>")...)
				for _, line := range requests {
					for i, id := range real.tasks()[:2] { // done, and running
						one := odd(t, s, shows, fill(real, id, line))
						two := odd(t, s, shows, fill(fake, fake.tasks()[i], line))
						if got, want := anonymous(realNames.Replace(one)), anonymous(fakeNames.Replace(two)); got != want || strings.Contains(one, v.word) {
							t.Errorf("%s\nis answered with\n%s\nand where nothing is\n%s", line, got, want)
						}
					}
				}
			})
		}
	})
	s.spy.watch(false)
	s.spy.report(t)
	if after := s.spy.possessions(t, v.scope()); after != before {
		t.Errorf("what she has is not what it was:\n%s\nand before:\n%s", after, before)
	}
}

// odd sends what is written and returns all of the answer but the date.
func odd(t *testing.T, s *identityServer, shows proof, request string) string {
	t.Helper()
	head, body, hasBody := strings.Cut(request, "\r\n\r\n")
	head += "\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
	for name, value := range shows.header {
		head += name + ": " + value + "\r\n"
	}
	if hasBody {
		head += "Content-Length: " + strconv.Itoa(len(body)) + "\r\n"
	}
	conn, err := net.Dial("tcp", hostOf(s.url))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, head+"\r\n"+body); err != nil {
		t.Fatal(err)
	}
	method, _, _ := strings.Cut(request, " ")
	res, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("%s: %v", head, err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("%s: %v", head, err)
	}
	res.Header.Del("Date")
	var b strings.Builder
	b.WriteString(res.Status + "\n")
	if err := res.Header.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String() + string(text)
}
