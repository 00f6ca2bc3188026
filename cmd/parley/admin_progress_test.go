package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A database of an older version is migrated with a word about it, once, on standard
// error, by a server and by the commands that open it.
func TestMigrationsAreTold(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "store", "sqlite", "testdata", "v1.db"))
	if err != nil {
		t.Fatal(err)
	}
	for name, run := range map[string]func(k tools) (out, errs string){
		"serve": func(k tools) (out, errs string) {
			p := k.serve(t, "")
			return p.out.String(), p.err.String()
		},
		"gc": func(k tools) (out, errs string) {
			out, errs, _ = k.run(t, "admin", "gc", "--data", "data", "--older-than", "1000000h")
			return out, errs
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := newTools(t)
			dir := filepath.Join(k.dir, "data")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "parley.db"), text, 0o600); err != nil {
				t.Fatal(err)
			}
			out, errs := run(k)
			if strings.Contains(out, "migrat") || !strings.Contains(errs, "Database: it was made by an older version: migrating it in ") || !strings.Contains(errs, "\nDatabase: migrated\n") {
				t.Errorf("[out]\n%s[err]\n%s", out, errs)
			}
			if _, errs, code := k.run(t, "admin", "gc", "--data", "data", "--older-than", "1000000h", "--dry-run"); code != 0 || strings.Contains(errs, "migrat") {
				t.Errorf("once more: %d, %s", code, errs)
			}
		})
	}
}
