package contexts

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/failure"
)

// SignIn is a user's sign-in at an agent.
type SignIn struct {
	Agent   string          `json:"agent"`             // as the user named it
	Context string          `json:"context,omitempty"` // "" if no context named it
	Session json.RawMessage `json:"session"`
}

// SignIns is the directory of the files; "" if there is none.
type SignIns string

// SignIns returns the directory of sign-ins, next to that of contexts.
func (d Dir) SignIns() SignIns { return SignIns(d.beside("signed-in")) }

// file returns a name that does not reveal the agent, and that is valid in any file system.
func (d SignIns) file(agent, context string) string {
	sum := sha256.Sum256([]byte(context + "\x00" + agent))
	return Dir(d).file(hex.EncodeToString(sum[:16]))
}

// Load returns the sign-in at an agent, with the context that names the agent, or "" if none
// does; nil if there is no sign-in. It refuses a file that other users may read.
func (d SignIns) Load(agent, context string) (*SignIn, error) {
	s, err := d.read(d.file(agent, context))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && (s.Agent != agent || s.Context != context) {
		return nil, failure.Usagef("the sign-in at %s was not read: %s is of another agent", agent, d.file(agent, context)).WithHint("parley auth login -a %s", agent)
	}
	return s, err
}

func (d SignIns) read(path string) (*SignIn, error) {
	text, err := readPrivate("what you signed in with", path, maxFile)
	if err != nil {
		return nil, err
	}
	s := new(SignIn)
	if json.Unmarshal(text, s) != nil || s.Agent == "" || len(s.Session) == 0 {
		return nil, failure.Usagef("what you signed in with was not read: %s is not what parley auth login writes", path).WithHint("delete it and sign in again: parley auth login -a AGENT")
	}
	return s, nil
}

// Save stores a sign-in, and replaces an earlier one.
func (d SignIns) Save(s *SignIn) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return failure.New(failure.CodeInternal, err.Error(), err)
	}
	return Dir(d).write(d.file(s.Agent, s.Context), append(text, '\n'))
}

// Remove deletes a sign-in. It keeps the lock file: another process may be waiting for it, and
// would then hold the lock at the same time as one that made the file anew.
func (d SignIns) Remove(s *SignIn) error {
	return remove(d.file(s.Agent, s.Context), nil)
}

// List returns all sign-ins, by agent and context. One that cannot be read is an error in
// failed, and does not affect the others.
func (d SignIns) List() (list []*SignIn, failed []error, err error) {
	files, err := os.ReadDir(string(d))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, unusable(string(d), err)
	}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), extension) {
			continue
		}
		if s, err := d.read(filepath.Join(string(d), f.Name())); err != nil {
			failed = append(failed, err)
		} else {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b *SignIn) int {
		return bytes.Compare([]byte(a.Agent+"\x00"+a.Context), []byte(b.Agent+"\x00"+b.Context))
	})
	return list, failed, nil
}

const lockExtension = ".lock"

// Lock keeps other processes from renewing a sign-in at the same time, because a server that
// rotates refresh tokens accepts each one only once. It waits until ctx ends.
func (d SignIns) Lock(ctx context.Context, s *SignIn) (unlock func(), err error) {
	if d == "" {
		return nil, errors.New("there is no directory of sign-ins")
	}
	path := d.file(s.Agent, s.Context) + lockExtension
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, unusable(path, err)
	}
	for {
		err := tryLock(f)
		if err == nil {
			return func() { _ = f.Close() }, nil // which unlocks
		}
		if !errors.Is(err, errLocked) {
			return nil, errors.Join(unusable(path, err), f.Close())
		}
		select {
		case <-time.After(50 * time.Millisecond): // the other process gives no sign when it is done
		case <-ctx.Done():
			_ = f.Close()
			return nil, context.Cause(ctx)
		}
	}
}

var errLocked = errors.New("another process has the lock")
