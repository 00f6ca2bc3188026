package openaitest

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"time"
)

// Answer is the endpoint's reaction to one request.
type Answer struct {
	Status int // 0: 200
	Header map[string]string
	Pieces []string      // of the body, each sent by itself
	Every  time.Duration // between two pieces
	// Until, if not nil, delays the last piece until it is closed.
	Until <-chan struct{}
	// Cut breaks the connection after the last piece, instead of ending the answer.
	Cut bool
}

// stream is the header of a streamed answer.
var stream = map[string]string{"Content-Type": "text/event-stream; charset=utf-8"}

// Text is a streamed answer of these tokens, as OpenAI sends it.
func Text(tokens ...string) Answer {
	pieces := []string{event(map[string]any{"role": "assistant", "content": "", "refusal": nil}, nil)}
	for _, t := range tokens {
		pieces = append(pieces, event(map[string]any{"content": t}, nil))
	}
	return ended(pieces, "stop", len(tokens))
}

// Call is a streamed answer that calls a tool, with its arguments in two pieces.
func Call(id, name, args string) Answer {
	half := len(args) / 2
	one := func(m map[string]any) map[string]any { return map[string]any{"tool_calls": []any{m}} }
	return ended([]string{
		event(map[string]any{"role": "assistant", "content": nil}, nil),
		event(one(map[string]any{"index": 0, "id": id, "type": "function", "function": map[string]any{"name": name, "arguments": ""}}), nil),
		event(one(map[string]any{"index": 0, "function": map[string]any{"arguments": args[:half]}}), nil),
		event(one(map[string]any{"index": 0, "function": map[string]any{"arguments": args[half:]}}), nil),
	}, "tool_calls", 10)
}

// End is Text with another reason for its end, such as length.
func End(finish string, tokens ...string) Answer {
	a := Text(tokens...)
	return ended(a.Pieces[:len(tokens)+1], finish, len(tokens))
}

// Error is an answer with an error in place of a completion.
func Error(status int, code, message string) Answer {
	doc, _ := json.Marshal(map[string]any{"error": &refusal{Message: message, Type: "error", Code: code}})
	return Answer{Status: status, Header: map[string]string{"Content-Type": "application/json"}, Pieces: []string{string(doc)}}
}

// Stream is a stream of these bytes.
func Stream(pieces ...string) Answer { return Answer{Header: stream, Pieces: pieces} }

// JSON is an answer that is not streamed.
func JSON(doc string) Answer {
	return Answer{Header: map[string]string{"Content-Type": "application/json"}, Pieces: []string{doc}}
}

//go:embed testdata/*.sse
var fixtures embed.FS

// Fixture is a stream as a vendor's server sends it; testdata/README.md names the
// vendors and the peculiarities. It panics if there is no stream of that name.
func Fixture(name string) Answer {
	b, err := fixtures.ReadFile("testdata/" + name + ".sse")
	if err != nil {
		panic(err)
	}
	return Stream(string(b))
}

// Fixtures returns the names of all fixtures.
func Fixtures() []string {
	files, err := fs.Glob(fixtures, "testdata/*.sse")
	if err != nil {
		panic(err)
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(strings.TrimPrefix(f, "testdata/"), ".sse")
	}
	return files
}

func event(delta map[string]any, finish any) string {
	doc, err := json.Marshal(map[string]any{
		"id": "chatcmpl-fake", "object": "chat.completion.chunk", "created": 1764547200, "model": "fake-1",
		"choices": []any{map[string]any{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": finish}},
	})
	if err != nil {
		panic(err)
	}
	return "data: " + string(doc) + "\n\n"
}

func ended(pieces []string, finish string, tokens int) Answer {
	const prompt = 7
	return Stream(append(pieces[:len(pieces):len(pieces)],
		event(map[string]any{}, finish),
		fmt.Sprintf(`data: {"id":"chatcmpl-fake","object":"chat.completion.chunk","model":"fake-1","choices":[],`+
			`"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}}`+"\n\n", prompt, tokens, prompt+tokens),
		"data: [DONE]\n\n")...)
}

// echo answers with the text of the last message.
func echo(body map[string]any) Answer {
	messages := body["messages"].([]any)
	last := messages[len(messages)-1].(map[string]any)
	text := textIn(last["content"])
	if body["stream"] != true {
		doc, err := json.Marshal(map[string]any{
			"id": "chatcmpl-fake", "object": "chat.completion", "model": "fake-1",
			"choices": []any{map[string]any{
				"index": 0, "finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": text},
			}},
		})
		if err != nil {
			panic(err)
		}
		return JSON(string(doc))
	}
	return Text(strings.SplitAfter(text, " ")...)
}

func textIn(content any) string {
	if s, ok := content.(string); ok {
		return s
	}
	var b strings.Builder
	list, _ := content.([]any)
	for _, c := range list {
		if m, ok := c.(map[string]any); ok {
			s, _ := m["text"].(string)
			b.WriteString(s)
		}
	}
	return b.String()
}

// play writes the answer, until the client leaves.
func (a *Answer) play(w http.ResponseWriter, r *http.Request) {
	for k, v := range a.Header {
		w.Header().Set(k, v)
	}
	if a.Status != 0 {
		w.WriteHeader(a.Status)
	}
	for i, p := range a.Pieces {
		if i > 0 && !pause(r, a.Every) {
			return
		}
		if a.Until != nil && i == len(a.Pieces)-1 {
			select {
			case <-a.Until:
			case <-r.Context().Done():
				return
			}
		}
		if _, err := w.Write([]byte(p)); err != nil {
			return
		}
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
	}
	if a.Cut {
		panic(http.ErrAbortHandler)
	}
}
