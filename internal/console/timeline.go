package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// lane is a run of the agent: everything from one message until the agent had to start again,
// or everything that happened outside of runs.
type lane struct {
	Turn, Attempt int // 0 for a lane outside of runs
	Title         string
	Note          string // the process that runs or ran it, if known
	Began         time.Time
	Took          time.Duration
	Events        []happening
}

// happening is a line of a timeline.
type happening struct {
	From, To int64 // positions; they differ if chunks share a line; 0: no entry
	Kind     string
	Time     time.Time
	After    time.Duration // since the task began
	Took     time.Duration // of chunks and steps
	State    a2a.TaskState // of a status
	Title    string
	Words    string
	Chunks   int     // of an artifact, on this line
	Bytes    int     // of those chunks
	Start    float64 // how much of the lane's time had passed before, in percent
	Width    float64 // how much of the lane's time it took, in percent
}

// lineup makes lanes from a log. It belongs to one goroutine.
type lineup struct {
	lanes  []lane
	begin  time.Time
	last   time.Time // of the previous entry
	state  a2a.TaskState
	fresh  bool // the next message begins a turn
	open   map[string]*tally
	in     int64 // prompt tokens of models
	out    int64 // completion tokens
	traces []trace

	// attempts is the number of runs of the current turn; 0 if not known.
	attempts int
}

// tally is an artifact that chunks may still be appended to.
type tally struct {
	name string // only the first chunk has it
	run  int    // the lane in which it began
}

// newLineup returns a lineup of a task that began at a time. It arranges a log: each run of the
// agent has a lane, and consecutive chunks of an artifact share a line.
//
// The log does not say that a process was lost. An artifact that begins anew is a sign of it,
// unless attempts says that there was only one run.
func newLineup(began time.Time) *lineup {
	return &lineup{begin: began, last: began, state: a2a.TaskStateSubmitted, fresh: true, open: map[string]*tally{}}
}

// add adds the next entry.
func (l *lineup) add(e *a2a.Entry) {
	l.entry(e)
	l.last = e.Time
}

// end returns the lanes.
func (l *lineup) end() []lane {
	l.count()
	for i := range l.lanes {
		for j := range l.lanes[i].Events {
			if h := &l.lanes[i].Events[j]; h.Chunks > 0 {
				h.Words = chunks(h) + h.Words
			}
		}
	}
	l.place()
	return l.lanes
}

// count makes the number of lanes of the last turn match its runs, if that is known.
func (l *lineup) count() {
	n := len(l.lanes)
	if l.attempts == 0 || n == 0 {
		return
	}
	last := l.lanes[n-1]
	if first := n - last.Attempt; l.attempts == 1 && last.Attempt > 1 { // the only run replaced its artifacts itself
		one := &l.lanes[first]
		for _, more := range l.lanes[first+1:] {
			one.Events = append(one.Events, more.Events[1:]...) // the first one only says that another run began
			one.Took = max(one.Took, more.Began.Add(more.Took).Sub(one.Began))
		}
		l.lanes = l.lanes[:first+1]
		return
	}
	for k := last.Attempt + 1; k <= l.attempts; k++ {
		l.lanes = append(l.lanes, lane{Turn: last.Turn, Attempt: k, Began: last.Began, Note: "The log does not tell it from the run before: it began no artifact anew."})
	}
}

// place computes the position of each line within its lane's time.
func (l *lineup) place() {
	for i := range l.lanes {
		n := &l.lanes[i]
		for j := range n.Events {
			h := &n.Events[j]
			if n.Took <= 0 {
				continue
			}
			h.Start = min(max(100*float64(h.Time.Sub(n.Began))/float64(n.Took), 0), 100)
			h.Width = min(100*float64(h.Took)/float64(n.Took), 100-h.Start)
		}
	}
}

// turn begins the lane of the first run for a message.
func (l *lineup) turn(at time.Time) {
	n := 1
	if len(l.lanes) > 0 {
		n = l.lanes[len(l.lanes)-1].Turn + 1
	}
	l.lanes = append(l.lanes, lane{Turn: n, Attempt: 1, Began: at})
}

// again begins the lane of another run for the same message.
func (l *lineup) again(at time.Time) {
	last := l.lanes[len(l.lanes)-1]
	l.lanes = append(l.lanes, lane{Turn: last.Turn, Attempt: last.Attempt + 1, Began: at})
	l.put(happening{Kind: "crash", Time: at, Title: "Run again", Words: "the run before did not finish, as when its server was killed; its output starts over"})
}

func (l *lineup) put(h happening) {
	if len(l.lanes) == 0 {
		l.turn(h.Time)
	}
	h.After = h.Time.Sub(l.begin)
	n := &l.lanes[len(l.lanes)-1]
	n.Events = append(n.Events, h)
	n.Took = max(n.Took, h.Time.Add(h.Took).Sub(n.Began))
}

