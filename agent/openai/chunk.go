package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// chunk is an event of a stream, or a whole answer, which has a message instead of a
// delta. Members that vendors add are ignored.
type chunk struct {
	ID      string   `json:"id"`
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage"`
	failure
}

type choice struct {
	Index   int    `json:"index"`
	Delta   *delta `json:"delta"`
	Message *delta `json:"message"`
	Finish  string `json:"finish_reason"`
}

type delta struct {
	Content   said        `json:"content"`
	Refusal   string      `json:"refusal"`
	Reasoning string      `json:"reasoning_content"` // DeepSeek, and many others since
	Thinking  string      `json:"reasoning"`         // OpenRouter, vLLM
	ToolCalls []callDelta `json:"tool_calls"`
}

// callDelta is a piece of a call, or a whole one.
type callDelta struct {
	Index    *int   `json:"index"` // missing with Gemini and older Ollamas
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"` // a string, or the object itself
	} `json:"function"`
	Extra json.RawMessage `json:"extra_content"`
}

// usage is what a request used, in tokens.
type usage struct {
	Prompt     count `json:"prompt_tokens"`
	Completion count `json:"completion_tokens"`
	Total      count `json:"total_tokens"`
}

// count is a number, which some endpoints write as 19.0. A missing or impossible number
// counts as 0, so that it does not fail the answer.
type count int64

func (n *count) UnmarshalJSON(b []byte) error {
	v, err := strconv.ParseFloat(string(b), 64)
	if err != nil || !(v >= 0 && v < 1<<53) {
		v = 0
	}
	*n = count(v)
	return nil
}

// said is text: a string, null, or a list of pieces, as Mistral sends it.
type said string

func (s *said) UnmarshalJSON(b []byte) error {
	if len(b) == 0 || b[0] != '[' {
		return json.Unmarshal(b, (*string)(s))
	}
	var list []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(b, &list); err != nil {
		return err
	}
	for _, c := range list {
		if c.Type == "text" {
			*s += said(c.Text)
		}
	}
	return nil
}

// failure is an error of an endpoint, in one of these forms: {"error":{...}},
// {"error":"..."}, {"object":"error","message":...} (vLLM, Mistral), {"detail":...}
// (FastAPI).
type failure struct {
	Error   json.RawMessage `json:"error"`
	Object  string          `json:"object"`
	Message json.RawMessage `json:"message"`
	Detail  json.RawMessage `json:"detail"`
	Code    json.RawMessage `json:"code"`
}

// found returns the error, or nil if there is none.
func (f *failure) found() *apiError {
	switch {
	case len(f.Error) > 0 && string(f.Error) != "null":
		var e struct {
			Message string          `json:"message"`
			Type    string          `json:"type"`
			Param   string          `json:"param"`
			Code    json.RawMessage `json:"code"`
		}
		if json.Unmarshal(f.Error, &e) != nil {
			return &apiError{Message: plain(f.Error)}
		}
		return &apiError{e.Message, e.Type, e.Param, plain(e.Code)}
	case f.Object == "error":
		return &apiError{Message: plain(f.Message), Code: plain(f.Code)}
	case len(f.Detail) > 0:
		return &apiError{Message: plain(f.Detail)}
	case f.Object == "" && len(f.Message) > 0 && string(f.Message) != "null":
		return &apiError{Message: plain(f.Message), Code: plain(f.Code)}
	}
	return nil
}

// plain returns a JSON string's text, or any other value as it is.
func plain(b json.RawMessage) string {
	var s string
	if json.Unmarshal(b, &s) == nil {
		return s
	}
	return string(b)
}

// apiError is an error that an endpoint reports. It may quote the request, and so the
// caller's text; it is only logged.
type apiError struct {
	Message, Type, Param, Code string
}

func (e *apiError) Error() string {
	var b strings.Builder
	b.WriteString(short(e.Message, 500))
	for _, s := range []string{e.Type, e.Param, e.Code} {
		if s != "" && s != "null" {
			fmt.Fprintf(&b, " (%s)", short(s, 100))
		}
	}
	return b.String()
}

// status returns the code if it is an HTTP status, as with OpenRouter, or 0.
func (e *apiError) status() int {
	n, err := strconv.Atoi(e.Code)
	if err != nil || n < 400 || n > 599 {
		return 0
	}
	return n
}

func (e *apiError) has(words ...string) bool {
	all := strings.ToLower(e.Message + " " + e.Type + " " + e.Param + " " + e.Code)
	for _, w := range words {
		if strings.Contains(all, w) {
			return true
		}
	}
	return false
}

// readError returns the error in a body. Gemini puts it into a list.
func readError(body []byte) *apiError {
	var f failure
	trimmed := bytes.TrimSpace(body)
	if bytes.HasPrefix(trimmed, []byte("[")) {
		var list []failure
		if json.Unmarshal(trimmed, &list) == nil && len(list) > 0 {
			f = list[0]
		}
	} else {
		_ = json.Unmarshal(trimmed, &f) // if this fails, the text of the body is used
	}
	if e := f.found(); e != nil {
		return e
	}
	return &apiError{Message: string(trimmed)}
}

var errNotJSON = errors.New("an event of the stream is not JSON")

// readChunks returns the chunks in an event's data: one, or several lines of them from
// endpoints that put only one line break between events. done says that [DONE] was
// among them.
func readChunks(data []byte) (chunks []chunk, done bool, err error) {
	data = bytes.TrimSpace(data)
	if string(data) == "[DONE]" {
		return nil, true, nil
	}
	if c, err := readChunk(data); err == nil {
		return []chunk{*c}, false, nil
	}
	for line := range bytes.Lines(data) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		if string(line) == "[DONE]" {
			return chunks, true, nil
		}
		c, err := readChunk(line)
		if err != nil {
			return chunks, false, fmt.Errorf("%w: %w: %q", errNotJSON, err, short(string(line), 200))
		}
		chunks = append(chunks, *c)
	}
	return chunks, false, nil
}

// readChunk decodes one chunk. A member of the wrong type is left out, because a member
// that is not used must not fail the answer.
func readChunk(doc []byte) (*chunk, error) {
	if !bytes.HasPrefix(doc, []byte("{")) {
		return nil, errNotJSON
	}
	var c chunk
	err := json.Unmarshal(doc, &c)
	if _, other := errors.AsType[*json.UnmarshalTypeError](err); err != nil && !other {
		return nil, err
	}
	return &c, nil
}

// short truncates s for a log.
func short(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
