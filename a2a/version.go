package a2a

import (
	"cmp"
	"slices"
	"strings"
)

// Version names the version of the protocol in which a task or a webhook was
// made, such as "0.3" (which stands for 0.2, too). "" is 1.0, which is the model
// of this package.
//
// Records keep the name, so that their reader knows which rules the client expects. The
// methods say which rules these are: only they, and the codecs of internal/dialect,
// compare names.
type Version string

// Reopens reports whether a finished task accepts another message, and then continues
// with its id, history and artifacts, as in 0.1.
func (v Version) Reopens() bool { return v == "0.1" }

// WholeTask reports whether a webhook gets the Task whenever its state changes, rather
// than each event, as before 1.0.
func (v Version) WholeTask() bool { return strings.HasPrefix(string(v), "0.") }

// versions are all versions of the protocol.
var versions = []string{"0.1", "0.2", "0.3", "1.0", "1.1"}

// Known reports whether there is such a version of the protocol.
func (v Version) Known() bool { return slices.Contains(versions, v.String()) }

// String returns the name; of "" it is 1.0.
func (v Version) String() string { return cmp.Or(string(v), "1.0") }
