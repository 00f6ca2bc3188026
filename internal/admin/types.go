package admin

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// Query selects a page of a list. A list that has more than a page has a Next, which
// is After of the next page. Clients do not read it.
type Query struct {
	Limit int    // zero means 50; at most 500
	After string // "": from the start
}

// Limits of Query.Limit.
const (
	DefaultLimit = 50
	MaxLimit     = 500
)

// Readiness is whether the server takes work.
type Readiness struct {
	Ready   bool      `json:"ready"`
	Reason  string    `json:"reason,omitempty"` // why it is not, for people
	Version string    `json:"version"`
	Node    string    `json:"node"` // names this process in the store
	Started time.Time `json:"started"`
	Now     time.Time `json:"now"` // by the clock that all servers of the store share
}

// StateWord is the state of a task as people write it, such as input-required.
func StateWord(s a2a.TaskState) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(s.String(), "TASK_STATE_")), "_", "-")
}

// StateWords are the words of all states.
func StateWords() (words []string) {
	for _, s := range a2a.TaskStates() {
		words = append(words, StateWord(s))
	}
	return words
}

// ParseState is the state that a word or its name in the protocol stands for.
func ParseState(word string) (a2a.TaskState, error) {
	name := strings.ToUpper(strings.ReplaceAll(word, "-", "_"))
	state, ok := a2a.ParseTaskState("TASK_STATE_" + strings.TrimPrefix(name, "TASK_STATE_"))
	if ok && state.Valid() {
		return state, nil
	}
	return 0, errors.New("must be one of " + strings.Join(StateWords(), ", "))
}

// Agent is one agent of the server.
type Agent struct {
	Name        string `json:"name"`        // at /agents/{name}; "" for the only one, at /
	Path        string `json:"path"`        // "" is /
	Default     bool   `json:"default"`     // it is at / as well
	Kind        string `json:"kind"`        // exec, http, openai, proxy, mcp, demo or conformance
	Description string `json:"description"` // of its card
	Title       string `json:"title"`       // the name on its card
	What        string `json:"what"`        // what it is here, such as its command; without secrets
	State       string `json:"state"`       // AgentReady or AgentAway
	Reason      string `json:"reason,omitempty"`
	// Tasks counts those of all tenants by their state, without the finished ones.
	Tasks    map[string]int  `json:"tasks"`
	Findings []Finding       `json:"findings,omitempty"` // about its card
	Card     json.RawMessage `json:"card"`               // as it is published, unsigned and in v1.0
}

// States of an agent. One that is away is a program or service that does not answer.
const (
	AgentReady = "ready"
	AgentAway  = "away"
)

// Finding is a mistake, or what could be better, with what to do.
type Finding struct {
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
	YAML    string `json:"yaml,omitempty"` // to paste into parley.yaml
	Line    int    `json:"line,omitempty"` // of a draft
	Column  int    `json:"column,omitempty"`
}

// TaskKey is what names a task: ids that clients of version 0.1 chose are unique
// only within an owner.
type TaskKey struct {
	Agent  string `json:"agent"`  // "" is the one at /
	Tenant string `json:"tenant"` // of the caller
	Owner  string `json:"owner"`  // the caller's subject; "" is anonymous
	ID     string `json:"id"`
}

// Task is a task as lists show it.
type Task struct {
	TaskKey
	Name    string    `json:"name"` // the whole key in one word; API methods take it, and the id where that is enough
	Context string    `json:"contextId"`
	State   string    `json:"state"` // in words: working, input-required
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"` // when the state changed last
	Words   string    `json:"words"`   // the first of its first message
	Last    int64     `json:"last"`    // the position of the log's last entry
	Attempt int32     `json:"attempt"` // runs of the agent in the current turn
	Lost    int32     `json:"lost"`    // processes lost in it
	Node    string    `json:"node,omitempty"`
	Epoch   int64     `json:"epoch"` // counts the processes that had it
	Wait    *Wait     `json:"wait,omitempty"`
}

// Wait is what a task that is not finished waits for.
type Wait struct {
	For    string    `json:"for"`    // WaitAgent and so on
	Reason string    `json:"reason"` // for people
	Since  time.Time `json:"since,omitzero"`
	Node   string    `json:"node,omitempty"` // the process that has the task, if it is not this one
}

// What tasks wait for.
const (
	WaitAgent    = "agent"    // its function, program or service, which runs
	WaitCapacity = "capacity" // more tasks are at work than limits.capacity
	WaitRest     = "rest"     // the pause before a run is begun again after a failure
	WaitClient   = "client"   // an answer
	WaitNoAgent  = "no-agent" // there is no agent of its name
	WaitStore    = "store"    // the database, which does not take writes
	WaitProcess  = "process"  // some process that takes it over
	WaitOther    = "other"    // another process has it, which knows more
)

