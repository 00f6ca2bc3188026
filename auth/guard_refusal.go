package auth

import "fmt"

// refusal is why credentials are not good. Its text is written here, has nothing
// of the credentials in it, and is the same for whoever may not know the
// difference: the caller gets it.
type refusal struct {
	text string
	once bool // they were good once, so that nobody is guessing
}

func (r *refusal) Error() string { return ErrCredentials.Error() + ": " + r.text }

func (r *refusal) Is(target error) bool { return target == ErrCredentials }

// refuse returns an error about credentials that are malformed or made up.
func refuse(format string, args ...any) error {
	return &refusal{text: fmt.Sprintf(format, args...)}
}

// outdated returns an error about credentials that were good once.
func outdated(text string) error { return &refusal{text: text, once: true} }
