package contexts

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSignIns(t *testing.T) {
	d := Dir(filepath.Join(t.TempDir(), "parley", "contexts")).SignIns()
	if s, err := d.Load("https://a.test", ""); s != nil || err != nil {
		t.Fatalf("%v, %v", s, err)
	}
	for _, s := range []*SignIn{
		{Agent: "https://a.test", Session: json.RawMessage(`{"n":1}`)},
		{Agent: "https://a.test", Context: "prod", Session: json.RawMessage(`{"n":2}`)},
		{Agent: "https://a.test", Context: "prod", Session: json.RawMessage(`{"n":3}`)},
	} {
		if err := d.Save(s); err != nil {
			t.Fatal(err)
		}
	}
	one, err := d.Load("https://a.test", "prod")
	if err != nil || !strings.Contains(string(one.Session), "3") {
		t.Fatalf("%+v, %v", one, err)
	}
	if st, err := os.Stat(d.file("https://a.test", "prod")); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	if err := os.WriteFile(filepath.Join(string(d), "broken.json"), []byte(`{"session":"s3cret"`), 0o600); err != nil {
		t.Fatal(err)
	}
	list, failed, err := d.List()
	if len(list) != 2 || len(failed) != 1 || err != nil || strings.Contains(failed[0].Error(), "s3cret") {
		t.Errorf("%d, %v, %v", len(list), failed, err)
	}
	unlock, err := d.Lock(t.Context(), one)
	if err != nil {
		t.Fatal(err)
	}
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	if _, err := d.Lock(ctx, one); !errors.Is(err, stop) {
		t.Errorf("locked twice: %v", err)
	}
	if err := d.Remove(one); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Lock(ctx, one); !errors.Is(err, stop) {
		t.Errorf("locked twice, since it was removed in between: %v", err)
	}
	if err := d.Save(one); err != nil {
		t.Fatal(err)
	}
	unlock()
	again, err := d.Lock(t.Context(), one)
	if err != nil {
		t.Fatal(err)
	}
	again()
	if err := os.Chmod(d.file("https://a.test", "prod"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Load("https://a.test", "prod"); err == nil || !strings.Contains(err.Error(), "expected 0600") {
		t.Errorf("others may read it: %v", err)
	}
	if err := d.Remove(one); err != nil {
		t.Fatal(err)
	}
	if s, err := d.Load("https://a.test", "prod"); s != nil || err != nil {
		t.Errorf("%v, %v", s, err)
	}
}
