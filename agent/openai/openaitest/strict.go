package openaitest

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// members are the members of a request in the API's reference.
var members = []string{
	"audio", "frequency_penalty", "function_call", "functions", "logit_bias", "logprobs", "max_completion_tokens", "max_tokens",
	"messages", "metadata", "modalities", "model", "n", "parallel_tool_calls", "prediction", "presence_penalty",
	"prompt_cache_key", "reasoning_effort", "response_format", "safety_identifier", "seed", "service_tier", "stop", "store",
	"stream", "stream_options", "temperature", "tool_choice", "tools", "top_logprobs", "top_p", "user", "verbosity", "web_search_options",
}

// check returns the error of the real API, or nil if it would accept the request.
func (s *Server) check(body map[string]any) *refusal {
	for name := range body {
		if !slices.Contains(members, name) {
			return invalid(name, "Unrecognized request argument supplied: "+name)
		}
		if !slices.Contains(s.Refuse, name) {
			continue
		}
		if name == "max_tokens" {
			return &refusal{Status: 400, Type: "invalid_request_error", Param: name, Code: "unsupported_parameter",
				Message: "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."}
		}
		return &refusal{Status: 422, Type: "invalid_request_error", Param: name, Message: "Extra inputs are not permitted: " + name}
	}
	if m, ok := body["model"].(string); !ok || m == "" {
		return invalid("model", "you must provide a model parameter")
	}
	messages, ok := body["messages"].([]any)
	if !ok || len(messages) == 0 {
		return invalid("messages", "Missing required parameter: 'messages'.")
	}
	if bad := checkMessages(messages); bad != nil {
		return bad
	}
	if bad := checkTools(body); bad != nil {
		return bad
	}
	if bad := s.checkFormat(body, messages); bad != nil {
		return bad
	}
	return checkRest(body)
}