func (l *lineup) entry(e *a2a.Entry) {
	h := happening{From: e.Seq, To: e.Seq, Time: e.Time}
	switch e.Kind {
	case a2a.EntryCreated:
		h.Kind, h.Title = "created", "Task created"
	case a2a.EntryMessage:
		l.message(e, h)
		return
	case a2a.EntryStatus:
		s := e.Status.Status
		h.Kind, h.State, h.Title = "status", s.State, strings.ToUpper(label(s.State)[:1])+label(s.State)[1:]
		if s.Message != nil {
			h.Words = firstWords(s.Message)
		}
		switch {
		case s.State.Interrupted():
			h.Kind, h.Title = "question", "Question"
			if q := questionOf(s.Message); q != nil && q.Message != "" {
				h.Words = cut(q.Message)
			}
		case s.State == l.state && s.State == a2a.TaskStateWorking:
			h.State, h.Title = 0, "Status"
		}
		if s.State != a2a.TaskStateSubmitted { // a task that begins again does so with its message
			l.state = s.State
		}
	case a2a.EntryArtifact:
		l.chunk(e, h)
		return
	case a2a.EntryStep:
		if strings.HasPrefix(e.Step.Name, a2a.StepJoin) {
			return // bookkeeping of an artifact, not the agent's work
		}
		l.step(e.Step, &h)
	case a2a.EntryCancel:
		who := cmp.Or(calm(e.Cancel.Subject), "an anonymous caller")
		h.Kind, h.Title, h.Words = "cancel", "Cancel requested", "by "+who
	}
	l.put(h)
}

func (l *lineup) message(e *a2a.Entry, h happening) {
	h.Kind, h.Title, h.Words = "message", "Message", firstWords(e.Message)
	switch {
	case l.state.Interrupted():
		h.Kind, h.Title = "answer", "Answer"
	case !l.fresh && l.state == a2a.TaskStateWorking:
		h.Title = "Message for the agent at work"
	case l.state.Terminal():
		l.turn(e.Time)
		l.state = a2a.TaskStateSubmitted
	}
	l.fresh = false
	if e.Received != nil {
		if e.Received.Credentials {
			h.Words = "credentials, which are not kept"
		}
		if t := traceOf(e.Received.Trace); t.ID != "" && !slices.ContainsFunc(l.traces, func(x trace) bool { return x.ID == t.ID }) {
			l.traces = append(l.traces[max(0, len(l.traces)-maxTraces+1):], t)
		}
	}
	l.put(h)
}

// maxTraces is how many traces of a task its page names, the latest ones.
const maxTraces = 8

// trace is a trace that a message of a task belongs to.
type trace struct {
	ID      string
	Kept    bool   // its beginner decided to record it
	Address string // of its page in a trace viewer; "" if none is configured
}

// traceOf parses a traceparent.
func traceOf(parent string) trace {
	p := strings.Split(parent, "-")
	if len(p) < 4 || len(p[1]) != 32 {
		return trace{}
	}
	flags, err := strconv.ParseUint(p[3], 16, 8)
	return trace{ID: p[1], Kept: err == nil && flags&1 != 0}
}

// step describes a step. The results of models' and tools' steps have more details.
func (l *lineup) step(s *a2a.Step, h *happening) {
	h.Kind, h.Title = "step", "Step "+calm(s.Name)
	if s.Nth > 1 {
		h.Title += fmt.Sprintf(" (%d)", s.Nth)
	}
	h.Words = size(len(s.Result))
	// Only its end is recorded: assume that it began with the previous entry.
	h.Took, h.Time = h.Time.Sub(l.last), l.last
	var is struct {
		Model string `json:"model"`
		Usage *struct {
			In  int64 `json:"prompt_tokens"`
			Out int64 `json:"completion_tokens"`
		} `json:"usage"`
		Calls []struct {
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		} `json:"calls"`
		Text   string
		Failed *bool
	}
	if json.Unmarshal(s.Result, &is) != nil {
		return
	}
	switch {
	case s.Name == "model":
		h.Kind, h.Title = "model", "Model call"
		words := []string{}
		if is.Model != "" {
			words = append(words, calm(is.Model))
		}
		if is.Usage != nil {
			l.in, l.out = l.in+is.Usage.In, l.out+is.Usage.Out
			words = append(words, fmt.Sprintf("%d tokens in, %d out", is.Usage.In, is.Usage.Out))
		}
		for _, c := range is.Calls {
			words = append(words, "calls "+calm(c.Function.Name))
		}
		h.Words = strings.Join(words, ", ")
	case s.Name == "call" && is.Failed != nil:
		h.Kind, h.Title, h.Words = "tool", "Tool call", cut(is.Text)
		if *is.Failed {
			h.Words = "failed: " + h.Words
		}
	}
}

func (l *lineup) chunk(e *a2a.Entry, h happening) {
	u := e.Artifact
	id := u.Artifact.ArtifactID
	h.Kind, h.Title = "artifact", calm(u.Artifact.Name)
	t := l.open[id]
	switch {
	case h.Title == "" && t != nil:
		h.Title = t.name
	case h.Title == "":
		h.Title = "Artifact"
	}
	n := 0
	for _, p := range u.Artifact.Parts {
		n += len(p.Text) + len(p.Data) + len(p.Raw)
	}
	anew := t != nil && !u.Append
	if anew && t.run == len(l.lanes)-1 {
		l.again(e.Time)
	}
	if t != nil && u.Append && len(l.lanes) > 0 {
		lane := &l.lanes[len(l.lanes)-1]
		if last := &lane.Events[len(lane.Events)-1]; last.Kind == "artifact" && last.Title == h.Title && last.To == e.Seq-1 {
			last.Chunks++
			last.Bytes += n
			last.To, last.Took = e.Seq, e.Time.Sub(last.Time)
			lane.Took = max(lane.Took, e.Time.Sub(lane.Began))
			return
		}
	}
	l.open[id] = &tally{h.Title, max(len(l.lanes)-1, 0)}
	if h.Chunks, h.Bytes = 1, n; anew {
		h.Words = ", begun anew"
	}
	l.put(h)
}

// chunks formats the size of the chunks on one line.
func chunks(h *happening) string {
	if h.Chunks == 1 {
		return "1 chunk, " + size(h.Bytes)
	}
	return strconv.Itoa(h.Chunks) + " chunks, " + size(h.Bytes)
}
