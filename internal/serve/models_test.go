package serve

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/agent/openai"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/plain"
)

// What a model's endpoint lacks is said at the start, once, and that it is there when
// it was not.
func TestModelsAreAskedFor(t *testing.T) {
	away := errors.New("connection refused")
	for name, c := range map[string]struct {
		agent, model string
		answers      []error
		has          []string
		want         string
	}{
		"there":           {"", "tiny", nil, []string{"big", "tiny"}, ""},
		"Ollama":          {"", "tiny", nil, []string{"tiny:latest"}, ""},
		"not there":       {"", "huge", nil, []string{"big", "tiny"}, "Model: huge is not at m:1, which has: big, tiny\n"},
		"none":            {"a", "huge", nil, nil, "Model: a: huge is not at m:1, which has: none\n"},
		"many":            {"", "huge", nil, strings.Split("abcdefghijkl", ""), "Model: huge is not at m:1, which has: a, b, c, d, e, f, g, h, i, j and 2 more\n"},
		"control":         {"", "huge", nil, []string{"\x1b[2Jx"}, "Model: huge is not at m:1, which has: x\n"},
		"no list":         {"", "huge", []error{openai.ErrNoList}, nil, ""},
		"late":            {"", "tiny", []error{away, away, away}, []string{"tiny"}, "Model: not reachable: m:1: connection refused; messages try again for a while, and then fail\nModel: reachable: m:1\n"},
		"late, no list":   {"", "tiny", []error{away, openai.ErrNoList}, nil, "Model: not reachable: m:1: connection refused; messages try again for a while, and then fail\nModel: reachable: m:1\n"},
		"late, and wrong": {"", "huge", []error{away}, []string{"tiny"}, "Model: not reachable: m:1: connection refused; messages try again for a while, and then fail\nModel: huge is not at m:1, which has: tiny\n"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out strings.Builder
				h := &Host{env: &Env{Stderr: plain.NewWriter(&out)}, log: slog.New(slog.DiscardHandler)}
				n := &instance{from: config.Agent{Name: c.agent, OpenAI: &config.OpenAI{URL: "http://m:1/v1", Model: c.model}}}
				n.models = func(context.Context) ([]string, error) {
					if len(c.answers) > 0 {
						err := c.answers[0]
						c.answers = c.answers[1:]
						return nil, err
					}
					return c.has, nil
				}
				h.askModels(t.Context(), n)
				if out.String() != c.want || !n.known {
					t.Errorf("said\n%s\nwant\n%s", out.String(), c.want)
				}
			})
		})
	}
}

// The banner's line on a model is known after a moment, whatever the endpoint does,
// and is not printed again.
func TestTheBannerKnowsTheModel(t *testing.T) {
	away := errors.New("connection refused")
	for name, c := range map[string]struct {
		models func(context.Context) ([]string, error)
		known  bool
		want   string
		later  string // what is said when it answers
	}{
		"there":     {func(context.Context) ([]string, error) { return []string{"tiny"}, nil }, true, "reachable", ""},
		"not there": {func(context.Context) ([]string, error) { return []string{"big", "huge"}, nil }, true, "not there; has: big, huge", ""},
		"no list":   {func(context.Context) ([]string, error) { return nil, openai.ErrNoList }, true, "reachable", ""},
		"away":      {func(context.Context) ([]string, error) { return nil, away }, false, "not reachable: connection refused", "Model: reachable: m:1\n"},
		"slow":      {func(ctx context.Context) ([]string, error) { <-ctx.Done(); return nil, ctx.Err() }, false, "no answer yet", "Model: reachable: m:1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out strings.Builder
				n := &instance{from: config.Agent{OpenAI: &config.OpenAI{URL: "http://u:secret@m:1/v1", Model: "tiny"}}, models: c.models}
				r := &revision{agents: []*instance{n, {}}, settings: &Settings{flags: &flags{}}}
				begin := time.Now()
				r.lookAtModels(t.Context())
				if n.model != c.want || n.known != c.known || time.Since(begin) > bannerTime {
					t.Errorf("%q, known %t, after %s", n.model, n.known, time.Since(begin))
				}
				if c.known {
					return
				}
				n.models = func(context.Context) ([]string, error) { return []string{"tiny"}, nil }
				h := &Host{env: &Env{Stderr: plain.NewWriter(&out)}, log: slog.New(slog.DiscardHandler)}
				if h.askModels(t.Context(), n); out.String() != c.later {
					t.Errorf("said later\n%s", out.String())
				}
			})
		})
	}
}
