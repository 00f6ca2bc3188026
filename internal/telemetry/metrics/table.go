package metrics

import "strings"

// Kind says how a metric's number changes.
type Kind uint8

const (
	Counter   Kind = iota // only grows while the process lives
	Histogram             // how often a value lay within which bounds
	Gauge                 // read from the server's state when somebody scrapes
	UpDown                // a gauge that is counted up and down as things happen
)

// Metric is a row of the table.
type Metric struct {
	Name    string // as OpenTelemetry spells it; see Prometheus
	Kind    Kind
	Unit    string // of UCUM: s, By, {task}
	Labels  []Label
	Help    string
	Buckets []float64 // of a histogram: the upper bounds
}

// Label is an attribute of a metric. No label has ids, contexts, callers or texts of
// clients as values, because their number would have no bound.
type Label struct {
	Name   string
	Values []string // all possible values; any other is counted as Other
	Bound  string   // what bounds the values, if Values is nil
}

// DefaultAgent is the value of the label agent for the agent at /, because Prometheus
// takes an empty value for a missing label.
const DefaultAgent = "default"

// Other stands for a value that Label.Values does not have.
const Other = "other"

// Labels that several metrics have.
var (
	method    = Label{Name: "method", Bound: "the 11 operations by their 1.0 names, and `unknown`"}
	binding   = Label{Name: "binding", Values: []string{"JSONRPC", "HTTP+JSON", "GRPC"}}
	version   = Label{Name: "version", Bound: "the versions of the protocol, and `unknown`"}
	agentName = Label{Name: "agent", Bound: "the names in the configuration; `default` for the one at /"}
	pool      = Label{Name: "pool", Values: []string{"bodies", "tasks"}}
)

// States are the values of the label state: the states of tasks, in lower case.
var States = []string{"submitted", "working", "input_required", "auth_required", "completed", "canceled", "failed", "rejected"}

// quick and patient are bounds in seconds, from a commit to a task of a day.
var (
	quick   = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}
	patient = []float64{.01, .05, .1, .5, 1, 5, 10, 30, 60, 300, 900, 3600, 14400, 86400}
	counts  = []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}
)

// Limit is the cause of an error that refuses a call because of a limit, so that a
// counter of refusals can tell the limits apart.
type Limit struct{ of string }

// The limits that calls may run into; others are counted by the code of their error.
var (
	LimitRate             = &Limit{"rate"}
	LimitStreams          = &Limit{"streams"}
	LimitRunning          = &Limit{"running"}
	LimitRunningPerCaller = &Limit{"running_per_caller"}
)

// Error implements error: errors.As finds a *Limit in the error that it caused.
func (l *Limit) Error() string { return "limit: " + l.of }

// Name returns the value of the label limit.
func (l *Limit) Name() string { return l.of }

// Table has all metrics.
var Table []*Metric

// row adds a metric to the table.
func row(m Metric) *Metric {
	Table = append(Table, &m)
	return &m
}

