package serve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/parley-a2a/parley/agent/openai"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/internal/wake"
)

// maxNamed is how many models of an endpoint are listed by name.
const maxNamed = 10

// bannerTime is how long the banner may wait for endpoints.
const bannerTime = 300 * time.Millisecond

// lookAtModels briefly asks the endpoints of all agents for their models, for the
// banner. askModels asks those again that do not answer.
func (r *revision) lookAtModels(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, bannerTime)
	defer cancel()
	var work sync.WaitGroup
	for _, n := range r.agents {
		if n.models == nil {
			continue
		}
		work.Go(func() {
			names, err := n.models(ctx)
			n.known = err == nil || errors.Is(err, openai.ErrNoList)
			switch {
			case err == nil && !hasModel(names, n.from.OpenAI.Model):
				n.model = "not there; has: " + listModels(names)
			case n.known:
				n.model = "reachable"
			case ctx.Err() != nil:
				n.model = "no answer yet"
			default:
				n.model = "not reachable: " + reachReason(err)
			}
		})
	}
	work.Wait()
}

// askModels asks the endpoint of an agent for its models, until it answers, and notes
// what would fail for callers: there is no answer, or the model is missing. Nothing
// waits for it.
func (h *Host) askModels(ctx context.Context, n *instance) {
	c := n.from.OpenAI
	note := func(format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		if n.from.Name != "" {
			text = n.from.Name + ": " + text
		}
		h.env.Stderr.Note("Model", "%s", text)
	}
	said := n.model != "" // it was said that it does not answer
	for pause := fetchFirst; ; pause = min(2*pause, fetchLast) {
		asking, done := context.WithTimeout(ctx, fetchTime)
		names, err := n.models(asking)
		done()
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && !hasModel(names, c.Model):
			n.known = true
			note("%s is not at %s, which has: %s", plain.Quote(c.Model), hostOf(c.URL), listModels(names))
			return
		case err == nil, errors.Is(err, openai.ErrNoList):
			if n.known = true; said {
				note("reachable: %s", hostOf(c.URL))
			}
			return
		case !said:
			said = true
			note("not reachable: %s: %v; messages try again for a while, and then fail", hostOf(c.URL), err)
		}
		if wake.Pause(ctx, pause) != nil {
			return
		}
	}
}

// hasModel reports whether a list has a model. Ollama lists llama3.2:latest and knows
// it as llama3.2, and Gemini lists models/gemini.
func hasModel(names []string, model string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return name == model || name == model+":latest" || name == "models/"+model
	})
}

func listModels(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	text := strings.Join(names[:min(len(names), maxNamed)], ", ")
	if n := len(names) - maxNamed; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}