// TaskQuery selects tasks of all tenants, newest change first.
type TaskQuery struct {
	Query
	Agent   *string // nil: of all
	Tenant  *string // nil: of all
	Owner   *string // nil: of all
	Context string
	State   string    // in words; "": any
	AtWork  bool      // only those that a process works at, or that wait for one
	Since   time.Time // changed not before this
}

// Tasks is a page of them.
type Tasks struct {
	Tasks []Task `json:"tasks"`
	Total int    `json:"total"` // how many the query selects in all
	Next  string `json:"next,omitempty"`
}

// Run is what an agent did for one message: a turn of a task.
type Run struct {
	Turn     int64     `json:"turn"` // the position of its message
	Began    time.Time `json:"began"`
	Ended    time.Time `json:"ended,omitzero"` // zero: it goes on
	State    string    `json:"state"`          // that it came to
	Attempts int32     `json:"attempts"`       // of the current turn; zero where nobody knows any more
	Steps    []Step    `json:"steps"`
}

// Step is a recorded step of a run.
type Step struct {
	Seq  int64     `json:"seq"`
	Name string    `json:"name"`
	Nth  int64     `json:"nth,omitempty"` // of the steps of this name, from 1; zero: the next one
	Time time.Time `json:"time"`          // when it was over
	Size int       `json:"size"`          // of its result, in bytes
}

// LogEntry is one entry of a task's log.
type LogEntry struct {
	Seq  int64     `json:"seq"`
	Time time.Time `json:"time"`
	Kind string    `json:"kind"` // created, message, status, artifact, step or cancel
	// Body is as it is stored; a2a.DecodeEntry reads it. Large content is apart, and
	// referred to by its hash: see API.TaskAt.
	Body json.RawMessage `json:"body"`
}

// Log is a page of a task's log.
type Log struct {
	Entries []LogEntry `json:"entries"`
	Last    int64      `json:"last"` // the position of the log's last entry
	Next    int64      `json:"next,omitempty"`
}

// Delivery is a webhook of a task, and how far it has come. Tokens, credentials and
// paths are its receiver's business.
type Delivery struct {
	Task    TaskKey   `json:"task"`
	Name    string    `json:"taskName"` // Task.Name
	ID      string    `json:"id"`       // of the configuration
	Host    string    `json:"host"`
	Created time.Time `json:"created"`
	State   string    `json:"state"` // DeliveryIdle and so on
	Live    bool      `json:"live"`
	Node    string    `json:"node,omitempty"` // the process that delivers
	Cursor  int64     `json:"cursor"`         // delivered up to this position of the log
	Last    int64     `json:"last"`
	Tries   int32     `json:"tries"`
	Since   time.Time `json:"since,omitzero"` // when the first of them failed
	Due     time.Time `json:"due,omitzero"`   // when the next one is
	Reason  string    `json:"reason,omitempty"`
}

// What a delivery does.
const (
	DeliveryIdle      = "idle"      // everything is delivered, more may come
	DeliveryPending   = "pending"   // something is to be delivered
	DeliveryRetrying  = "retrying"  // an attempt has failed, the next one is due
	DeliveryDisabled  = "disabled"  // the receiver wants no more
	DeliveryCompleted = "completed" // everything is delivered, and no more comes
)

// DeliveryQuery selects webhooks, or dead letters.
type DeliveryQuery struct {
	Query
	Task    string // the id of their task, or its Name
	ID      string // of the configuration
	Failing bool   // of webhooks: those that are retrying or disabled
}

// Deliveries is a page of them, in the order in which they were made.
type Deliveries struct {
	Deliveries []Delivery `json:"deliveries"`
	Next       string     `json:"next,omitempty"`
}

// DeadLetter is a delivery that was given up.
type DeadLetter struct {
	Task   TaskKey   `json:"task"`
	Name   string    `json:"taskName"`
	ID     string    `json:"id"`
	Seq    int64     `json:"seq"`
	Time   time.Time `json:"time"`
	Tries  int32     `json:"tries"`
	Reason string    `json:"reason"`
	Again  bool      `json:"again"` // it is about to be sent again
}

// DeadLetters is a page of them.
type DeadLetters struct {
	Letters []DeadLetter `json:"letters"`
	Next    string       `json:"next,omitempty"`
}

// Redelivery says what is to be sent again: of a task, of a configuration, or both;
// with All everything that was given up.
type Redelivery struct {
	Task string `json:"task,omitempty"`
	ID   string `json:"id,omitempty"`
	All  bool   `json:"all,omitempty"`
}

// Redelivered counts what came of a Redelivery.
type Redelivered struct {
	Letters  int `json:"letters"`  // dead letters
	Enabled  int `json:"enabled"`  // webhooks that were disabled
	Hastened int `json:"hastened"` // webhooks that waited for another try
}