// The metrics of the protocol, of tasks, of the store, of webhooks and of the process.
var (
	OperationDuration = row(Metric{
		Name: "a2a.server.operation.duration", Kind: Histogram, Unit: "s", Buckets: quick,
		Labels: []Label{method, binding, version, {Name: "code", Bound: "`ok`, `left` if the client did not wait, or the name of an error"}},
		Help:   "From a call's arrival to the end of its answer, or to the last event of its stream.",
	})
	FirstEvent = row(Metric{
		Name: "a2a.server.time_to_first_event", Kind: Histogram, Unit: "s", Buckets: quick,
		Labels: []Label{method, binding, version},
		Help:   "From a call's arrival to the first event of its stream.",
	})
	StreamsActive = row(Metric{
		Name: "parley.streams.active", Kind: UpDown, Unit: "{stream}", Labels: []Label{binding},
		Help: "Open streams.",
	})
	StreamEvents = row(Metric{
		Name: "parley.stream.events", Kind: Counter, Unit: "{event}", Labels: []Label{binding},
		Help: "Events handed to streams.",
	})
	StreamResumes = row(Metric{
		Name: "parley.stream.resumes", Kind: Counter, Unit: "{stream}", Labels: []Label{{Name: "result", Values: []string{"resumed", "refused"}}},
		Help: "Streams that a client asked to resume.",
	})
	AuthFailures = row(Metric{
		Name: "parley.auth.failures", Kind: Counter, Unit: "{call}",
		Labels: []Label{{Name: "reason", Values: []string{"missing", "invalid", "forbidden", "blocked"}}},
		Help:   "Calls refused for their credentials.",
	})
	Limited = row(Metric{
		Name: "parley.limited", Kind: Counter, Unit: "{call}",
		Labels: []Label{{Name: "limit", Values: []string{LimitRate.of, LimitStreams.of, LimitRunning.of, LimitRunningPerCaller.of, "size", Other}}},
		Help:   "Calls refused because of a limit.",
	})
	ConnectionsOpen = row(Metric{
		Name: "parley.connections.open", Kind: Gauge, Unit: "{connection}", Labels: []Label{{Name: "protocol", Values: []string{"http", "grpc"}}},
		Help: "Open connections to the main address; grpc if they began with a gRPC call.",
	})
	ConnectionsLimit = row(Metric{
		Name: "parley.connections.limit", Kind: Gauge, Unit: "{connection}",
		Help: "Most connections to the main address; absent without a limit.",
	})
	ConnectionsLimited = row(Metric{
		Name: "parley.connections.limited", Kind: Counter, Unit: "{connection}", Labels: []Label{{Name: "result", Values: []string{"evicted", "waited", "refused"}}},
		Help: "Connections beyond a limit; evicted if an idle one was closed instead.",
	})
	Ready = row(Metric{
		Name: "parley.ready", Kind: Gauge,
		Help: "1 while the server takes calls and its store takes writes.",
	})
	Tasks = row(Metric{
		Name: "a2a.server.tasks", Kind: Gauge, Unit: "{task}", Labels: []Label{agentName, {Name: "state", Values: States}},
		Help: "Tasks in this process's memory: at work, or waiting for their client.",
	})
	TasksStarted = row(Metric{
		Name: "parley.tasks.started", Kind: Counter, Unit: "{task}", Labels: []Label{agentName},
		Help: "Tasks created by this process.",
	})
	TasksEnded = row(Metric{
		Name: "parley.tasks.ended", Kind: Counter, Unit: "{task}", Labels: []Label{agentName, {Name: "state", Values: States[4:]}},
		Help: "Tasks ended by this process.",
	})
	TasksTakenOver = row(Metric{
		Name: "parley.tasks.taken_over", Kind: Counter, Unit: "{task}", Labels: []Label{agentName},
		Help: "Tasks taken over from dead processes.",
	})
	TaskDuration = row(Metric{
		Name: "parley.task.duration", Kind: Histogram, Unit: "s", Buckets: patient,
		Labels: []Label{agentName, {Name: "state", Values: States[4:]}},
		Help:   "From a task's creation to its end.",
	})
	RunsActive = row(Metric{
		Name: "parley.runs.active", Kind: Gauge, Unit: "{run}", Labels: []Label{agentName},
		Help: "Runs under way, without those that wait for their client.",
	})
	RunAttempts = row(Metric{
		Name: "parley.run.attempts", Kind: Counter, Unit: "{run}",
		Labels: []Label{agentName, {Name: "reason", Values: []string{"message", "lost", "resumed"}}},
		Help:   "Runs begun: for a message, or again after a crash (lost) or restart (resumed).",
	})
	RunQueue = row(Metric{
		Name: "parley.run.queue", Kind: Histogram, Unit: "s", Buckets: patient, Labels: []Label{agentName},
		Help: "Wait before a run, for capacity or for a process to take the task over.",
	})
	RunDuration = row(Metric{
		Name: "parley.run.duration", Kind: Histogram, Unit: "s", Buckets: patient,
		Labels: []Label{agentName, {Name: "result", Values: []string{"ok", "failed", "canceled", "left"}}},
		Help:   "Duration of a run, with its waits for the client.",
	})
	Steps = row(Metric{
		Name: "parley.steps", Kind: Counter, Unit: "{step}",
		Labels: []Label{agentName, {Name: "result", Values: []string{"done", "replayed", "failed"}}},
		Help:   "Steps of agents; replayed if answered from the log.",
	})
	QueueLength = row(Metric{
		Name: "parley.queue.length", Kind: Gauge, Unit: "{task}",
		Help: "Tasks of this process that wait for capacity; new ones wait in the database, where parley admin tasks finds them.",
	})
	CapacityUsed = row(Metric{
		Name: "parley.capacity.used", Kind: Gauge, Unit: "{task}",
		Help: "Slots of --capacity in use.",
	})
	CapacityLimit = row(Metric{
		Name: "parley.capacity.limit", Kind: Gauge, Unit: "{task}",
		Help: "Slots of --capacity; absent without a limit.",
	})
	MemoryUsed = row(Metric{
		Name: "parley.memory.used", Kind: Gauge, Unit: "By", Labels: []Label{pool},
		Help: "Memory of bodies in transit, and of large tasks at work.",
	})
	MemoryLimit = row(Metric{
		Name: "parley.memory.limit", Kind: Gauge, Unit: "By", Labels: []Label{pool},
		Help: "Memory limit of the pool; absent without one.",
	})
	CommitDuration = row(Metric{
		Name: "parley.commit.duration", Kind: Histogram, Unit: "s", Buckets: quick,
		Help: "Duration of a transaction of the store, with its wait for the disk.",
	})
	CommitSync = row(Metric{
		Name: "parley.commit.sync.duration", Kind: Histogram, Unit: "s", Buckets: quick,
		Help: "Duration of a transaction's COMMIT: writing the log and waiting for the disk (fsync).",
	})
	CommitEntries = row(Metric{
		Name: "parley.commit.batch.entries", Kind: Histogram, Unit: "{entry}", Buckets: counts,
		Help: "Log entries in a transaction.",
	})
	CommitTasks = row(Metric{
		Name: "parley.commit.batch.appends", Kind: Histogram, Unit: "{append}", Buckets: counts,
		Help: "Appends, of one task each, in a transaction.",
	})
	StoreUp = row(Metric{
		Name: "parley.store.up", Kind: Gauge,
		Help: "1 while the store takes writes.",
	})
	StoreErrors = row(Metric{
		Name: "parley.store.errors", Kind: Counter, Unit: "{error}",
		Labels: []Label{{Name: "reason", Values: []string{"full", "read_only", "busy", "unreachable", Other}}},
		Help:   "Writes that the store failed.",
	})
	HintsConnected = row(Metric{
		Name: "parley.hints.connected", Kind: Gauge,
		Help: "1 while hints of other processes arrive through PostgreSQL.",
	})
	HintsReceived = row(Metric{
		Name: "parley.hints.received", Kind: Counter, Unit: "{hint}", Labels: []Label{{Name: "about", Values: []string{"task", "work", "mail", "lost"}}},
		Help: "Hints of other processes; lost if some may be missing.",
	})
	WebhookAttempts = row(Metric{
		Name: "parley.webhook.attempts", Kind: Counter, Unit: "{attempt}",
		Labels: []Label{{Name: "result", Values: []string{"delivered", "failed", "given_up", "disabled"}}},
		Help:   "Attempts to deliver an event to a webhook.",
	})
	WebhookPending = row(Metric{
		Name: "parley.webhook.pending", Kind: Gauge, Unit: "{webhook}",
		Help: "Webhooks of this process with events to deliver.",
	})
	WebhookOldest = row(Metric{
		Name: "parley.webhook.oldest", Kind: Gauge, Unit: "s",
		Help: "Age of the oldest undelivered event.",
	})
	WebhookDead = row(Metric{
		Name: "parley.webhook.dead_letters", Kind: Counter, Unit: "{event}",
		Help: "Events given up: refused, or not delivered within 24 hours.",
	})
	TokenUsage = row(Metric{
		Name: "gen_ai.client.token.usage", Kind: Histogram, Unit: "{token}",
		Buckets: []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864},
		Labels: []Label{
			{Name: "gen_ai.operation.name", Values: []string{"chat"}}, {Name: "gen_ai.provider.name", Values: []string{"openai"}},
			{Name: "gen_ai.request.model", Bound: "the models in the configuration"}, {Name: "gen_ai.token.type", Values: []string{"input", "output"}},
		},
		Help: "Tokens of calls of a model, if the endpoint tells.",
	})
	ReloadSuccessful = row(Metric{
		Name: "parley.config.last_reload.successful", Kind: Gauge,
		Help: "1 unless the last attempt to read the configuration again failed.",
	})
	ReloadSuccess = row(Metric{
		Name: "parley.config.last_reload.success.timestamp", Kind: Gauge, Unit: "s",
		Help: "When the configuration in force was read, in Unix time.",
	})
	CertificateStart = row(Metric{
		Name: "parley.tls.certificate.not_before.timestamp", Kind: Gauge, Unit: "s",
		Help: "When the certificate in use began to be valid, in Unix time; absent without TLS.",
	})
	CertificateExpiry = row(Metric{
		Name: "parley.tls.certificate.expiry.timestamp", Kind: Gauge, Unit: "s",
		Help: "When the certificate in use expires, in Unix time; absent without TLS.",
	})
	AuditLost = row(Metric{
		Name: "parley.audit.lost", Kind: Counter, Unit: "{record}",
		Help: "Records that could not be written to the audit log; absent without a file.",
	})
	BuildInfo = row(Metric{
		Name: "parley.build.info", Kind: Gauge, Labels: []Label{{Name: "version", Bound: "Parley's"}, {Name: "go_version", Bound: "Go's"}},
		Help: "Always 1.",
	})
)

// Prometheus returns the metric's name at /metrics.
func (m *Metric) Prometheus() string {
	name := strings.ReplaceAll(m.Name, ".", "_")
	switch m.Unit {
	case "s":
		name += "_seconds"
	case "By":
		name += "_bytes"
	}
	if m.Kind == Counter {
		name += "_total"
	}
	return name
}

// Prometheus returns the label's name at /metrics.
func (l *Label) Prometheus() string { return strings.ReplaceAll(l.Name, ".", "_") }
