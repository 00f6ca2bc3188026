package admin

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// Query selects a page of a list. If there is another page, the list has a Next, to be used
// as After of the next query. Clients must not interpret it.
type Query struct {
	Limit int    // zero means 50; at most 500
	After string // "": from the start
}

// Limits of Query.Limit.
const (
	DefaultLimit = 50
	MaxLimit     = 500
)

// Readiness says whether the server accepts work.
type Readiness struct {
	Ready   bool      `json:"ready"`
	Reason  string    `json:"reason,omitempty"` // why it is not ready, for people
	Version string    `json:"version"`
	Node    string    `json:"node"` // name of this process in the store
	Started time.Time `json:"started"`
	Now     time.Time `json:"now"` // by the clock that all servers of the store share
}

// StateWord returns the state of a task as people write it, such as input-required.
func StateWord(s a2a.TaskState) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(s.String(), "TASK_STATE_")), "_", "-")
}

// StateWords returns the words of all states.
func StateWords() (words []string) {
	for _, s := range a2a.TaskStates() {
		words = append(words, StateWord(s))
	}
	return words
}

// ParseState returns the state for a word, or for its name in the protocol.
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
	Name        string `json:"name"`        // at /agents/{name}; "" for the only agent, at /
	Path        string `json:"path"`        // "" is /
	Default     bool   `json:"default"`     // it is also at /
	Kind        string `json:"kind"`        // exec, http, openai, proxy, mcp, demo or conformance
	Description string `json:"description"` // from its card
	Title       string `json:"title"`       // name on its card
	What        string `json:"what"`        // what runs here, such as its command; without secrets
	State       string `json:"state"`       // AgentReady or AgentAway
	Reason      string `json:"reason,omitempty"`
	// Tasks counts unfinished tasks of all tenants, by state.
	Tasks    map[string]int  `json:"tasks"`
	Findings []Finding       `json:"findings,omitempty"` // about its card
	Card     json.RawMessage `json:"card"`               // as published, unsigned and in v1.0
}

// States of an agent. An agent is away if its program or service does not answer.
const (
	AgentReady = "ready"
	AgentAway  = "away"
)

// Finding is a mistake or a possible improvement, and says what to do.
type Finding struct {
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
	YAML    string `json:"yaml,omitempty"` // to paste into parley.yaml
	Line    int    `json:"line,omitempty"` // in a draft
	Column  int    `json:"column,omitempty"`
}

// TaskKey identifies a task. The id alone does not, because clients of version 0.1 chose ids,
// which are unique only within an owner.
type TaskKey struct {
	Agent  string `json:"agent"`  // "" is the agent at /
	Tenant string `json:"tenant"` // of the caller
	Owner  string `json:"owner"`  // the caller's subject; "" is anonymous
	ID     string `json:"id"`
}

// Task is a task as shown in lists.
type Task struct {
	TaskKey
	Name    string    `json:"name"` // the whole key in one word; API methods accept it, or the id if that is unique
	Context string    `json:"contextId"`
	State   string    `json:"state"` // in words: working, input-required
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"` // when the state last changed
	Words   string    `json:"words"`   // beginning of its first message
	Last    int64     `json:"last"`    // position of the log's last entry
	Attempt int32     `json:"attempt"` // runs of the agent in the current turn
	Lost    int32     `json:"lost"`    // processes lost in the current turn
	Node    string    `json:"node,omitempty"`
	Epoch   int64     `json:"epoch"` // rises with each process that takes the task
	Wait    *Wait     `json:"wait,omitempty"`
}

// Wait says what an unfinished task waits for.
type Wait struct {
	For    string    `json:"for"`    // WaitAgent and so on
	Reason string    `json:"reason"` // for people
	Since  time.Time `json:"since,omitzero"`
	Node   string    `json:"node,omitempty"` // process that has the task, if not this one
}

// Reasons to wait.
const (
	WaitAgent    = "agent"    // its function, program or service, which is running
	WaitCapacity = "capacity" // as many tasks are active as limits.capacity allows
	WaitRest     = "rest"     // pause before a failed run is repeated
	WaitClient   = "client"   // an answer from the client
	WaitNoAgent  = "no-agent" // no agent has its name
	WaitStore    = "store"    // the database does not accept writes
	WaitProcess  = "process"  // a process that takes it over
	WaitOther    = "other"    // another process has the task and knows more
)

