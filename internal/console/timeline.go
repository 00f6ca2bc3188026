package console

import (
	"fmt"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// lane is a turn of a task: what followed from one message.
type lane struct {
	Turn   int
	Began  time.Time
	Took   time.Duration
	Events []happening
}

// happening is a line of a timeline.
type happening struct {
	From, To int64 // positions; they differ for chunks that are one line
	Kind     string
	Time     time.Time
	After    time.Duration // since the task began
	Took     time.Duration // of chunks
	State    a2a.TaskState // of a status
	Title    string
	Words    string
	Share    float64 // of the turn's time that had passed, in percent
}

// timeline puts a log in order: a lane a turn, and the chunks of an artifact that
// came one after another on one line.
func timeline(entries []*a2a.Entry) []lane {
	var lanes []lane
	begin := entries[0].Time
	asked := true // a message begins a turn, unless it answers a question or joins one at work
	state := a2a.TaskStateSubmitted
	open := map[string]*tally{}
	add := func(h happening, e *a2a.Entry) {
		h.From, h.To, h.Time, h.After = e.Seq, e.Seq, e.Time, e.Time.Sub(begin)
		if len(lanes) == 0 {
			lanes = append(lanes, lane{Turn: 1, Began: e.Time})
		}
		l := &lanes[len(lanes)-1]
		l.Events = append(l.Events, h)
		l.Took = e.Time.Sub(l.Began)
	}
	for _, e := range entries {
		switch e.Kind {
		case a2a.EntryCreated:
			add(happening{Kind: "created", Title: "Task created"}, e)
		case a2a.EntryMessage:
			title := "Message"
			switch {
			case state.Interrupted():
				title = "Answer"
			case !asked && state == a2a.TaskStateWorking:
				title = "Message for the agent at work"
			}
			if !asked && state != a2a.TaskStateWorking || state.Interrupted() {
				lanes = append(lanes, lane{Turn: len(lanes) + 1, Began: e.Time})
			}
			asked = false
			add(happening{Kind: "message", Title: title, Words: firstWords(e.Message)}, e)
		case a2a.EntryStatus:
			s := e.Status.Status
			title := strings.ToUpper(word(s.State)[:1]) + label(s.State)[1:]
			if s.State == state && s.State == a2a.TaskStateWorking {
				title = "Status"
			}
			h := happening{Kind: "status", State: s.State, Title: title}
			if s.Message != nil {
				h.Words = firstWords(s.Message)
			}
			state = s.State
			add(h, e)
		case a2a.EntryArtifact:
			chunkLine(&lanes, open, e, add)
		case a2a.EntryStep:
			if strings.HasPrefix(e.Step.Name, a2a.StepJoin) {
				continue // of the artifact, and no doing of the agent's
			}
			h := happening{Kind: "step", Title: "Step " + e.Step.Name, Words: size(len(e.Step.Result))}
			if e.Step.Nth > 1 {
				h.Title += fmt.Sprintf(" (%d)", e.Step.Nth)
			}
			add(h, e)
		case a2a.EntryCancel:
			who := e.Cancel.Subject
			if who == "" {
				who = "somebody without a name"
			}
			add(happening{Kind: "cancel", Title: "Cancel requested", Words: "by " + who}, e)
		}
	}
	for i := range lanes {
		l := &lanes[i]
		for j := range l.Events {
			if l.Took > 0 {
				l.Events[j].Share = 100 * float64(l.Events[j].Time.Sub(l.Began)) / float64(l.Took)
			}
		}
	}
	return lanes
}

// tally counts the chunks of an artifact.
type tally struct{ chunks, bytes int }

func chunkLine(lanes *[]lane, open map[string]*tally, e *a2a.Entry, add func(happening, *a2a.Entry)) {
	u := e.Artifact
	id := u.Artifact.ArtifactID
	name := u.Artifact.Name
	if name == "" {
		name = "artifact"
	}
	n := 0
	for _, p := range u.Artifact.Parts {
		n += len(bytesOf(p))
	}
	t, again := open[id]
	if t != nil && u.Append {
		t.chunks++
		t.bytes += n
		l := &(*lanes)[len(*lanes)-1]
		if h := &l.Events[len(l.Events)-1]; h.Kind == "artifact" && h.Title == name && h.To == e.Seq-1 {
			h.To, h.Took = e.Seq, e.Time.Sub(h.Time)
			h.Words = fmt.Sprintf("%d chunks, %s", t.chunks, size(t.bytes))
			l.Took = e.Time.Sub(l.Began)
			return
		}
		add(happening{Kind: "artifact", Title: name, Words: fmt.Sprintf("1 chunk, %s", size(n))}, e)
		*t = tally{1, n}
		return
	}
	open[id] = &tally{1, n}
	words := size(n)
	if again {
		words += "; begun anew, as after a crash"
	}
	add(happening{Kind: "artifact", Title: name, Words: words}, e)
}
