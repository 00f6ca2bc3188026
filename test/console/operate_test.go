package console_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// An event that a receiver refuses for good is a dead letter, and is sent again by a
// click.
func TestDeadLetterIsSentAgain(t *testing.T) {
	t.Parallel()
	var refuses atomic.Bool
	refuses.Store(true)
	got := make(chan struct{}, 100)
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refuses.Load() {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		got <- struct{}{}
	}))
	t.Cleanup(hook.Close)
	s := serve(t, "--egress-allow", "http://127.0.0.1")
	s.cli("send", "--push-url", hook.URL, "echo to a webhook")
	p := s.open()
	p.reloaded(s.at("/webhooks"), "Send all again", true)
	p.shows("400")
	refuses.Store(false)
	p.press("Send all again")
	p.shows("sent again")
	<-got
	p.reloaded(s.at("/webhooks"), "Send all again", false)
	p.shows("127.0.0.1")
}

// A webhook whose receiver is away is tried again, and says when and why.
func TestWebhookSaysWhyItWaits(t *testing.T) {
	t.Parallel()
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	t.Cleanup(hook.Close)
	s := serve(t, "--egress-allow", "http://127.0.0.1")
	s.cli("send", "--push-url", hook.URL, "echo to a webhook")
	p := s.open()
	p.reloaded(s.at("/webhooks?failing=yes"), "503", true)
	p.shows("retrying")
	p.press("Try now")
	p.shows("tried at once")
}

// Settings say where they come from, and secrets are not in the page at all.
func TestSettingsHideSecrets(t *testing.T) {
	t.Parallel()
	s := newServer(t, "--file", "parley.yaml")
	s.env = []string{"MODEL_KEY=a-secret-that-nobody-sees"}
	if err := os.WriteFile(filepath.Join(s.dir, "parley.yaml"), []byte("version: 1\nagents:\n  model:\n    openai: {url: 'http://127.0.0.1:9/v1', model: small, api_key: '${env:MODEL_KEY}'}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.start()
	t.Cleanup(func() { s.end(os.Kill) })
	p := s.open()
	p.screen(s.at("/operate?view=settings"))
	p.shows("agents.model.openai.url")
	p.shows("parley.yaml")
	if html := js[string](p, "document.documentElement.outerHTML"); strings.Contains(html, "a-secret-that-nobody-sees") {
		t.Error("the page has the secret")
	}
}

// A draft is judged with lines and fields, and nothing is changed.
func TestDraftIsChecked(t *testing.T) {
	t.Parallel()
	s := share(t)
	p := s.open()
	p.screen(s.at("/operate?view=settings"))
	p.fill("textarea[name=draft]", "version: 1\nlisen: 127.0.0.1:7275\n")
	p.press("Check")
	p.shows("line 2")
	p.shows("lisen")
	p.until(`((r) => r.top >= 0 && r.bottom <= innerHeight)(document.querySelector("#draft .warn").getBoundingClientRect())`)
	p.fill("textarea[name=draft]", "version: 1\nagents:\n  demo: {builtin: demo}\n")
	p.press("Check")
	p.shows("The draft has no mistakes")
}

// A key is shown once, opens the server, and opens it no more once it is revoked.
func TestKeysAreMadeAndRevoked(t *testing.T) {
	t.Parallel()
	s := serve(t, "--auth-keys")
	p := s.login(s.key("--name", "me", "--role", "admin"))
	p.until(`document.readyState === "complete" && document.querySelector(".places")`)
	p.screen(s.at("/operate?view=keys"))
	p.fill("form input[name=name]", "laptop")
	p.press("Create a key")
	p.shows("it is not shown again")
	key := keyIn.FindString(p.text("main"))
	if key == "" {
		t.Fatal("the page has no key")
	}
	status := func() int {
		t.Helper()
		req, err := http.NewRequest("POST", "http://"+s.addr+"/", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-API-Key", key)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode
	}
	if got := status(); got != http.StatusOK {
		t.Errorf("with the new key a call is answered %d", got)
	}
	p.screen(s.at("/operate?view=keys"))
	if p.says(key) {
		t.Error("the key is shown twice")
	}
	row := `[...document.querySelectorAll("tr")].find((r) => r.textContent.includes("laptop"))`
	p.clickOn(row + `.querySelector("summary")`)
	p.press("Revoke " + keyID(key))
	p.until(row + `.textContent.includes("revoked")`)
	for late := time.Now().Add(patience); status() != http.StatusUnauthorized; { // a key is known for a second
		if time.Now().After(late) {
			t.Fatal("with the revoked key a call is answered still")
		}
	}
	p.screen(s.at("/operate?view=audit"))
	p.until(`document.querySelector("table").innerText.includes("key")`)
	p.fill("input[name=event]", "none.such")
	p.press("Filter")
	p.shows("No record matches")
}

// The audit log says who changed something at the console.
func TestDeletionIsAudited(t *testing.T) {
	t.Parallel()
	s := serve(t, "--audit-log", "audit.jsonl")
	id := s.send("/", "echo to be deleted")
	p := s.open()
	p.screen(s.at("/tasks/-/" + id))
	p.press("Delete…")
	p.click("input[name=sure]")
	p.press("Delete")
	p.until(`location.pathname.endsWith("/tasks") && document.readyState === "complete"`)
	p.screen(s.at("/operate?view=audit"))
	p.shows("admin.call")
	p.shows(id)
}

// An operator sees whether the server is ready, and what happens.
func TestOperateNow(t *testing.T) {
	t.Parallel()
	s := serve(t)
	p := s.open()
	p.screen(s.at("/operate"))
	p.shows("Ready")
	p.shows("No task is at work")
	s.send("/", "sleep 600")
	p.reloaded(s.at("/operate"), "sleep 600", true)
	p.shows("this one")
	p.shows("sqlite")
}

// An agent's card is a document: its skills begin a chat, its JSON is the card.
func TestCardAsADocument(t *testing.T) {
	t.Parallel()
	s := share(t)
	p := s.open()
	p.screen(s.at("/agents"))
	p.press("Parley demo")
	p.until(`location.pathname.endsWith("/agents/-") && document.readyState === "complete"`)
	p.shows("credentials")
	p.press("The card as JSON")
	name := js[string](p, `JSON.parse([...document.querySelectorAll("details")].find((d) => d.innerText.startsWith("The card as JSON")).querySelector("pre").textContent).name`)
	if name != "Parley demo" {
		t.Errorf("the card is of %q", name)
	}
	p.press("echo hello")
	p.chat()
	p.until(`document.querySelector("textarea[name=text]").value === "echo hello"`)
	p.click("#send")
	p.state("completed")
	p.shows("hello")
}

// An agent whose command is not there is away, and every page that shows it says why.
func TestAgentThatIsAway(t *testing.T) {
	t.Parallel()
	s := newServer(t, "--", "./agent.sh")
	script := filepath.Join(s.dir, "agent.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\ncat\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.start()
	t.Cleanup(func() { s.end(os.Kill) })
	p := s.open()
	p.say("echo here")
	p.state("completed")
	if err := os.Remove(script); err != nil {
		t.Fatal(err)
	}
	p.say("echo away")
	p.until(fmt.Sprintf(`[...document.querySelectorAll("#talks .state")].at(-1).textContent === %q || document.querySelector("#unsent:not([hidden])")`, "failed"))
	if !p.says("agent.sh") && !p.says("command") && p.count("#talks .failed") == 0 {
		t.Errorf("the page does not say why: %s", p.text("main"))
	}
}
