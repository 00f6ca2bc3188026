package conformance

import (
	"mime"
	"net/http"
	"strings"
	"testing"
)

func TestConformanceREST(t *testing.T) {
	eachDemo(t, func(t *testing.T, w *wire) {
		if w.binding != rest {
			return
		}
		// probe sends a request made by hand.
		probe := func(t *testing.T, verb, path, body string, headers ...string) answer {
			t.Helper()
			req, err := http.NewRequestWithContext(t.Context(), verb, w.url+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			for i := 0; i < len(headers); i += 2 {
				req.Header.Set(headers[i], headers[i+1])
			}
			return w.do(t, req, nil)
		}
		done := text(w.send(t, say("echo x")), "id")
		message := compact(obj{"message": say("echo x")})

		t.Run("R-234 the protocol's own media type and plain JSON", func(t *testing.T) {
			for sent, back := range map[string]string{
				"application/a2a+json":                "application/a2a+json",
				"application/a2a+json; charset=utf-8": "application/a2a+json",
				"application/json":                    "application/json",
			} {
				a := probe(t, "POST", "/message:send", message, "Content-Type", sent)
				media, _, _ := mime.ParseMediaType(a.header.Get("Content-Type"))
				if a.status != http.StatusOK || media != back {
					t.Errorf("%s is answered with %d %s", sent, a.status, media)
				}
			}
			a := probe(t, "GET", "/tasks/"+done, "", "Accept", "application/a2a+json")
			if media, _, _ := mime.ParseMediaType(a.header.Get("Content-Type")); media != "application/a2a+json" {
				t.Errorf("Accept: application/a2a+json is answered with %s", media)
			}
			equal(t, "status for text/plain", probe(t, "POST", "/message:send", message, "Content-Type", "text/plain").status, http.StatusUnsupportedMediaType)
		})
		t.Run("R-159 R-237 R-238 each route with its verb, also below a tenant", func(t *testing.T) {
			for _, tenant := range []string{"", "/acme", "/tasks%2Fmessage:send"} {
				sent := probe(t, "POST", tenant+"/message:send", compact(obj{"message": say("ask")}))
				id := text(sent.result, "task.id")
				for route, status := range map[string]int{
					"GET /tasks":                                         200,
					"GET /tasks/" + id:                                   200,
					"GET /tasks/" + id + "?historyLength=1":              200,
					"POST /tasks/" + id + ":cancel":                      200,
					"GET /tasks/nobody-knows":                            404,
					"GET /tasks/nobody-knows:subscribe":                  404,
					"POST /tasks/nobody-knows:subscribe":                 404,
					"POST /tasks/nobody-knows:cancel":                    404,
					"POST /message:stream":                               400, // no message in it
					"POST /tasks/" + id + "/pushNotificationConfigs":     400, // no url in it
					"GET /tasks/" + id + "/pushNotificationConfigs":      200,
					"GET /tasks/" + id + "/pushNotificationConfigs/c":    404,
					"DELETE /tasks/" + id + "/pushNotificationConfigs/c": 200,
					"GET /extendedAgentCard":                             400,
				} {
					verb, path, _ := strings.Cut(route, " ")
					body := ""
					if verb == "POST" {
						body = "{}"
					}
					a := probe(t, verb, tenant+path, body)
					if a.status != status || a.status == 404 && a.fault.reason() != "TASK_NOT_FOUND" {
						t.Errorf("%s %s: %d %s", verb, tenant+path, a.status, a.body)
					}
				}
			}
		})
		t.Run("R-237 other verbs and other paths", func(t *testing.T) {
			for _, route := range []string{"GET /message:send", "DELETE /tasks/" + done, "PUT /tasks", "POST /extendedAgentCard", "GET /tasks/" + done + ":cancel"} {
				verb, path, _ := strings.Cut(route, " ")
				a := probe(t, verb, path, "")
				if a.status != http.StatusMethodNotAllowed || a.header.Get("Allow") == "" || a.fault.message == "" {
					t.Errorf("%s: %d, Allow %q, %s", route, a.status, a.header.Get("Allow"), a.body)
				}
			}
			for _, path := range []string{"/nothing", "/tasks/a/b/c/d", "/v1", "/message"} {
				a := probe(t, "GET", path, "")
				if a.status != http.StatusNotFound || a.fault.message == "" {
					t.Errorf("%s: %d %s", path, a.status, a.body)
				}
			}
		})
		t.Run("R-237 subscribe by GET and by POST", func(t *testing.T) {
			asked := text(w.send(t, say("ask")), "id")
			for _, verb := range []string{"GET", "POST"} {
				req, err := http.NewRequestWithContext(t.Context(), verb, w.url+"/tasks/"+asked+":subscribe", nil)
				if err != nil {
					t.Fatal(err)
				}
				resp, err := w.client.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				equal(t, verb, resp.Header.Get("Content-Type"), "text/event-stream")
				resp.Body.Close()
			}
		})
		t.Run("R-239 R-247 bodies are the objects themselves, without an envelope", func(t *testing.T) {
			task := probe(t, "GET", "/tasks/"+done, "").result
			equal(t, "id", in(task, "id"), done)
			first := w.open(t, "SendStreamingMessage", obj{"message": say("echo x")}).must()
			if has(decode(t, []byte(first.raw)), "jsonrpc") {
				t.Errorf("an envelope: %s", first.raw)
			}
		})
		t.Run("R-242 query parameters", func(t *testing.T) {
			for query, count := range map[string]int{
				"?status=TASK_STATE_COMPLETED&includeArtifacts=true&pageSize=100": -1,
				"?statusTimestampAfter=2999-01-01T00%3A00%3A00Z":                  0,
				"?statusTimestampAfter=2000-01-01T00:00:00.5Z&historyLength=0":    -1,
				"?contextId=no%2Fsuch%20context%26":                               0,
				"?includeArtifacts=false&unknownParameter=x":                      -1,
				"?statusTimestampAfter=2999-01-01T02%3A00%3A00%2B02%3A00":         0,
				"?statusTimestampAfter=2999-01-01T02:00:00.5+02:00":               0,
			} {
				a := probe(t, "GET", "/tasks"+query, "")
				if a.status != 200 || count >= 0 && compact(in(a.result, "totalSize")) != compact(count) {
					t.Errorf("%s: %d %s", query, a.status, a.body)
				}
			}
			for _, query := range []string{
				"?pageSize=x", "?pageSize=1.5", "?includeArtifacts=1", "?includeArtifacts=TRUE", "?status=done",
				"?historyLength=-1", "?pageSize=1&pageSize=2", "?pageSize=%zz", "?statusTimestampAfter=1700000000",
			} {
				a := probe(t, "GET", "/tasks"+query, "")
				w.wantFault(t, a, invalid, query)
			}
		})
	})
}