func checkRest(body map[string]any) *refusal {
	if _, has := body["stream_options"]; has && body["stream"] != true {
		return invalid("stream_options", "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	}
	if t, has := body["temperature"]; has {
		if v, ok := t.(float64); !ok || v < 0 || v > 2 {
			return invalid("temperature", "Invalid 'temperature': decimal above maximum value.")
		}
	}
	for _, name := range []string{"max_tokens", "max_completion_tokens"} {
		if n, has := body[name]; has {
			if v, ok := n.(float64); !ok || v < 1 || v != float64(int64(v)) {
				return invalid(name, "Invalid '"+name+"': integer below minimum value.")
			}
		}
	}
	if body["max_tokens"] != nil && body["max_completion_tokens"] != nil {
		return invalid("max_tokens", "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
	}
	return nil
}

func checkMessages(messages []any) *refusal {
	waiting := map[string]bool{} // ids of calls without a result
	for i, m := range messages {
		at := fmt.Sprintf("messages[%d]", i)
		msg, ok := m.(map[string]any)
		if !ok {
			return invalid(at, "Invalid type for '"+at+"': expected an object.")
		}
		role, _ := msg["role"].(string)
		if role != "tool" && len(waiting) > 0 {
			return invalid(at, "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.")
		}
		for name := range msg {
			if !slices.Contains([]string{"role", "content", "name", "tool_calls", "tool_call_id", "refusal", "reasoning_content"}, name) {
				return invalid(at+"."+name, "Unknown parameter: '"+at+"."+name+"'.")
			}
		}
		switch role {
		case "system", "developer":
			if _, ok := msg["content"].(string); !ok {
				return invalid(at+".content", "Invalid type for '"+at+".content': expected a string.")
			}
		case "user":
			if bad := checkContent(at, msg["content"]); bad != nil {
				return bad
			}
		case "assistant":
			calls, has := msg["tool_calls"].([]any)
			if _, ok := msg["content"].(string); !ok && !has {
				return invalid(at+".content", "Invalid value for 'content': expected a string, got null.")
			}
			if bad := checkCalls(at, calls, waiting); bad != nil {
				return bad
			}
		case "tool":
			id, _ := msg["tool_call_id"].(string)
			if !waiting[id] {
				return invalid(at+".tool_call_id", "messages with role 'tool' must be a response to a preceding message with 'tool_calls'.")
			}
			delete(waiting, id)
			if _, ok := msg["content"].(string); !ok {
				return invalid(at+".content", "Invalid type for '"+at+".content': expected a string.")
			}
		default:
			return invalid(at+".role", fmt.Sprintf("Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.", role))
		}
	}
	if len(waiting) > 0 {
		return invalid("messages", "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.")
	}
	return nil
}

func checkContent(at string, content any) *refusal {
	if _, ok := content.(string); ok {
		return nil
	}
	list, ok := content.([]any)
	if !ok || len(list) == 0 {
		return invalid(at+".content", "Invalid type for '"+at+".content': expected one of a string or array of objects.")
	}
	for j, c := range list {
		at := fmt.Sprintf("%s.content[%d]", at, j)
		m, _ := c.(map[string]any)
		switch m["type"] {
		case "text":
			if _, ok := m["text"].(string); !ok {
				return invalid(at+".text", "Missing required parameter: '"+at+".text'.")
			}
		case "image_url":
			u, _ := m["image_url"].(map[string]any)
			link, _ := u["url"].(string)
			if !strings.HasPrefix(link, "http://") && !strings.HasPrefix(link, "https://") && !isDataURL(link, "image/") {
				return invalid(at, "Invalid image URL. The URL must be a valid HTTP or HTTPS URL, or a data URL with base64 encoding.")
			}
		case "file":
			f, _ := m["file"].(map[string]any)
			data, _ := f["file_data"].(string)
			if name, _ := f["filename"].(string); name == "" || !isDataURL(data, "") {
				return invalid(at, "Invalid file data: '"+at+".file.file_data'. Expected a base64-encoded data URL with a filename.")
			}
		default:
			return invalid(at+".type", fmt.Sprintf("Invalid value: '%v'. Supported values are: 'text', 'image_url', 'input_audio', 'refusal', 'audio', and 'file'.", m["type"]))
		}
	}
	return nil
}

func isDataURL(s, media string) bool {
	rest, ok := strings.CutPrefix(s, "data:"+media)
	_, data, found := strings.Cut(rest, ";base64,")
	_, err := base64.StdEncoding.DecodeString(data)
	return ok && found && err == nil
}

var name64 = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func checkCalls(at string, calls []any, waiting map[string]bool) *refusal {
	for j, c := range calls {
		at := fmt.Sprintf("%s.tool_calls[%d]", at, j)
		m, _ := c.(map[string]any)
		f, _ := m["function"].(map[string]any)
		id, _ := m["id"].(string)
		name, _ := f["name"].(string)
		_, text := f["arguments"].(string)
		switch {
		case id == "" || waiting[id]:
			return invalid(at+".id", "Invalid '"+at+".id': empty or used twice.")
		case m["type"] != "function":
			return invalid(at+".type", "Missing required parameter: '"+at+".type'.")
		case !name64.MatchString(name):
			return invalid(at+".function.name", "Invalid '"+at+".function.name': string does not match pattern.")
		case !text:
			return invalid(at+".function.arguments", "Invalid type for '"+at+".function.arguments': expected a string.")
		}
		waiting[id] = true
	}
	return nil
}

func checkTools(body map[string]any) *refusal {
	tools, has := body["tools"].([]any)
	if !has {
		if body["tool_choice"] != nil {
			return invalid("tool_choice", "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.")
		}
		return nil
	}
	if len(tools) == 0 || len(tools) > 128 {
		return invalid("tools", "Invalid 'tools': expected an array with length between 1 and 128.")
	}
	seen := map[string]bool{}
	for i, t := range tools {
		at := fmt.Sprintf("tools[%d]", i)
		m, _ := t.(map[string]any)
		f, _ := m["function"].(map[string]any)
		name, _ := f["name"].(string)
		if m["type"] != "function" || !name64.MatchString(name) || seen[name] {
			return invalid(at+".function.name", "Invalid '"+at+".function.name': string does not match pattern '^[a-zA-Z0-9_-]+$', is too long, or is not unique.")
		}
		seen[name] = true
		if p, has := f["parameters"]; has {
			if schema, ok := p.(map[string]any); !ok || schema["type"] != "object" {
				return invalid(at+".function.parameters", `Invalid schema for function '`+name+`': schema must be a JSON Schema of 'type: "object"'.`)
			}
		}
	}
	return nil
}

func (s *Server) checkFormat(body map[string]any, messages []any) *refusal {
	format, has := body["response_format"].(map[string]any)
	if !has {
		return nil
	}
	switch format["type"] {
	case "text":
	case "json_object":
		if slices.Contains(s.Refuse, "json_object") {
			return invalid("response_format", "'response_format.type' must be 'json_schema' or 'text'")
		}
		for _, m := range messages {
			if strings.Contains(strings.ToLower(textIn(m.(map[string]any)["content"])), "json") {
				return nil
			}
		}
		return invalid("messages", "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.")
	case "json_schema":
		if slices.Contains(s.Refuse, "json_schema") {
			return invalid("response_format", "This response_format type is unavailable now")
		}
		f, _ := format["json_schema"].(map[string]any)
		name, _ := f["name"].(string)
		if _, ok := f["schema"].(map[string]any); !ok || !name64.MatchString(name) {
			return invalid("response_format.json_schema", "Invalid 'response_format.json_schema.name': string does not match pattern.")
		}
	default:
		return invalid("response_format.type", "Invalid value for 'response_format.type'.")
	}
	return nil
}