// TaskQuery selects tasks of all tenants, most recently changed first.
type TaskQuery struct {
	Query
	Agent   *string // nil: of all
	Tenant  *string // nil: of all
	Owner   *string // nil: of all
	Context string
	State   string    // in words; "": any
	AtWork  bool      // only those that a process runs, or that wait for a process
	Since   time.Time // changed at or after this
}

// Tasks is a page of tasks.
type Tasks struct {
	Tasks []Task `json:"tasks"`
	Total int    `json:"total"` // number of all tasks that the query selects
	Next  string `json:"next,omitempty"`
}

// Run is the work of an agent for one message, which is a turn of a task.
type Run struct {
	Turn     int64     `json:"turn"` // position of its message
	Began    time.Time `json:"began"`
	Ended    time.Time `json:"ended,omitzero"` // zero: still running
	State    string    `json:"state"`          // the resulting state
	Attempts int32     `json:"attempts"`       // of the current turn; zero if unknown
	Steps    []Step    `json:"steps"`
}

// Step is a recorded step of a run.
type Step struct {
	Seq  int64     `json:"seq"`
	Name string    `json:"name"`
	Nth  int64     `json:"nth,omitempty"` // number among the steps of this name, from 1; zero: the next number
	Time time.Time `json:"time"`          // when it finished
	Size int       `json:"size"`          // size of its result, in bytes
}

// LogEntry is one entry of a task's log.
type LogEntry struct {
	Seq  int64     `json:"seq"`
	Time time.Time `json:"time"`
	Kind string    `json:"kind"` // created, message, status, artifact, step or cancel
	// Body is as stored; a2a.DecodeEntry reads it. Large content is stored separately and
	// referred to by its hash: see API.TaskAt.
	Body json.RawMessage `json:"body"`
}

// Log is a page of a task's log.
type Log struct {
	Entries []LogEntry `json:"entries"`
	Last    int64      `json:"last"` // position of the log's last entry
	Next    int64      `json:"next,omitempty"`
}

// Delivery is a webhook of a task, and the progress of its deliveries. It omits tokens,
// credentials and paths, which only its receiver should know.
type Delivery struct {
	Task    TaskKey   `json:"task"`
	Name    string    `json:"taskName"` // Task.Name
	ID      string    `json:"id"`       // of the config
	Host    string    `json:"host"`
	Created time.Time `json:"created"`
	State   string    `json:"state"` // DeliveryIdle and so on
	Live    bool      `json:"live"`
	Node    string    `json:"node,omitempty"` // process that delivers
	Cursor  int64     `json:"cursor"`         // delivered up to this position of the log
	Last    int64     `json:"last"`
	Tries   int32     `json:"tries"`
	Since   time.Time `json:"since,omitzero"` // when the first failed attempt was
	Due     time.Time `json:"due,omitzero"`   // when the next attempt is
	Reason  string    `json:"reason,omitempty"`
}

// States of a delivery.
const (
	DeliveryIdle      = "idle"      // everything is delivered, more may come
	DeliveryPending   = "pending"   // there are entries to deliver
	DeliveryRetrying  = "retrying"  // an attempt has failed, the next one is scheduled
	DeliveryDisabled  = "disabled"  // the receiver wants no more deliveries
	DeliveryCompleted = "completed" // everything is delivered, and no more will come
)

// DeliveryQuery selects webhooks, or dead letters.
type DeliveryQuery struct {
	Query
	Task    string // id or Name of their task
	ID      string // of the config
	Failing bool   // webhooks only: those that are retrying or disabled
}

// Deliveries is a page of deliveries, in the order in which they were created.
type Deliveries struct {
	Deliveries []Delivery `json:"deliveries"`
	Next       string     `json:"next,omitempty"`
}

// DeadLetter is a delivery that was abandoned.
type DeadLetter struct {
	Task   TaskKey   `json:"task"`
	Name   string    `json:"taskName"`
	ID     string    `json:"id"`
	Seq    int64     `json:"seq"`
	Time   time.Time `json:"time"`
	Tries  int32     `json:"tries"`
	Reason string    `json:"reason"`
	Again  bool      `json:"again"` // it will be sent again
}

