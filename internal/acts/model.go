package acts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Level says how binding a requirement is.
type Level string

const (
	Must   Level = "must"
	Should Level = "should"
	May    Level = "may"
)

// Levels are all levels, the strictest first.
var Levels = []Level{Must, Should, May}

// Corpus is what to test: documents that belong together.
type Corpus struct {
	Documents []*Document
	Notes     []Note // oddities of the files that do not keep them from running
	own       bool   // it is this package's corpus
	repaired  bool   // see Repair
}

// Lines describe the tests, one per line.
func (c *Corpus) Lines() (lines []string) {
	for _, d := range c.Documents {
		for _, s := range d.Suites {
			for _, t := range s.Tests {
				on := cmp.Or(strings.Join(t.Bindings, ", "), "all bindings")
				lines = append(lines, fmt.Sprintf("%-14s %-10s %-6s %-9s %s (%s; %s)", t.ID, s.ID, t.Level, strings.Join(t.Versions, ", "), t.Name, t.Ref, on))
			}
		}
	}
	return lines
}

// Note is an oddity of a file.
type Note struct {
	File    string
	Line    int
	Message string
}

// Document is one file.
type Document struct {
	Variables map[string]string
	Fixtures  map[string][]*Step // by name; not in ACTS
	Suites    []*Suite
}

// Suite is a named group of tests.
type Suite struct {
	ID, Name string
	Tests    []*Test
}

// Test is one scenario that tests one requirement.
type Test struct {
	ID, Name           string
	Ref                string // the clause
	Level              Level
	Bindings           []string // in the words of ACTS; empty: all
	Versions           []string // of the protocol; the document's, if the test names none
	Capabilities       map[string]any
	Extensions, Skills []string
	Behaviors          []string // prefixes that the agent must know
	Needs              []string // what the runner must be able to do
	Given              []string // fixtures that run first; not in ACTS
	Observe            []string // checks of watch.go in place of steps; not in ACTS
	Steps              []*Step
	Assertions         []*Assertion

	File string
	Line int
}

// Step is one action of a test, with its expectations. Exactly one of Operation, Raw, Client,
// Read, Close, Deliveries and Assertion (alone) is set.
type Step struct {
	ID        string
	Operation string
	Params    map[string]any
	Raw       *RawRequest
	Client    bool // it is for clients, which this package does not test

	Headers map[string]any // further headers of an operation; null omits one; not in ACTS
	Auth    string         // credentials: "" as given, none, wrong; not in ACTS
	Open    int            // read so many events, and leave the stream open; not in ACTS
	Read    string         // the id of a step whose stream is open; not in ACTS
	Close   string         // the id of such a step, whose connection is cut; not in ACTS
	Wait    *Deliveries    // what must come to the webhook; not in ACTS
	Only    []string       // bindings for which the step is taken; not in ACTS

	Expect     map[string]any // status, headers, body
	Error      map[string]any // error_type, message, details
	Stream     map[string]any
	Capture    []Capture
	Assertions []*Assertion
	Repeat     *Repeat
	Delay      time.Duration
}

// RawRequest is a request that is not made from an operation.
type RawRequest struct {
	Method, Path string
	Headers      map[string]any
	Body         any
	BodyRaw      *string
}

// Capture names a part of an answer.
type Capture struct{ Name, Path string }

// Repeat repeats a step until a condition holds.
type Repeat struct {
	Until    string
	Attempts int
	Delay    time.Duration
	Backoff  string
}

// Deliveries says what must come to a webhook.
type Deliveries struct {
	Hook string // its name in {{hook.NAME}}
	Min  int    // deliveries to wait for
	End  bool   // wait for one with a terminal state
}

// Assertion is a check across answers.
type Assertion struct {
	Source, Path   string
	Match          any
	hasMatch       bool
	Any, All, None *CollectionMatch
}

// CollectionMatch says what elements of an answer must be.
type CollectionMatch struct {
	Path  string
	Match any
}

// ACTS's names for the bindings.
const (
	JSONRPC = "jsonrpc"
	REST    = "rest"
	GRPC    = "grpc"
)

// operations are the abstract operations of ACTS §4.1; operationAliases are other names that
// corpora use for them.
var operations = []string{
	"send_message", "send_streaming_message", "get_task", "list_tasks", "cancel_task", "subscribe_to_task", "get_agent_card",
	"get_extended_agent_card", "create_push_config", "get_push_config", "list_push_configs", "delete_push_config",
}

var operationAliases = map[string]string{
	"set_push_notification_config":    "create_push_config",
	"create_push_notification_config": "create_push_config",
	"get_push_notification_config":    "get_push_config",
	"list_push_notification_configs":  "list_push_configs",
	"delete_push_notification_config": "delete_push_config",
}

func (t *Test) applies(binding string) bool {
	return len(t.Bindings) == 0 || slices.Contains(t.Bindings, binding)
}
