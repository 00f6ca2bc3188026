package main

import (
	"encoding/json"
	"io"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/parley-a2a/parley/internal/contexts"
	"github.com/parley-a2a/parley/internal/plain"
)

// A process that renews the tokens while their user signs out does not bring them back.
func TestLogoutDuringARenewal(t *testing.T) {
	dir := contexts.Dir(filepath.Join(t.TempDir(), "contexts"))
	kept := &contexts.SignIn{Agent: "https://agent.example", Session: json.RawMessage(`{"accessToken":"old"}`)}
	if err := dir.SignIns().Save(kept); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		unlock, err := dir.SignIns().Lock(t.Context(), kept) // by the process that renews
		if err != nil {
			t.Fatal(err)
		}
		a := &app{stderr: plain.NewWriter(io.Discard), around: surroundings{contexts: dir}}
		left := make(chan error, 1)
		go func() { left <- a.logout(t.Context(), kept) }()
		synctest.Wait()
		if err := dir.SignIns().Save(&contexts.SignIn{Agent: kept.Agent, Session: json.RawMessage(`{"accessToken":"new"}`)}); err != nil {
			t.Fatal(err)
		}
		unlock()
		if err := <-left; err != nil {
			t.Fatal(err)
		}
	})
	if s, err := dir.SignIns().Load(kept.Agent, ""); s != nil || err != nil {
		t.Errorf("after the logout there is %+v, %v", s, err)
	}
}

// A process that renews the tokens of an earlier sign-in does not overwrite a new one.
func TestLoginDuringARenewal(t *testing.T) {
	dir := contexts.Dir(filepath.Join(t.TempDir(), "contexts"))
	old := &contexts.SignIn{Agent: "https://agent.example", Session: json.RawMessage(`{"accessToken":"old"}`)}
	a := &app{stderr: plain.NewWriter(io.Discard), around: surroundings{contexts: dir}}
	if err := a.keepSignIn(t.Context(), old); err != nil { // the first one has no directory yet
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		unlock, err := dir.SignIns().Lock(t.Context(), old) // by the process that renews
		if err != nil {
			t.Fatal(err)
		}
		kept := make(chan error, 1)
		go func() {
			kept <- a.keepSignIn(t.Context(), &contexts.SignIn{Agent: old.Agent, Session: json.RawMessage(`{"accessToken":"new"}`)})
		}()
		synctest.Wait()
		if err := dir.SignIns().Save(&contexts.SignIn{Agent: old.Agent, Session: json.RawMessage(`{"accessToken":"renewed"}`)}); err != nil {
			t.Fatal(err)
		}
		unlock()
		if err := <-kept; err != nil {
			t.Fatal(err)
		}
	})
	s, err := dir.SignIns().Load(old.Agent, "")
	if err != nil || s == nil {
		t.Fatal(s, err)
	}
	var is struct{ AccessToken string }
	if err := json.Unmarshal(s.Session, &is); err != nil || is.AccessToken != "new" {
		t.Errorf("after the login there is %s, %v", s.Session, err)
	}
}
