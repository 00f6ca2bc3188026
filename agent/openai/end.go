package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
)

// end ends the task according to the model's last answer.
func (r *run) end(ans *answer) error {
	finish := strings.ToLower(ans.finish)
	switch {
	case ans.refusal != "":
		return r.over(a2a.TaskStateRejected, ans, ans.refusal)
	case strings.HasPrefix(finish, "content_filter"): // Gemini appends details
		return r.over(a2a.TaskStateFailed, ans, "the model's provider stopped the answer for its content")
	case finish == "length", finish == "model_length", finish == "max_tokens": // Mistral, others
		return r.over(a2a.TaskStateFailed, ans, "the answer was cut off: it is longer than the model may answer")
	case strings.TrimSpace(ans.Text) == "":
		return r.over(a2a.TaskStateFailed, ans, "the model answered nothing")
	}
	if r.format.wanted {
		v, ok := r.format.value(ans.Text)
		if !ok {
			return r.over(a2a.TaskStateFailed, ans, "the model did not answer with JSON")
		}
		part := a2a.DataPart(v)
		part.MediaType = "application/json"
		if err := r.out.artifact.Last(part); err != nil {
			return err
		}
	} else if err := r.out.close(); err != nil {
		return err
	}
	return r.over(a2a.TaskStateCompleted, ans, "")
}

// over ends the task, with the usage, and with the reason if it did not complete.
func (r *run) over(state a2a.TaskState, ans *answer, text string) error {
	if err := errors.Join(r.out.flush(), r.out.artifact.Join()); err != nil && !errors.Is(err, agent.ErrEnded) {
		return err
	}
	meta := map[string]any{"model": r.model}
	if r.model == "" {
		meta["model"] = r.a.model
	}
	if ans.finish != "" {
		meta["finish_reason"] = ans.finish
	}
	counted := r.used.Prompt > 0 || r.used.Completion > 0
	if counted {
		meta["usage"] = struct {
			usage
			Requests int `json:"requests"`
		}{r.used, r.asked}
	}
	doc, err := json.Marshal(meta)
	if err != nil {
		return err
	}
	if text == "" && counted {
		text = fmt.Sprintf("%d tokens in, %d out", r.used.Prompt, r.used.Completion)
	}
	if text == "" {
		text = "done" // a message needs a part, and the metadata needs a message
	}
	err = r.t.End(state, &a2a.Message{Parts: []*a2a.Part{a2a.TextPart(text)}, Metadata: doc})
	if errors.Is(err, agent.ErrEnded) {
		return nil
	}
	return err
}
