package torture

import "fmt"

// Claim is one of the promises that a server is held to.
type Claim int

// The claims, in the order of the report.
const (
	Acknowledged Claim = iota // a task, a message or a cancel that was acknowledged is there
	Seen                      // what was seen is in the log, and the past never comes after the present
	Streams                   // no gap, no repeat and no reorder, however often a stream was resumed
	Ends                      // a finished task has one terminal state, and nothing is behind it
	Left                      // no task is left at work, and none waits without a question
	Steps                     // a step whose result was recorded does not run again
	Repeats                   // a repeated message is done once, and is answered alike
	Logs                      // a log agrees with itself, with its task and with what was sent
	Service                   // results are those that were asked for, and calls are answered
	Counters                  // what /metrics counted is in the log, and all of it where the server had come to rest
	claims
)

var claimNames = [claims]string{
	"acknowledged, gone", "seen, denied", "stream broken", "not one end", "left at work",
	"step run again", "repeat done twice", "log at odds", "wrong answer", "counters at odds",
}

func (c Claim) String() string { return claimNames[c] }

// fault is a promise that was broken, and how.
type fault struct {
	claim Claim
	text  string
}

func faultf(c Claim, format string, args ...any) fault { return fault{c, fmt.Sprintf(format, args...)} }

func (f fault) String() string { return f.claim.String() + ": " + f.text }
