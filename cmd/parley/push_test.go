package main

import (
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/database"
	"github.com/parley-a2a/parley/store"
)

func TestKeysAreBelowTheAgent(t *testing.T) {
	const path = "/.well-known/jwks.json"
	for agent, want := range map[string]string{
		"":                     "",
		"localhost:7275":       "http://localhost:7275" + path,
		"127.0.0.1:7275":       "http://127.0.0.1:7275" + path,
		"[::1]:7275":           "http://[::1]:7275" + path,
		"[::1]":                "http://[::1]" + path,
		"agents.example.org":   "https://agents.example.org" + path,
		"https://a.example/b/": "https://a.example/b" + path,
		"https://a.example/b/.well-known/agent-card.json": "https://a.example/b" + path,
		"https://u:p@a.example/?q#f":                      "https://a.example" + path,
		"./card.json":                                     "error",
		"card.json":                                       "error",
		"/etc/card":                                       "error",
		"file:///card.json":                               "error",
		"ftp://a.example":                                 "error",
	} {
		got, err := keysURL("", agent)
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%q: %s, want %s", agent, got, want)
		}
	}
	if got, _ := keysURL("https://k.example/k", "localhost"); got != "https://k.example/k" {
		t.Errorf("--keys: %s", got)
	}
}

func TestPushFlags(t *testing.T) {
	for name, tt := range map[string]struct {
		flags pushFlags
		in    string
		want  string // of JSON; or a part of the error
	}{
		"none":             {},
		"url":              {flags: pushFlags{url: "u"}, want: `{"url":"u"}`},
		"all":              {flags: pushFlags{url: "u", id: "i", token: "t", scheme: "Basic", credentials: "c"}, want: `{"id":"i","url":"u","token":"t","authentication":{"scheme":"Basic","credentials":"c"}}`},
		"token read":       {flags: pushFlags{url: "u", token: "-"}, in: "a b\r\nc", want: `{"url":"u","token":"a b"}`},
		"credentials read": {flags: pushFlags{url: "u", scheme: "x", credentials: "-"}, in: "c", want: `{"url":"u","authentication":{"scheme":"x","credentials":"c"}}`},
		"nothing to read":  {flags: pushFlags{url: "u", token: "-"}, want: "no line"},
		"two to read":      {flags: pushFlags{url: "u", scheme: "x", token: "-", credentials: "-"}, want: "only one"},
		"no url":           {flags: pushFlags{prefix: "push-", id: "i"}, want: "--push-url is missing"},
		"no scheme":        {flags: pushFlags{url: "u", credentials: "c"}, want: "needs an --auth-scheme"},
	} {
		c, err := tt.flags.config(strings.NewReader(tt.in))
		switch {
		case err != nil:
			if tt.want == "" || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v", name, err)
			}
		case c == nil:
			if tt.want != "" {
				t.Errorf("%s: nothing", name)
			}
		case string(c.AppendJSON(nil)) != tt.want:
			t.Errorf("%s: %s", name, c.AppendJSON(nil))
		}
	}
}

func TestWhatAWebhookDoes(t *testing.T) {
	at := func(live bool, cursor int64, tries int32) *store.PushState {
		p := &store.PushState{Last: 5}
		p.Live, p.Cursor, p.Tries = live, cursor, tries
		return p
	}
	for want, p := range map[string]*store.PushState{
		database.PushIdle: at(true, 5, 0), database.PushPending: at(true, 4, 0), database.PushRetrying: at(true, 4, 2), database.PushDisabled: at(false, 4, 0), database.PushCompleted: at(false, 5, 0),
	} {
		if got := database.PushDoes(p); got != want {
			t.Errorf("%+v is %s, want %s", p, got, want)
		}
	}
}
