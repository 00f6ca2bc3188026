package admin

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// Local tells the users of this machine who may read a server's data how to reach its API
// without a key. The server writes it to a file at each start, with a token that is valid
// until the server ends.
type Local struct {
	URL   string     `json:"url"`
	Host  string     `json:"host,omitempty"` // Host header for requests, if the server does not answer for the host of URL
	Token a2a.Secret `json:"-"`
	PID   int        `json:"pid"`
	Audit string     `json:"audit,omitempty"` // the value of --audit-log with which a command records in the same log; "" if there is none
	// Console opens the web console of this start; "" if there is none.
	Console a2a.Secret `json:"-"`
}

// localFile is the form in which a Local is written.
type localFile struct {
	Local
	Token   string `json:"token"`
	Console string `json:"console,omitempty"`
}

// NewToken returns a token for a Local.
func NewToken() a2a.Secret { return a2a.Secret("parley-admin-" + rand.Text() + rand.Text()) }

// Write writes the file, with mode 0600. It replaces a file left by another server that ended
// without removing it. remove removes the file if it is still this one.
func (l *Local) Write(name string) (remove func(), err error) {
	doc, err := json.Marshal(localFile{*l, l.Token.Reveal(), l.Console.Reveal()})
	if err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*.part") // with mode 0600
	if err != nil {
		return nil, err
	}
	_, err = f.Write(doc)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return nil, err
	}
	return func() {
		if now, err := os.ReadFile(name); err == nil && string(now) == string(doc) {
			_ = os.Remove(name)
		}
	}, nil
}

// ErrNoServer means that no server answers at the address in a file, or that there is no
// file.
var ErrNoServer = errors.New("no server runs with this database")

// ReadLocal returns the Local in a file. The server that wrote it may have ended since.
func ReadLocal(name string) (*Local, error) {
	doc, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoServer
	}
	if err != nil {
		return nil, err
	}
	var f localFile
	if err := json.Unmarshal(doc, &f); err != nil || f.URL == "" {
		return nil, fmt.Errorf("%s is damaged: remove it, and start the server again", name)
	}
	f.Local.Token, f.Local.Console = a2a.Secret(f.Token), a2a.Secret(f.Console)
	return &f.Local, nil
}

// Find returns a client of the server that wrote a file and still runs. If there is none, the
// error is ErrNoServer. This includes a server that ended without removing its file: another
// program may have its address by now, and refuses its token.
func Find(ctx context.Context, name string) (*Client, *Local, error) {
	l, err := ReadLocal(name)
	if err != nil {
		return nil, nil, err
	}
	api := Dial(l)
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	switch _, err := api.Readiness(ctx); {
	case err == nil:
		return api, l, nil
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return nil, nil, fmt.Errorf("the server at %s (pid %d) does not answer", l.URL, l.PID)
	case errors.Is(err, &Error{Status: http.StatusTooManyRequests}):
		return nil, nil, err
	default:
		return nil, nil, ErrNoServer
	}
}

// client returns an HTTP client for the address of l. It does not verify the certificate,
// which is for other names: the address is this machine's own, and only the server that wrote
// the file accepts the token.
func (l *Local) client() *http.Client {
	return &http.Client{
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
