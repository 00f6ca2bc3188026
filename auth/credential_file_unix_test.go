//go:build unix

package auth

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A pipe without a writer blocks neither the start nor a request: it is not opened.
func TestCredentialFilesAreNoPipes(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := NewBasic(pipe, nil); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
		t.Errorf("the file of users: %v", err)
	}
	m, err := NewJWT("https://issuer.example", []string{"a"}, pipe, nil)
	if err == nil {
		err = m.keys.first(t.Context())
	}
	if err == nil || !strings.Contains(err.Error(), "it is not a file") {
		t.Errorf("the set of keys: %v", err)
	}
}
