package dialect

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/parley-a2a/parley/a2a"
)

// appender is implemented by every request and result type of package a2a.
type appender interface{ AppendJSON(dst []byte) []byte }

// plainAppender is implemented by the types that may contain generations.
type plainAppender interface{ AppendPlain(dst []byte) []byte }

// v1Codec is version 1.0, which is the model itself: nothing is lost but the
// generations and timelines of the 1.1 draft. They are neither read nor written without
// the flag, so that no 1.0 reader meets a member it does not know.
type v1Codec struct{ draft bool }

func (c v1Codec) DecodeRequest(op Op, doc []byte) (any, error) {
	if len(doc) == 0 {
		doc = noParams
	}
	if !isObject(doc) {
		return nil, a2a.Invalid("params", "must be an object")
	}
	req := NewRequest(op)
	if err := req.(json.Unmarshaler).UnmarshalJSON(doc); err != nil {
		return nil, asInvalid(err, "params")
	}
	encoded(req)
	return c.readable(req), nil
}

// noParams stands for absent params: JSON-RPC lets a client omit them, and a check of
// the operation's required fields then names what is missing.
var noParams = []byte("{}")

// readable removes from a request what version 1.0 does not have, or completes one of
// the 1.1 draft.
func (c v1Codec) readable(req any) any {
	if c.draft {
		return drafted(req)
	}
	switch r := req.(type) {
	case *a2a.GetTaskRequest:
		r.CurrentGeneration, r.TimelineLength = nil, nil
	case *a2a.ListTasksRequest:
		r.TimelineLength = nil
	case *a2a.SendMessageRequest:
		if r.Message != nil {
			r.Message.ElicitationIDs = nil
		}
		if k := r.Configuration; k != nil {
			k.IfGenerationMatch, k.TimelineLength = nil, nil
			if k.TaskPushNotificationConfig != nil {
				k.TaskPushNotificationConfig.ProtocolVersion = ""
			}
		}
	case *a2a.TaskPushNotificationConfig:
		r.ProtocolVersion = ""
	}
	return req
}

// drafted completes a request of the 1.1 draft: except in lists, the answer has a
// timeline unless the client declines it, and webhooks are in the version of the
// request unless they name another.
func drafted(req any) any {
	all := func(n **int32) {
		if *n == nil {
			*n = new(int32(a2a.MaxTimeline))
		}
	}
	webhook := func(c *a2a.TaskPushNotificationConfig) {
		if c != nil && c.ProtocolVersion == "" {
			c.ProtocolVersion = V11.Version()
		}
	}
	switch r := req.(type) {
	case *a2a.GetTaskRequest:
		all(&r.TimelineLength)
	case *a2a.SubscribeToTaskRequest:
		r.Timeline = true
	case *a2a.SendMessageRequest:
		if r.Configuration == nil {
			r.Configuration = new(a2a.SendMessageConfiguration)
		}
		all(&r.Configuration.TimelineLength)
		webhook(r.Configuration.TaskPushNotificationConfig)
	case *a2a.TaskPushNotificationConfig:
		webhook(r)
	}
	return req
}

// encoded allows tasks to be returned as they are stored, so that AppendResult copies
// them. It is apart from readable, which gRPC shares.
func encoded(req any) {
	switch r := req.(type) {
	case *a2a.GetTaskRequest:
		r.Encoded = true
	case *a2a.ListTasksRequest:
		r.Encoded = true
	}
}

// isObject looks only at the beginning of a document.
func isObject(doc []byte) bool {
	b := bytes.TrimLeft(doc[:min(len(doc), 64)], " \t\r\n")
	return len(b) == 0 || b[0] == '{'
}

func asInvalid(err error, where string) error {
	var e *a2a.Error
	if errors.As(err, &e) {
		return e
	}
	return a2a.Invalid(where, "cannot be read")
}

func (c v1Codec) AppendRequest(dst []byte, _ Op, req any) []byte {
	return req.(appender).AppendJSON(dst)
}

// AppendResult writes null for a delete, as official servers send it.
func (c v1Codec) AppendResult(dst []byte, _ Op, _, result any) []byte {
	if result == nil {
		return append(dst, "null"...)
	}
	if r, ok := result.(plainAppender); ok && !c.draft {
		return r.AppendPlain(dst)
	}
	return result.(appender).AppendJSON(dst)
}

func (c v1Codec) DecodeResult(op Op, _ any, doc []byte) (any, error) {
	return decodeResult(op, doc)
}

func decodeResult(op Op, doc []byte) (any, error) {
	res := NewResult(op)
	if res == nil {
		return nil, nil
	}
	if len(doc) == 0 || string(doc) == "null" {
		return nil, a2a.Errorf(a2a.CodeInvalidAgentResponse, "the agent's answer to %s has no result", op)
	}
	if err := a2a.UnmarshalAnswer(doc, res.(json.Unmarshaler)); err != nil {
		return nil, unreadable(op, err)
	}
	return res, nil
}

// unreadable returns the error for an answer that cannot be read, which names the wrong
// member.
func unreadable(op Op, err error) error {
	what := "the agent's answer to " + op.String() + " cannot be read"
	if e, ok := errors.AsType[*a2a.Error](err); ok {
		what += ": " + clip(e.Message, maxErrorDetail)
	}
	return &a2a.Error{Code: a2a.CodeInvalidAgentResponse, Message: what, Cause: err}
}

func (v1Codec) field(_ Op, name string) string { return name }

func (c v1Codec) Events(Op, any) Events { return v1Events(c) }

type v1Events v1Codec

func (e v1Events) Append(dst []byte, el *a2a.StreamResponse, _ int) ([]byte, bool) {
	if e.draft {
		return el.AppendJSON(dst), false
	}
	return el.AppendPlain(dst), false
}

func (v1Events) Ended() bool { return false }

func (c v1Codec) DecodeEvent(op Op, _ any, doc []byte) ([]*a2a.StreamResponse, error) {
	res, err := decodeResult(op, doc)
	if err != nil {
		return nil, err
	}
	return []*a2a.StreamResponse{res.(*a2a.StreamResponse)}, nil
}