// Collection says which old tasks go: those of some states that have not changed for
// long.
type Collection struct {
	OlderThan Duration `json:"olderThan"`
	States    []string `json:"states,omitempty"` // in words; none means all finished ones
	DryRun    bool     `json:"dryRun,omitempty"`
}

// Collected counts what came of a Collection.
type Collected struct {
	Tasks    int            `json:"tasks"`
	States   map[string]int `json:"states"`
	Receipts int            `json:"receipts"`
}

// Node is a process that shares the store.
type Node struct {
	Name  string    `json:"name"`
	This  bool      `json:"this"`           // it is the one that answers
	State string    `json:"state"`          // NodeAlive and so on
	Beat  time.Time `json:"beat,omitzero"`  // when it was heard last
	Tasks int       `json:"tasks,omitzero"` // in memory, of the one that answers: at work, or waiting for their client
}

// States of a node.
const (
	NodeAlive  = "alive"
	NodeSilent = "silent" // for so long that its tasks are taken over
	NodeLeft   = "left"   // in good order
)

// Store is where tasks are kept.
type Store struct {
	Kind    string `json:"kind"` // sqlite, postgres or memory
	Where   string `json:"where"`
	Shared  bool   `json:"shared"`            // other servers may have it, too
	Trouble string `json:"trouble,omitempty"` // why it does not take writes
	Commits int64  `json:"commits"`           // of this process
	Entries int64  `json:"entries"`           // in them
	Bytes   int64  `json:"bytes,omitzero"`    // of the database, where that is a file
	Free    int64  `json:"free,omitzero"`     // on its disk
}

// Setting is one setting in force.
type Setting struct {
	Name   string `json:"name"`
	Value  string `json:"value"`  // secrets are redacted
	Source string `json:"source"` // default, a flag, a variable, or a place in a file
}

// Key is an API key, without its token.
type Key struct {
	ID       string    `json:"id"`
	Name     string    `json:"name,omitempty"`
	Subject  string    `json:"subject"`
	Tenant   string    `json:"tenant,omitempty"`
	Scopes   []string  `json:"scopes"`
	State    string    `json:"state"` // active, expired or revoked
	Created  time.Time `json:"created"`
	Expires  time.Time `json:"expires,omitzero"`
	Revoked  time.Time `json:"revoked,omitzero"`
	LastUsed time.Time `json:"lastUsed,omitzero"`
	// Token is there in the answer that made the key, and cannot be had again.
	Token string `json:"token,omitempty"`
}

// NewKey says what a key is for.
type NewKey struct {
	Name    string    `json:"name,omitempty"`
	Subject string    `json:"subject,omitempty"` // "": one of its own
	Tenant  string    `json:"tenant,omitempty"`
	Scopes  []string  `json:"scopes,omitempty"` // none, and no roles: everything with what is its own
	Roles   []string  `json:"roles,omitempty"`
	Expires time.Time `json:"expires,omitzero"`
}

// AuditQuery selects records of the audit log, newest first.
type AuditQuery struct {
	Query
	Event string // "": any
	Task  string // the id in a record; "": any
}

// AuditRecord is a line of the audit log; docs/security.md describes its attributes.
type AuditRecord struct {
	Time  time.Time                  `json:"time"`
	Event string                     `json:"event"`
	Attrs map[string]json.RawMessage `json:"attrs"` // without these two
}

// AuditRecords is a page of them.
type AuditRecords struct {
	Records []AuditRecord `json:"records"`
	Next    string        `json:"next,omitempty"`
}

// Event is what happened on the server. Each says how something is now, so that one
// that comes again, as after a reconnection it may, changes nothing.
type Event struct {
	ID   string    `json:"-"` // where the feed goes on; "" where that is where it was
	Type string    `json:"type"`
	Time time.Time `json:"time"`

	// The one that belongs to Type is set; of EventReset none.
	Task      *Task      `json:"task,omitempty"`
	Delivery  *Delivery  `json:"delivery,omitempty"`
	Node      *Node      `json:"node,omitempty"`
	Config    *Reload    `json:"config,omitempty"`
	Readiness *Readiness `json:"readiness,omitempty"`
}

// Types of events.
const (
	EventTask      = "task"    // created, another state, or ended
	EventDeleted   = "deleted" // with the task as it was
	EventDelivery  = "delivery"
	EventNode      = "node"
	EventConfig    = "config"
	EventReadiness = "readiness"
	// EventReset says that more happened since the id that was asked for than the
	// server knows: read anew what is shown. The feed goes on from here.
	EventReset = "reset"
)

// Reload is a configuration that was read again.
type Reload struct {
	Because string `json:"because"`
	Error   string `json:"error,omitempty"` // why the one before stays
}

// Duration is a time.Duration that is text in JSON, such as 720h0m0s.
type Duration time.Duration

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	*d = Duration(v)
	return err
}
