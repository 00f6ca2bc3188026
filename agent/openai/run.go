package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/telemetry"
)

// run is one turn. It belongs to the goroutine of Run.
type run struct {
	a        *Agent
	t        *agent.Turn
	out      *output
	format   format
	tools    tools
	messages []message
	used     usage // of all answers
	asked    int   // number of answers
	model    string
	span     *inference     // of the present request
	sent     map[string]any // its members, without Options.Extra
}

func (r *run) run(ctx context.Context) error {
	if err := r.prepare(ctx); err != nil {
		if u, ok := errors.AsType[unfit](err); ok {
			return r.t.Reject(string(u))
		}
		return err
	}
	for made := 0; ; {
		lastly := made >= r.a.opts.maxToolCalls()
		ans, err := r.answer(ctx, lastly)
		if err != nil {
			return err
		}
		if len(ans.Calls) == 0 {
			return r.end(ans)
		}
		if lastly {
			return agent.Public("the model did not stop calling tools", fmt.Errorf("%d calls were made", made))
		}
		if err := r.calls(ctx, ans, &made); err != nil {
			return err
		}
	}
}

// prepare assembles the first messages to the model.
func (r *run) prepare(ctx context.Context) error {
	asked, err := r.a.contentOf(r.t.Message().Parts)
	if err != nil {
		return err
	}
	if r.format, err = formatFor(r.t); err != nil {
		return err
	}
	name := "answer"
	if r.format.wanted {
		name = "answer.json"
	}
	r.out = &output{artifact: r.t.Artifact(name), every: r.a.opts.flushEvery(), hold: r.format.wanted}
	system, err := r.a.system()
	if err != nil {
		return agent.Public("the agent is misconfigured", err)
	}
	system = strings.TrimSpace(system + "\n\n" + r.format.instruction())
	if system != "" {
		r.messages = append(r.messages, message{Role: "system", Content: system})
	}
	past, err := r.history(ctx, r.out.artifact.ID())
	if err != nil {
		return err
	}
	r.messages = append(r.messages, past...)
	if call := r.t.Skill(); call != nil { // the user's words, so not a system message
		r.messages = append(r.messages, message{Role: "user", Content: fmt.Sprintf("I call your skill %q with these arguments, in JSON: %s\nIf you have a tool of this name, call it with them.", call.ID, call.Arguments)})
	}
	r.messages = append(r.messages, message{Role: "user", Content: asked})
	r.tools, err = r.a.toolbox(ctx)
	return err
}

// system returns the present system prompt.
func (a *Agent) system() (string, error) {
	name := a.opts.SystemFile
	if name == "" {
		return a.opts.System, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return "", fmt.Errorf("read the system prompt: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSystem+1))
	if err != nil {
		return "", fmt.Errorf("read the system prompt: %w", err)
	}
	if len(b) > maxSystem {
		return "", fmt.Errorf("the system prompt %s has more than %d bytes", name, maxSystem)
	}
	text := strings.ToValidUTF8(string(b), "\ufffd")
	return strings.TrimSpace(a.opts.System + "\n\n" + text), nil
}

// errFinal keeps an answer that ends the turn from being recorded: it is in the
// artifact, and if the run is lost, the next one asks again.
var errFinal = errors.New("openai: the answer is the last one")

// answer returns the model's next answer. Answers that call tools are recorded as
// steps, so that the calls always match what the tools did.
func (r *run) answer(ctx context.Context, lastly bool) (*answer, error) {
	var fresh *answer
	ans, err := agent.Step(ctx, r.t, "model", func(ctx context.Context) (*answer, error) {
		var err error
		if fresh, err = r.ask(ctx, lastly); err != nil {
			fresh = nil
			return nil, err
		}
		telemetry.Spends(ctx, int64(fresh.Usage.Total))
		if len(fresh.Calls) == 0 || lastly {
			return nil, errFinal
		}
		r.tools.mark(fresh)
		return fresh, r.out.flush()
	})
	switch {
	case fresh != nil && errors.Is(err, errFinal):
		ans = fresh
	case err != nil:
		return nil, err
	case fresh == nil: // it comes from the record, and its text must be in the artifact
		r.out.begin()
		err := r.out.add(ans.Text)
		r.out.rest()
		if err := errors.Join(err, r.out.flush()); err != nil {
			return nil, err
		}
	}
	if fresh != nil { // recorded ones were counted when they came
		r.counts(ctx, fresh.Usage)
	}
	r.asked++
	r.used.Prompt += ans.Usage.Prompt
	r.used.Completion += ans.Usage.Completion
	r.used.Total += ans.Usage.Total
	if ans.Model != "" {
		r.model = ans.Model
	}
	return ans, nil
}

// counts counts the tokens of an answer, if the endpoint reports them.
func (r *run) counts(ctx context.Context, u usage) {
	if u == (usage{}) {
		return
	}
	r.a.tokens.Record(ctx, float64(u.Prompt), "chat", "openai", r.a.model, "input")
	r.a.tokens.Record(ctx, float64(u.Completion), "chat", "openai", r.a.model, "output")
}