// DeadLetters is a page of dead letters.
type DeadLetters struct {
	Letters []DeadLetter `json:"letters"`
	Next    string       `json:"next,omitempty"`
}

// Redelivery selects what to send again: the dead letters and webhooks of a task, of a
// config, or of both; with All, everything that was abandoned.
type Redelivery struct {
	Task string `json:"task,omitempty"`
	ID   string `json:"id,omitempty"`
	All  bool   `json:"all,omitempty"`
}

// Redelivered counts the effects of a Redelivery.
type Redelivered struct {
	Letters  int `json:"letters"`  // dead letters
	Enabled  int `json:"enabled"`  // webhooks that were disabled
	Hastened int `json:"hastened"` // webhooks that waited for another attempt
}

// Collection selects old tasks to delete: those in some states that have not changed for a
// long time.
type Collection struct {
	OlderThan Duration `json:"olderThan"`
	States    []string `json:"states,omitempty"` // in words; none means all finished states
	DryRun    bool     `json:"dryRun,omitempty"`
}

// Collected counts the effects of a Collection.
type Collected struct {
	Tasks    int            `json:"tasks"`
	States   map[string]int `json:"states"`
	Receipts int            `json:"receipts"`
}

// Node is a process that shares the store.
type Node struct {
	Name  string    `json:"name"`
	This  bool      `json:"this"`           // it is the process that answers
	State string    `json:"state"`          // NodeAlive and so on
	Beat  time.Time `json:"beat,omitzero"`  // when it was last heard
	Tasks int       `json:"tasks,omitzero"` // in memory; only for the process that answers: active, or waiting for their client
}

// States of a node.
const (
	NodeAlive  = "alive"
	NodeSilent = "silent" // for so long that its tasks are taken over
	NodeLeft   = "left"   // in an orderly way
)

// Store describes where tasks are kept.
type Store struct {
	Kind    string `json:"kind"` // sqlite, postgres or memory
	Where   string `json:"where"`
	Shared  bool   `json:"shared"`            // other servers may use it too
	Trouble string `json:"trouble,omitempty"` // why it does not accept writes
	Commits int64  `json:"commits"`           // by this process
	Entries int64  `json:"entries"`           // by this process
	Bytes   int64  `json:"bytes,omitzero"`    // of the database, if it is a file
	Free    int64  `json:"free,omitzero"`     // on its disk
}

// Setting is one effective setting.
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
	// Token is set only in the answer that creates the key, and cannot be retrieved later.
	Token string `json:"token,omitempty"`
}

// NewKey describes a key to create.
type NewKey struct {
	Name    string    `json:"name,omitempty"`
	Subject string    `json:"subject,omitempty"` // "": a subject of its own
	Tenant  string    `json:"tenant,omitempty"`
	Scopes  []string  `json:"scopes,omitempty"` // no scopes and no roles: everything on its own tasks
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
	Attrs map[string]json.RawMessage `json:"attrs"` // without time and event
}

// AuditRecords is a page of audit records.
type AuditRecords struct {
	Records []AuditRecord `json:"records"`
	Next    string        `json:"next,omitempty"`
}

// Event reports a change on the server. Each event has the new state, so a repeated event, as
// after a reconnection, changes nothing.
type Event struct {
	ID   string    `json:"-"` // position in the feed; "" if it does not advance the position
	Type string    `json:"type"`
	Time time.Time `json:"time"`

	// Only the member for Type is set; for EventReset, none.
	Task      *Task      `json:"task,omitempty"`
	Delivery  *Delivery  `json:"delivery,omitempty"`
	Node      *Node      `json:"node,omitempty"`
	Config    *Reload    `json:"config,omitempty"`
	Readiness *Readiness `json:"readiness,omitempty"`
}

// Types of events.
const (
	EventTask      = "task"    // created, changed its state, or ended
	EventDeleted   = "deleted" // with the task before its deletion
	EventDelivery  = "delivery"
	EventNode      = "node"
	EventConfig    = "config"
	EventReadiness = "readiness"
	// EventReset means that more has happened since the requested id than the server
	// remembers: read everything shown again. The feed continues from here.
	EventReset = "reset"
)

// Reload reports that the configuration was read again.
type Reload struct {
	Because string `json:"because"`
	Error   string `json:"error,omitempty"` // why the former configuration stays
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
