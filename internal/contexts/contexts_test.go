package contexts

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestContexts(t *testing.T) {
	d := Dir(filepath.Join(t.TempDir(), "parley", "contexts"))
	if name, err := d.Current(); name != "" || err != nil {
		t.Fatalf("%q, %v", name, err)
	}
	prod := Context{"agent-card": "https://agents.example.org", "bearer": "s3cret"}
	for name, c := range map[string]Context{"prod": prod, "dev": {"agent-card": "127.0.0.1:8080"}} {
		if err := d.Save(name, c); err != nil {
			t.Fatal(err)
		}
	}
	if st, err := os.Stat(d.file("prod")); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	if got, err := d.Load("prod"); err != nil || !maps.Equal(got, prod) {
		t.Errorf("%v, %v", got, err)
	}
	if list, err := d.Names(); err != nil || !slices.Equal(list, []string{"dev", "prod"}) {
		t.Errorf("%v, %v", list, err)
	}
	if err := d.Use("prod"); err != nil {
		t.Fatal(err)
	}
	if name, err := d.Current(); name != "prod" || err != nil {
		t.Errorf("%q, %v", name, err)
	}
	if err := d.Remove("prod"); err != nil {
		t.Fatal(err)
	}
	if name, err := d.Current(); name != "" || err != nil {
		t.Errorf("a context that was removed is in use: %q, %v", name, err)
	}
	if left, _ := filepath.Glob(filepath.Join(string(d), ".new-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Every refusal names what is wrong, and never shows a credential.
func TestRefusals(t *testing.T) {
	d := Dir(t.TempDir())
	if err := d.Save("prod", Context{"bearer": "s3cret"}); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(d.file("prod"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(d.file("broken"), []byte(`{"bearer": "s3cret", "x": 1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	load := func(name string) error { _, err := d.Load(name); return err }
	for want, err := range map[string]error{
		"mode 0640, and other users may read it; expected 0600": load("prod"),
		"not a JSON object of strings":                          load("broken"),
		"there is no context none":                              d.Use("none"),
		"there is no context gone":                              d.Remove("gone"),
		"there is a context prod already":                       d.Save("prod", nil),
		"context name ../x: expected":                           d.Save("../x", nil),
		"this user has none":                                    Dir("").Save("x", nil),
	} {
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Without a home there are no contexts, and no file of the working directory is one.
func TestNoHome(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"package.json", current} {
		if err := os.WriteFile(name, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d := Dir("")
	if err := d.Remove("package"); err == nil || !strings.Contains(err.Error(), "there is no context package") {
		t.Errorf("removed: %v", err)
	}
	if err := d.Use(""); err != nil {
		t.Error(err)
	}
	if err := d.Save("package", nil); err == nil || !strings.Contains(err.Error(), "this user has none") {
		t.Errorf("saved: %v", err)
	}
	if list, err := d.Names(); list != nil || err != nil {
		t.Errorf("contexts: %v, %v", list, err)
	}
	if now, err := d.Current(); now != "" || err != nil {
		t.Errorf("in use: %q, %v", now, err)
	}
	if _, err := d.Catalogs().Load("package"); err == nil || !strings.Contains(err.Error(), "there is no catalog package") {
		t.Errorf("loaded: %v", err)
	}
	if s, err := d.SignIns().Load("a", ""); s != nil || err != nil {
		t.Errorf("signed in: %v, %v", s, err)
	}
	if list, failed, err := d.SignIns().List(); list != nil || failed != nil || err != nil {
		t.Errorf("signed in: %v, %v, %v", list, failed, err)
	}
	for _, name := range []string{"package.json", current} {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"agent-card":"https://a.example","bearer":"x"}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if c, err := parse(text); (c == nil) == (err == nil) {
			t.Errorf("%v, %v", c, err)
		}
	})
}

// A large catalog is read again, and one that is not read can be removed.
func TestLargeCatalog(t *testing.T) {
	d := Dir(filepath.Join(t.TempDir(), "contexts")).Catalogs()
	if err := d.Save("a.example", make([]byte, 3<<20)); err != nil {
		t.Fatal(err)
	}
	if doc, err := d.Load("a.example"); err != nil || len(doc) != 3<<20 {
		t.Errorf("%d bytes, %v", len(doc), err)
	}
	if err := d.Save("a.example", make([]byte, maxCatalog+1)); err == nil {
		t.Error("a catalog is kept that nobody can read again")
	}
	if err := os.Truncate(Dir(d).file("a.example"), maxCatalog+1); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Load("a.example"); err == nil {
		t.Error("it is read, whatever its size")
	}
	if err := d.Remove("a.example"); err != nil {
		t.Error(err)
	}
	if err := d.Remove("a.example"); err == nil {
		t.Error("it was removed twice")
	}
}
