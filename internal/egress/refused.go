package egress

import "errors"

// Refused says why the policy forbids an address.
type Refused struct {
	// Reason is for whoever named the address: what is wrong with it, as the
	// rest of a sentence that begins with "the URL" or "the host". It never
	// tells the addresses of a name.
	Reason string
}

func (e *Refused) Error() string { return "address refused: " + e.Reason }

func refuse(reason string) error { return &Refused{reason} }

// ErrTooLarge is the error of reading a body past Limits.Body.
var ErrTooLarge = errors.New("the answer is larger than allowed")
