package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// chunk is an event of a stream, or a whole answer: the latter has a message where
// the former has a delta. What vendors add is ignored.
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
	Reasoning string      `json:"reasoning_content"` // DeepSeek and many that followed
	Thinking  string      `json:"reasoning"`         // OpenRouter, vLLM
	ToolCalls []callDelta `json:"tool_calls"`
}

// callDelta is a bit of a call, or a whole one.
type callDelta struct {
	Index    *int   `json:"index"` // not there with Gemini and older Ollamas
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"` // a string, or the object itself
	} `json:"function"`
	Extra json.RawMessage `json:"extra_content"`
}

// usage is what a request took, in tokens.
type usage struct {
	Prompt     count `json:"prompt_tokens"`
	Completion count `json:"completion_tokens"`
	Total      count `json:"total_tokens"`
}

// count is a number that some write as 19.0. A number that is missing or
// impossible counts as 0: it must not cost the answer.
type count int64

func (n *count) UnmarshalJSON(b []byte) error {
	v, err := strconv.ParseFloat(string(b), 64)
	if err != nil || !(v >= 0 && v < 1<<53) {
		v = 0
	}
	*n = count(v)
	return nil
}

// said is text: a string, null, or a list of pieces as Mistral has it.
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

// failure is how endpoints say what is wrong: {"error":{...}}, {"error":"..."},
// {"object":"error","message":...} (vLLM, Mistral), {"detail":...} (FastAPI).
type failure struct {
	Error   json.RawMessage `json:"error"`
	Object  string          `json:"object"`
	Message json.RawMessage `json:"message"`
	Detail  json.RawMessage `json:"detail"`
	Code    json.RawMessage `json:"code"`
}

// found returns what is wrong, or nil.
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

// plain is a JSON string's text, or any other value as it is.
func plain(b json.RawMessage) string {
	var s string
	if json.Unmarshal(b, &s) == nil {
		return s
	}
	return string(b)
}

// apiError is what an endpoint says is wrong. It may quote the request, and with
// it the caller; it is for the log.
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

// status is the code as an HTTP status where it is one, as with OpenRouter, or 0.
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

// readError makes of a body what it says is wrong. Gemini puts it into a list.
func readError(body []byte) *apiError {
	var f failure
	trimmed := bytes.TrimSpace(body)
	if bytes.HasPrefix(trimmed, []byte("[")) {
		var list []failure
		if json.Unmarshal(trimmed, &list) == nil && len(list) > 0 {
			f = list[0]
		}
	} else {
		_ = json.Unmarshal(trimmed, &f) // the text says it, if this does not
	}
	if e := f.found(); e != nil {
		return e
	}
	return &apiError{Message: string(trimmed)}
}

var errNotJSON = errors.New("an event of the stream is not JSON")

// readChunks are the chunks in an event's data: one, or several lines of them from
// endpoints that put a single line break between events. done says that [DONE]
// was among them.
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

// readChunk reads one. A member of another type than it should have is left out,
// for what nobody looks at must not cost the answer.
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

// short bounds what goes into a log.
func short(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
