//go:build unix

package agent

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

// TestRecipes runs the recipes with the real packages, if "make recipes" has fetched them.
func TestRecipes(t *testing.T) {
	const dir = "../hosts/typescript/recipes"
	if _, err := os.Stat(dir + "/node_modules"); err != nil {
		t.Skip("the packages are not there: make recipes")
	}
	model := httptest.NewServer(http.HandlerFunc(clerk))
	defer model.Close()
	for _, r := range []struct {
		file, text string
		answers    []string
		want       []string
	}{
		{"vercel-ai.mjs", "say hello", nil, []string{`>answer "you said"`, `+ " say hello"`, `+. ""`}},
		{"vercel-ai.mjs", "break", nil, []string{`failed "the agent failed (AI_APICallError)"`}},
		{"openai-agents.mjs", "hello", nil, []string{`reply "you said hello"`}},
		{"openai-agents.mjs", "refund 17", []string{"yes"}, []string{`input_required "May I refund {\"order\":\"17\"}? Say yes to allow it."`, `reply "tool said: order 17 is refunded"`}},
		{"openai-agents.mjs", "refund 17", []string{"no"}, []string{`input_required "May I refund {\"order\":\"17\"}? Say yes to allow it."`, `reply "tool said: Tool execution was not approved."`}},
		{"langgraph.mjs", "rain", []string{"yes"}, []string{`input_required "Publish \"A poem about rain\"?"`, `>poem.txt. "A poem about rain"`, `completed "The verdict was: yes"`}},
	} {
		t.Run(r.file+" "+r.text, func(t *testing.T) {
			h := newHost(r.text)
			h.answers = make(chan *a2a.Message, 1)
			for _, text := range r.answers {
				h.answers <- &a2a.Message{Parts: []*a2a.Part{a2a.TextPart(text)}}
			}
			c := Exec([]string{"node", r.file}, &ExecOptions{Mode: ExecLines, Dir: dir, Env: []string{
				"MODEL=clerk", "MODEL_URL=" + model.URL, "MODEL_KEY=none", "OPENAI_BASE_URL=" + model.URL, "OPENAI_API_KEY=none",
			}})
			if err := c.Run(t.Context(), NewTurn(h)); err != nil {
				t.Fatal(err)
			}
			wantDemo(t, h, r.want...)
		})
	}
}

// clerk is a model that says what it was told. Asked for a refund it calls the tool for it.
func clerk(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Stream   bool
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil || len(request.Messages) == 0 {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	last := request.Messages[len(request.Messages)-1]
	said := strings.Trim(string(last.Content), `"`)
	order, refund := strings.CutPrefix(said, "refund ")
	message := map[string]any{"role": "assistant", "content": "you said " + said}
	switch {
	case said == "break":
		http.Error(w, "no", http.StatusBadRequest)
		return
	case last.Role == "tool":
		message["content"] = "tool said: " + said
	case refund:
		message["content"] = nil
		message["tool_calls"] = []any{map[string]any{"id": "1", "type": "function", "function": map[string]any{"name": "refund", "arguments": fmt.Sprintf(`{"order":%q}`, order)}}}
	}
	if !request.Stream {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"id": "1", "object": "chat.completion", "choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": "stop"}}})
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, text := range []string{"you said", " " + said} {
		fmt.Fprintf(w, "data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", text)
	}
	fmt.Fprint(w, "data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
}
