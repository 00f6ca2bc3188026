package a2a

import (
	"cmp"
	"strings"
)

// Version names the version of the protocol in which a task or a webhook was
// made, such as "0.3" (which stands for 0.2, too). "" is 1.0, which is the model
// of this package.
//
// Records keep the name, so that whoever reads them knows what was agreed with
// the client. What that was, the methods tell: nothing but them, and the codecs
// of internal/dialect, compares names.
type Version string

// Reopens reports whether a finished task takes another message, and then goes
// on with its id, history and artifacts: in 0.1.
func (v Version) Reopens() bool { return v == "0.1" }

// WholeTask reports whether a webhook is sent the Task whenever its state
// changes, rather than each event: before 1.0.
func (v Version) WholeTask() bool { return strings.HasPrefix(string(v), "0.") }

// String returns the name, of 1.0, too.
func (v Version) String() string { return cmp.Or(string(v), "1.0") }
