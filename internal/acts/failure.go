package acts

import (
	"errors"
	"fmt"
	"strings"
)

// A step returns nil, a *Failure, a *errSkip, or an error of the runner or of the corpus.

// Failure says why a test failed.
type Failure struct {
	Step      string      `json:"step,omitempty"`
	Message   string      `json:"message"`
	Exchanges []*Exchange `json:"exchanges,omitempty"` // the last ones
	Mismatch  `json:"mismatch,omitzero"`
}

func (f *Failure) Error() string { return f.Message }

// fail returns the failure of a step, with its last exchanges.
func (p *player) fail(step string, m *Mismatch) *Failure {
	f := &Failure{Step: step, Message: m.String(), Mismatch: *m}
	for _, a := range p.order[max(0, len(p.order)-2):] {
		f.Exchanges = append(f.Exchanges, a.shown())
	}
	return f
}

// AsksForCredentials is the reason to skip a test if the agent refused its request for lack of
// credentials.
const AsksForCredentials = "the agent asks for credentials: give them with --bearer, --api-key or --basic"

// errSkip says that a test does not apply.
type errSkip struct{ reason string }

func (e *errSkip) Error() string { return e.reason }

// cannot turns an unresolved reference into a skip, if the user must supply its value.
func (p *player) cannot(err error) error {
	if u, ok := errors.AsType[*unresolved](err); ok && !strings.Contains(u.name, ".") {
		return &errSkip{fmt.Sprintf("needs a value for %s: --var %s=VALUE", u.name, u.name)}
	}
	return err
}
