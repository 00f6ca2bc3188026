package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/parley-a2a/parley/a2a"
)

// Question is one of the questions that AskAll puts to the client.
type Question struct {
	ID   string // of the elicitation, unique in the task; clients of the 1.1 draft may name it in their answers
	Text string
	// Optional says that the agent can go on without an answer: the question does not
	// block the task, and stays open if it is not answered.
	Optional bool
}

// Elicitor is a Host that tells clients of the 1.1 draft which questions are open.
type Elicitor interface {
	// Elicit is Next for several questions, whose states are sent with the prompt.
	// asked is false if a message was there already, so that the prompt was not sent.
	Elicit(ctx context.Context, prompt []*a2a.Part, changed []*a2a.Elicitation) (m *a2a.Message, asked bool, err error)
	// Elicited emits a working status with the new states of questions.
	Elicited(changed []*a2a.Elicitation) error
}

// AskAll puts several questions to the client at once and returns the answers by the
// questions' ids, when each question that is not Optional has one. A message may name
// the questions that it answers (Message.ElicitationIDs). A message that names no open
// question answers all that the agent waits for, so that clients of any version can
// answer. After a crash the recorded answers count, as with Ask.
func (t *Turn) AskAll(ctx context.Context, questions ...Question) (map[string]*a2a.Message, error) {
	host, _ := t.host.(Elicitor)
	round := elicitation{questions: questions, answers: map[string]*a2a.Message{}, said: map[string]a2a.ElicitationState{}}
	if err := round.check(); err != nil {
		return nil, err
	}
	for prompt := round.open(true); len(round.open(false)) > 0; prompt = round.open(false) {
		var m *a2a.Message
		var err error
		if host == nil {
			m, err = t.host.Next(ctx, partsOf(prompt))
		} else {
			var asked bool
			changed := round.changes()
			if m, asked, err = host.Elicit(ctx, partsOf(prompt), changed); asked {
				round.told(changed)
			}
		}
		if err != nil {
			return nil, err
		}
		round.answer(m)
	}
	if host != nil {
		if err := host.Elicited(round.changes()); err != nil {
			return nil, err
		}
	}
	return round.answers, nil
}

// elicitation is the state of one AskAll.
type elicitation struct {
	questions []Question
	answers   map[string]*a2a.Message
	said      map[string]a2a.ElicitationState // the state that the client was told for each
}

func (e *elicitation) check() error {
	seen := map[string]bool{}
	for _, q := range e.questions {
		if q.ID == "" || q.Text == "" || seen[q.ID] {
			return fmt.Errorf("agent: a question needs a text and an id of its own, %q has not", q.ID)
		}
		seen[q.ID] = true
	}
	if !slices.ContainsFunc(e.questions, func(q Question) bool { return !q.Optional }) {
		return errors.New("agent: AskAll needs a question that is not optional; say others with Status")
	}
	return nil
}

// open returns the questions without an answer, with optional ones if optional is true.
func (e *elicitation) open(optional bool) (list []Question) {
	for _, q := range e.questions {
		if e.answers[q.ID] == nil && (optional || !q.Optional) {
			list = append(list, q)
		}
	}
	return list
}

func partsOf(questions []Question) (parts []*a2a.Part) {
	for _, q := range questions {
		parts = append(parts, a2a.TextPart(q.Text))
	}
	return parts
}

// answer assigns a message to the questions that it names, or else to all that block.
func (e *elicitation) answer(m *a2a.Message) {
	named := false
	for _, q := range e.open(true) {
		if slices.Contains(m.ElicitationIDs, q.ID) {
			e.answers[q.ID], named = m, true
		}
	}
	if named {
		return
	}
	for _, q := range e.open(false) {
		e.answers[q.ID] = m
	}
}

// changes returns the questions whose present state the client was not told.
func (e *elicitation) changes() (list []*a2a.Elicitation) {
	for _, q := range e.questions {
		state := a2a.ElicitationBlocked
		switch {
		case e.answers[q.ID] != nil:
			state = a2a.ElicitationResolved
		case q.Optional:
			state = a2a.ElicitationWaiting
		}
		if e.said[q.ID] != state {
			list = append(list, &a2a.Elicitation{ElicitationID: q.ID, State: state})
		}
	}
	return list
}

func (e *elicitation) told(changed []*a2a.Elicitation) {
	for _, c := range changed {
		e.said[c.ElicitationID] = c.State
	}
}
