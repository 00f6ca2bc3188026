package conformance

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

// speaker is a caller who speaks every version and binding.
type speaker struct {
	t      *testing.T
	url    string
	header http.Header
}

func (s speaker) dial(version, binding string) *a2aclient.Client {
	s.t.Helper()
	c, err := a2aclient.Dial(s.t.Context(), s.url, &a2aclient.Options{Version: version, Bindings: []string{binding}, Header: s.header})
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// say sends words to a task of 0.1, whose id the caller chooses.
func (s speaker) say(task, words string) {
	s.t.Helper()
	_, err := s.dial("0.1", a2a.BindingJSONRPC).SendMessage(s.t.Context(), &a2a.SendMessageRequest{Message: &a2a.Message{
		TaskID: task, MessageID: uuid.NewString(), Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart(words)},
	}})
	if err != nil {
		s.t.Fatal(err)
	}
}

// TestNobodyForgesAWebhook is the attack: in version 0.1 ben begins a task under
// the id of ann's, and has the server post his words to ann's receiver, signed with
// the server's key.
func TestNobodyForgesAWebhook(t *testing.T) {
	t.Parallel()
	st := store.NewMemory()
	office, guard := newOffice(t, st, false)
	url := start(t, agent.DemoCard(), agent.Demo(), &parley.Options{Store: st, Auth: guard, Egress: &a2aserver.Egress{Loopback: true}})
	caller := func(name string) speaker {
		h := http.Header{}
		for k, v := range office.key(name, "t").header {
			h.Set(k, v)
		}
		return speaker{t, url, h}
	}
	ann, ben := caller("ann"), caller("ben")
	box := newMailbox(t, nil)
	const task = "chosen"

	// Each learns a source from the answers, in every version and binding.
	register := func(who speaker, path string, jwt bool, version, binding string) string {
		t.Helper()
		conf := &a2a.TaskPushNotificationConfig{TaskID: task, URL: box.url + path}
		if version > "0.2" {
			conf.ID = uuid.NewString()
		}
		if jwt {
			conf.Authentication = &a2a.AuthenticationInfo{Scheme: "bearer"}
		}
		c := who.dial(version, binding)
		made, err := c.CreateTaskPushNotificationConfig(t.Context(), conf)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.GetTaskPushNotificationConfig(t.Context(), &a2a.GetTaskPushNotificationConfigRequest{TaskID: task, ID: made.ID})
		if err != nil || got.Source != made.Source || made.Source == "" {
			t.Errorf("%s, %s: source %q when it was made, %q later, %v", version, binding, made.Source, got.Source, err)
		}
		if version == "1.0" {
			list, err := c.ListTaskPushNotificationConfigs(t.Context(), &a2a.ListTaskPushNotificationConfigsRequest{TaskID: task})
			if err != nil || len(list.Configs) == 0 || list.Configs[0].Source != made.Source {
				t.Errorf("%s: the list has %+v, %v", binding, list, err)
			}
		}
		return made.Source
	}
	sources := map[string]string{} // by path
	for _, who := range []struct {
		speaker
		path string
	}{{ann, "/ann"}, {ben, "/ben"}} {
		who.say(task, "ask who?")
		for _, how := range []struct {
			version, binding string
			jwt              bool
		}{
			{"0.1", a2a.BindingJSONRPC, true}, {"0.3", a2a.BindingJSONRPC, true}, {"0.3", a2a.BindingHTTPJSON, false}, {"0.3", a2a.BindingGRPC, false},
			{"1.0", a2a.BindingJSONRPC, false}, {"1.0", a2a.BindingHTTPJSON, false}, {"1.0", a2a.BindingGRPC, false},
		} {
			source := register(who.speaker, who.path, how.jwt, how.version, how.binding)
			if is := sources[who.path]; is != "" && is != source {
				t.Errorf("%s has the sources %s and %s", who.path, is, source)
			}
			sources[who.path] = source
			if strings.Contains(source, "ann") || strings.Contains(source, "ben") {
				t.Errorf("a source tells whose it is: %s", source)
			}
		}
	}
	if sources["/ann"] == sources["/ben"] {
		t.Fatalf("both have the source %s", sources["/ann"])
	}

	verifier := func(o a2aclient.WebhookOptions) *a2aclient.WebhookVerifier {
		t.Helper()
		o.Keys = url + "/.well-known/jwks.json"
		v, err := a2aclient.NewWebhookVerifier(o)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	anns, any := verifier(a2aclient.WebhookOptions{Sources: []string{sources["/ann"]}}), verifier(a2aclient.WebhookOptions{AnySource: true})
	// judge hands a post to ann's receiver and to one that takes everything.
	judge := func(what string, p posted, h http.Header) {
		t.Helper()
		d, err := anns.Verify(t.Context(), h, p.raw)
		var refused *a2aclient.WebhookError
		switch {
		case p.path == "/ann" && (err != nil || !d.ByKey || d.Source != sources["/ann"] || d.TaskID != task):
			t.Errorf("%s of ann's own: %+v, %v", what, d, err)
		case p.path == "/ben" && (!errors.As(err, &refused) || refused.Status != 401):
			t.Errorf("%s of ben's is taken for ann's: %+v, %v", what, d, err)
		}
		if d, err := any.Verify(t.Context(), h, p.raw); err != nil || d.Source != sources[p.path] || d.TaskID != task {
			t.Errorf("%s by %s, for a receiver of all: %+v, %v", what, p.path, d, err)
		}
	}
	ben.say(task, "ben's words")
	ann.say(task, "ann's words")
	done, jwts := map[string]int{}, map[string]int{}
	for done["/ann"] < 7 || done["/ben"] < 7 {
		p := receive(t, box.posts, "a webhook")
		judge("a delivery", p, p.header)
		if strings.Contains(string(p.raw), `completed`) || strings.Contains(string(p.raw), "TASK_STATE_COMPLETED") {
			done[p.path]++
		}
		if p.header.Get("Authorization") != "" {
			jwts[p.path]++
			alone := p.header.Clone()
			for _, name := range []string{"Webhook-Id", "Webhook-Timestamp", "Webhook-Signature"} {
				alone.Del(name)
			}
			judge("a JWT", p, alone)
		}
		if p.path == "/ben" { // a forger who relays it can change the headers, too
			h := p.header.Clone()
			h.Del("Authorization")
			h.Set("Webhook-Id", strings.Replace(h.Get("Webhook-Id"), sources["/ben"], sources["/ann"], 1))
			h.Set("Parley-Webhook-Source", sources["/ann"])
			for _, v := range []*a2aclient.WebhookVerifier{anns, any} {
				if d, err := v.Verify(t.Context(), h, p.raw); err == nil {
					t.Errorf("a delivery under ann's source holds: %+v", d)
				}
			}
		}
	}
	if jwts["/ann"] == 0 || jwts["/ben"] == 0 {
		t.Errorf("there were JWTs: %v", jwts)
	}
}
