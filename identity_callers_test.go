package parley_test

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/auth"
)

// people is a method of tests: it knows callers by a word.
type people struct {
	mu    sync.Mutex // protects the field below
	known map[string]a2a.Caller
}

// add makes a caller known and returns what it says.
func (p *people) add(c a2a.Caller) map[string]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	word := rand.Text()
	p.known[word] = c
	return map[string]string{"Authorization": "Bearer " + word}
}

func (*people) Scheme() (string, *a2a.SecurityScheme) {
	return "word", &a2a.SecurityScheme{HTTPAuth: &a2a.HTTPAuthSecurityScheme{Scheme: "Bearer"}}
}

func (p *people) Authenticate(r *http.Request) (*a2a.Caller, error) {
	word, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return nil, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if c, ok := p.known[word]; ok {
		return &c, nil
	}
	return nil, fmt.Errorf("%w: nobody has this word", auth.ErrCredentials)
}

func (*people) Challenge() string { return `Bearer realm="a2a"` }
