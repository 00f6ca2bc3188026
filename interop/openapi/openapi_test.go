package openapi

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/internal/admin"
)

// serve runs the real server, and returns how its administration is found.
func serve(t *testing.T) *admin.Local {
	t.Helper()
	dir := t.TempDir()
	program := os.Getenv("PARLEY")
	if program == "" {
		program = filepath.Join(dir, "parley")
		build := exec.Command("go", "build", "-o", program, "./cmd/parley")
		build.Dir = "../.."
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	server := exec.Command(program, "serve", "--listen", "127.0.0.1:0", "--data", dir, "--audit-log", filepath.Join(dir, "audit.jsonl"))
	var log bytes.Buffer
	server.Stderr = &log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for limit := time.Now().Add(time.Minute); time.Now().Before(limit); <-tick.C {
		if _, found, err := admin.Find(t.Context(), filepath.Join(dir, "parley.db.admin")); err == nil && found != nil {
			return found
		}
	}
	t.Fatalf("the server is not there\n%s", log.String())
	return nil
}

// lacking returns an answer that is an object without one of its members, for each of them.
func lacking(doc []byte) map[string][]byte {
	var whole map[string]json.RawMessage
	if json.Unmarshal(doc, &whole) != nil {
		return nil
	}
	all := map[string][]byte{}
	for name, value := range whole {
		delete(whole, name)
		all[name], _ = json.Marshal(whole)
		whole[name] = value
	}
	return all
}

// The document is one of OpenAPI, and what a running server answers to each route is what
// the document says of it: the status, the type and the schema.
func TestTheServerAnswersAsItsDocumentSays(t *testing.T) {
	at := serve(t)
	get := func(path string) []byte {
		res, err := http.Get(at.URL + admin.Path + path)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d, %v", path, res.StatusCode, err)
		}
		return b
	}
	doc, err := openapi3.NewLoader().LoadFromData(get("/openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	doc.Servers = openapi3.Servers{{URL: at.URL}}
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}

	client, err := a2aclient.Dial(t.Context(), at.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	tasks := map[string]string{}
	for _, text := range []string{"echo hello", "ask", "ask again"} {
		res, err := client.SendMessage(t.Context(), &a2a.SendMessageRequest{Message: a2a.UserText(text)})
		if err != nil {
			t.Fatal(err)
		}
		tasks[text] = res.Task.ID
	}
	done, waits := tasks["echo hello"], tasks["ask"]

	asked, judged := map[string]bool{}, map[string]bool{}
	var key string
	ask := func(method, path, body string, want int) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, at.URL+admin.Path+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+at.Token.Reveal())
		if body != "" {
			r.Header.Set("Content-Type", "application/json")
			if path == "/settings/check" {
				r.Header.Set("Content-Type", "application/yaml")
			}
		}
		route, params, err := router.FindRoute(r)
		if err != nil {
			t.Fatalf("%s %s: %v", method, path, err)
		}
		asked[method+" "+strings.TrimPrefix(route.Path, admin.Path)] = true
		in := &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route, Options: &openapi3filter.Options{
			AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true, ExcludeRequestBody: path == "/settings/check",
		}}
		if err := openapi3filter.ValidateRequest(t.Context(), in); err != nil && want < 400 {
			t.Errorf("%s %s: a request that is answered is none for the document: %v", method, path, err)
		}
		r.Body = io.NopCloser(strings.NewReader(body))
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != want {
			t.Errorf("%s %s: %d, want %d, %v: %s", method, path, res.StatusCode, want, err, b)
			return
		}
		out := (&openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: res.StatusCode, Header: res.Header, Options: in.Options}).SetBodyBytes(b)
		if err := openapi3filter.ValidateResponse(t.Context(), out); err != nil {
			t.Errorf("%s %s: %v\n%.500s", method, path, err, b)
		}
		if strings.Contains(path, "/state") {
			return // a Task of A2A, which this document does not describe
		}
		for name, less := range lacking(b) {
			missed := openapi3filter.ValidateResponse(t.Context(), out.SetBodyBytes(less)) != nil
			before, known := judged[name]
			judged[name] = missed && (before || !known)
		}
		var made struct{ ID string }
		if method == "POST" && path == "/keys" && json.Unmarshal(b, &made) == nil {
			key = made.ID
		}
	}
	for _, path := range []string{"/readiness", "/agents", "/nodes", "/store", "/settings", "/tasks", "/tasks?atWork=true&limit=1", "/tasks/" + done, "/tasks/" + waits,
		"/tasks/" + done + "/state", "/tasks/" + done + "/state?at=1", "/tasks/" + done + "/runs", "/tasks/" + done + "/log", "/deliveries", "/dead-letters", "/audit?limit=2"} {
		ask("GET", path, "", 200)
	}
	ask("POST", "/settings/check", "nonsense: 1", 200)
	ask("POST", "/deliveries/redeliver", `{"all":true}`, 200)
	ask("POST", "/collect", `{"olderThan":"720h","dryRun":true}`, 200)
	ask("POST", "/keys", `{"name":"test"}`, 200)
	ask("GET", "/keys", "", 200)
	ask("DELETE", "/keys/"+key, "", 200)
	ask("POST", "/tasks/"+waits+"/cancel", "", 200)
	ask("DELETE", "/tasks/"+done, "", 204)
	ask("GET", "/tasks/"+done, "", 404)
	ask("GET", "/tasks?limit=501", "", 400)
	ask("POST", "/collect", `{"olderThan":"720h","every":1}`, 400)

	// The judge can fail: these members are missed wherever an answer has them.
	for _, name := range []string{"ready", "version", "total", "state", "contextId", "entries", "status", "detail", "commits"} {
		if !judged[name] {
			t.Errorf("an answer may lack %s, or none had it", name)
		}
	}
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			if what := method + " " + strings.TrimPrefix(path, admin.Path); !asked[what] && path != admin.Path+"/events" && path != admin.Path+"/openapi.json" {
				t.Errorf("%s was not asked", what)
			}
		}
	}
}
