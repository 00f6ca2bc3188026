package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

// opened is a store whose messages between processes are kept, as a backup of the database
// might.
type opened struct {
	store.Store
	mu   sync.Mutex // protects the field below
	mail []store.Mail
}

func (o *opened) Post(ctx context.Context, all []store.Mail) error {
	o.mu.Lock()
	o.mail = append(o.mail, all...)
	o.mu.Unlock()
	return o.Store.Post(ctx, all)
}

// wantNothingOf fails if the store or its messages between processes contain a text.
func (o *opened) wantNothingOf(t *testing.T, k store.Key, secret string) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.mail) == 0 {
		t.Error("there was no mail")
	}
	for _, m := range o.mail {
		if bytes.Contains(m.Body, []byte(secret)) {
			t.Error("mail says the secret")
		}
	}
	entries, err := o.Entries(t.Context(), k, 0, 0)
	if err != nil || len(entries) == 0 {
		t.Error(err)
	}
	for _, en := range entries {
		if bytes.Contains(en.Body, []byte(secret)) {
			t.Errorf("the log says the secret: %s", en.Body)
		}
	}
}

// Credentials for an agent at work in another process reach that agent and nothing else:
// neither the log nor, in plain text, the forwarded message.
func TestCredentialsArePassedOnSealed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &opened{Store: store.NewMemory()}
		defer st.Close()
		got := make(chan string, 1)
		ag := agent.Func(func(ctx context.Context, t *agent.Turn) error {
			m, err := t.AuthenticateBy(ctx, "log in", func(ctx context.Context) error {
				<-ctx.Done()
				return context.Cause(ctx)
			})
			if err != nil {
				return err
			}
			got <- m.Text()
			return t.Complete("in")
		})
		here := newWorldWith(t, st, ag, testCard(), shared(t))
		there := newWorldWith(t, st, ag, testCard(), shared(t))
		task := here.mustSend(send("x"))
		wantState(t, task, a2a.TaskStateAuthRequired)
		end := there.mustSend(reply(task, "hunter2"))
		wantState(t, end, a2a.TaskStateCompleted)
		if text := <-got; text != "hunter2" {
			t.Errorf("the agent got %q", text)
		}
		if strings.Contains(string(end.AppendJSON(nil)), "hunter2") {
			t.Error("the history says the secret")
		}
		st.wantNothingOf(t, store.Key{ID: task.ID}, "hunter2")
		here.stop()
		there.stop()
	})
}

// A message is for one process: another one that finds it cannot read it, nor can one that was
// given a part of it.
func TestMailIsForOne(t *testing.T) {
	one, two := newNodeKey(), newNodeKey()
	body, err := (&memo{ID: "1", Cancel: &memoCancel{Key: keyMemo(store.Key{ID: "t\xff\x00"})}}).seal(one.name)
	if err != nil {
		t.Fatal(err)
	}
	m, err := one.open(body)
	if err != nil || m.Cancel.Key.key().ID != "t\xff\x00" {
		t.Errorf("opened %+v, %v", m, err)
	}
	if m, err := two.open(body); err == nil {
		t.Errorf("another one read %+v", m)
	}
	for i := range body {
		broken := bytes.Clone(body)
		broken[i] ^= 1
		if m, err := one.open(broken); err == nil {
			t.Fatalf("with byte %d changed it is %+v", i, m)
		}
		if _, err := one.open(body[:i]); err == nil {
			t.Fatalf("%d bytes of it were read", i)
		}
	}
	for _, name := range []string{"", "01a200d4-96b0-7f57-9c57-0773e33efb1e", "!", strings.Repeat("A", 43)} {
		if body, err := m.seal(name); err == nil {
			t.Errorf("sealed for %q: %x", name, body)
		}
	}
	if _, err := (&memo{Send: &memoSend{Request: make([]byte, maxMail)}}).seal(one.name); err != errTooMuch {
		t.Errorf("too much was sealed: %v", err)
	}
}

// Releases read each other's messages: they ignore what they do not know, and report what they
// cannot do.
func TestMailOfOtherReleases(t *testing.T) {
	m := &memo{}
	if err := json.Unmarshal([]byte(`{"id": "1", "from": "x", "send": {"names": ["bTox"], "new": 1}, "newer": {"a": [2]}}`), m); err != nil || m.Send == nil {
		t.Errorf("read %+v, %v", m, err)
	}
	synctest.Test(t, func(t *testing.T) {
		here, _ := pair(t, parrot)
		for _, m := range []*memo{{ID: "1"}, {ID: "2", Send: &memoSend{}}, {ID: "3", Send: &memoSend{Request: []byte("{}")}}} {
			if a, _ := here.serve(t.Context(), m); a.Error == nil {
				t.Errorf("answered %+v", a)
			}
		}
	})
	for code := a2a.CodeInternal; code <= a2a.CodeLoop; code++ {
		e := &a2a.Error{Code: code, Message: "m", Meta: map[string]string{"a": "b"}, RetryAfter: 7, Cause: context.Canceled}
		doc, err := json.Marshal(errorMemo(e))
		if err != nil || bytes.Contains(doc, []byte("canceled")) {
			t.Errorf("%s, %v", doc, err)
		}
		back := &memoError{}
		if err := json.Unmarshal(doc, back); err != nil {
			t.Error(err)
		}
		got, ok := back.err().(*a2a.Error)
		if code == a2a.CodeInternal {
			if ok {
				t.Errorf("an internal error came back as %v", got)
			}
			continue
		}
		if !ok || got.Code != code || got.Message != "m" || got.Meta["a"] != "b" || got.RetryAfter != 7 {
			t.Errorf("%v came back as %+v", code, got)
		}
	}
}

// The process that takes the call authenticates it; what that process learned the
// other one knows, too.
func TestCallersArePassedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &opened{Store: store.NewMemory()}
		defer st.Close()
		o := shared(t)
		o.Push = &receivers{}
		here := newWorldWith(t, st, waiting, pushCard(), o)
		there := newWorldWith(t, st, waiting, pushCard(), o)
		ada := a2a.Caller{Subject: "ada", Tenant: "t", Extensions: []string{"ext:a"}, Hops: 3, Trace: "00-a-b-01"}
		ctx := a2a.WithCaller(t.Context(), ada)
		resp, err := here.SendMessage(ctx, sendNow("x"))
		if err != nil {
			t.Fatal(err)
		}
		key := store.Key{Tenant: "t", Owner: "ada", ID: resp.Task.ID}
		req := reply(resp.Task, "more")
		req.Configuration = &a2a.SendMessageConfiguration{
			ReturnImmediately:   true,
			AcceptedOutputModes: []string{"a/b"},
			TaskPushNotificationConfig: &a2a.TaskPushNotificationConfig{
				ID: "p", URL: "https://example.com/", Token: "hush",
				Authentication: &a2a.AuthenticationInfo{Scheme: "Bearer", Credentials: "hush hush"},
			},
		}
		if _, err := there.SendMessage(ctx, req); err != nil {
			t.Fatal(err)
		}
		task, last, err := here.topics.Load(t.Context(), key)
		if err != nil || len(task.History) != 2 {
			t.Fatal(err)
		}
		entries := allEntries(t, here.Engine, key, 0, last)
		got := entries[len(entries)-1].Received
		if got == nil || got.Hops != 3 || got.Trace != ada.Trace || len(got.Extensions) != 1 || len(got.AcceptedOutputModes) != 1 {
			t.Errorf("received with %+v", got)
		}
		push, err := there.GetTaskPushNotificationConfig(ctx, &a2a.GetTaskPushNotificationConfigRequest{TaskID: key.ID, ID: "p"})
		if err != nil || push.Token != "hush" {
			t.Errorf("the webhook is %+v, %v", push, err)
		}
		st.wantNothingOf(t, key, "hush")

		// Others neither write to it nor cancel it, and learn nothing of it.
		eve := a2a.WithCaller(t.Context(), a2a.Caller{Subject: "eve", Tenant: "t"})
		_, err = there.SendMessage(eve, reply(resp.Task, "me, too"))
		wantError(t, err, a2a.ErrTaskNotFound)
		_, err = there.CancelTask(eve, &a2a.CancelTaskRequest{ID: key.ID})
		wantError(t, err, a2a.ErrTaskNotFound)
		// But a caller that may cancel all tasks can.
		root := a2a.WithCaller(t.Context(), a2a.Caller{Subject: "root", Tenant: "t", Scopes: []string{a2a.ScopeTasksCancelTenant}})
		canceled, err := there.CancelTask(root, &a2a.CancelTaskRequest{ID: key.ID, Metadata: a2a.JSON(`{"why":"so"}`)})
		if err != nil {
			t.Fatal(err)
		}
		wantState(t, canceled, a2a.TaskStateCanceled)
		entries = allEntries(t, here.Engine, key, last, last+1)
		if entries[0].Cancel == nil || entries[0].Cancel.Subject != "root" || string(entries[0].Cancel.Metadata) != `{"why":"so"}` {
			t.Errorf("the log says %+v", entries)
		}
		here.stop()
		there.stop()
	})
}

// allEntries reads a part of a log.
func allEntries(t *testing.T, e *Engine, key store.Key, after, last int64) (all []*a2a.Entry) {
	t.Helper()
	for en, err := range e.read.Entries(t.Context(), key, last) {
		if err != nil {
			t.Fatal(err)
		}
		if en.Seq > after {
			all = append(all, en)
		}
	}
	return all
}
