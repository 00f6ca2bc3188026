package conformance

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/agent"
)

// codes are the errors of the protocol as the specification maps them (§5.4).
var codes = map[string]struct {
	rpc, http int
	grpc      string
}{
	"TASK_NOT_FOUND":                     {-32001, 404, "NOT_FOUND"},
	"TASK_NOT_CANCELABLE":                {-32002, 400, "FAILED_PRECONDITION"},
	"PUSH_NOTIFICATION_NOT_SUPPORTED":    {-32003, 400, "FAILED_PRECONDITION"},
	"UNSUPPORTED_OPERATION":              {-32004, 400, "FAILED_PRECONDITION"},
	"CONTENT_TYPE_NOT_SUPPORTED":         {-32005, 400, "INVALID_ARGUMENT"},
	"EXTENDED_AGENT_CARD_NOT_CONFIGURED": {-32007, 400, "FAILED_PRECONDITION"},
	"EXTENSION_SUPPORT_REQUIRED":         {-32008, 400, "FAILED_PRECONDITION"},
	"VERSION_NOT_SUPPORTED":              {-32009, 400, "FAILED_PRECONDITION"},
}

// invalid is what validation errors are called in these tests. Their reason is
// not fixed by the specification.
const invalid = "invalid"

// refused makes a call that must fail in this way.
func (w *wire) refused(t *testing.T, reason, op string, params any, headers ...string) *fault {
	t.Helper()
	a := w.call(t, op, params, headers...)
	w.wantFault(t, a, reason, op+" "+compact(params))
	return a.fault
}

func (w *wire) wantFault(t *testing.T, a answer, reason, what string) {
	t.Helper()
	if a.fault == nil {
		t.Fatalf("%s is answered with %d %s, want the error %s", what, a.status, a.body, reason)
	}
	row, known := codes[reason]
	if !known {
		row.rpc, row.http, row.grpc = -32602, 400, "INVALID_ARGUMENT"
	}
	if known && a.fault.reason() != reason {
		t.Errorf("%s: reason %q, want %q: %s", what, a.fault.reason(), reason, a.body)
	}
	code, status, grpc := row.http, row.http, row.grpc
	if w.binding == jsonrpc {
		code, status, grpc = row.rpc, http.StatusOK, ""
	}
	if w.binding == grpcBinding { // it has no other code than its status
		code, status, a.fault.code = 0, 0, "0"
	}
	if a.fault.code != strconv.Itoa(code) || a.status != status || a.fault.status != grpc {
		t.Errorf("%s: HTTP %d, code %s, status %q; want HTTP %d, code %d, status %q: %s",
			what, a.status, a.fault.code, a.fault.status, status, code, grpc, a.body)
	}
	if a.fault.message == "" {
		t.Errorf("%s: no message: %s", what, a.body)
	}
}

// TestConformanceErrors provokes every error once and looks at its form.
func TestConformanceErrors(t *testing.T) {
	each(t, withoutPush(), agent.Demo, func(t *testing.T, w *wire) {
		done := text(w.send(t, say("echo x")), "id")
		provoked := []struct {
			reason, op string
			params     obj
			headers    []string
		}{
			{"TASK_NOT_FOUND", "GetTask", obj{"id": "no-such-task"}, nil},
			{"TASK_NOT_CANCELABLE", "CancelTask", obj{"id": done}, nil},
			{"PUSH_NOTIFICATION_NOT_SUPPORTED", "ListTaskPushNotificationConfigs", obj{"taskId": done}, nil},
			{"UNSUPPORTED_OPERATION", "SubscribeToTask", obj{"id": done}, nil},
			{"CONTENT_TYPE_NOT_SUPPORTED", "SendMessage", obj{"message": say("", "parts", []any{obj{"text": "x", "mediaType": "video/mp4"}})}, nil},
			{"UNSUPPORTED_OPERATION", "GetExtendedAgentCard", obj{}, nil},
			{"VERSION_NOT_SUPPORTED", "GetTask", obj{"id": done}, []string{"A2A-Version", "99.0"}},
			{invalid, "SendMessage", obj{"message": say("x", "role", "ROLE_NOBODY")}, nil},
			{invalid, "ListTasks", obj{"pageSize": 101}, nil},
		}
		t.Run("R-165 R-161 R-087 codes and statuses are those of the table", func(t *testing.T) {
			for _, p := range provoked {
				w.refused(t, p.reason, p.op, p.params, p.headers...)
			}
		})
		if w.binding == grpcBinding {
			return // the rest is about JSON; TestConformanceGRPC has what is like it
		}
		t.Run("R-084 R-223 R-243 every error has a code and a message", func(t *testing.T) {
			for _, p := range provoked {
				a := w.call(t, p.op, p.params, p.headers...)
				member := in(decode(t, a.body), "error.code")
				if _, number := member.(json.Number); !number || a.fault == nil || a.fault.message == "" {
					t.Errorf("%s: %s", p.op, a.body)
				}
				if w.binding == rest && fmt.Sprint(member) != strconv.Itoa(a.status) {
					t.Errorf("%s: code %v in an answer with status %d", p.op, member, a.status)
				}
			}
		})
		t.Run("R-224 codes of A2A are within -32001 to -32099", func(t *testing.T) {
			for _, p := range provoked {
				f := w.over(jsonrpc).refused(t, p.reason, p.op, p.params, p.headers...)
				n, err := strconv.Atoi(f.code)
				if err != nil || p.reason != invalid && (n > -32001 || n < -32099) {
					t.Errorf("%s: code %s", p.op, f.code)
				}
			}
		})
		t.Run("R-085 R-086 R-225 R-226 R-244 R-245 details are typed, A2A errors carry ErrorInfo", func(t *testing.T) {
			for _, p := range provoked {
				f := w.refused(t, p.reason, p.op, p.params, p.headers...)
				if len(f.details) == 0 {
					t.Errorf("%s: no details", p.op)
				}
				for _, d := range f.details {
					kind, known := strings.CutPrefix(text(d, "@type"), "type.googleapis.com/google.rpc.")
					if !known {
						t.Errorf("%s: a detail without a well-known @type: %s", p.op, compact(d))
					}
					if kind == "ErrorInfo" && p.reason != invalid {
						equal(t, "domain", in(d, "domain"), "a2a-protocol.org")
						equal(t, "reason", in(d, "reason"), p.reason)
					}
				}
			}
		})
		t.Run("R-079 R-246 a validation error names the field", func(t *testing.T) {
			for _, p := range provoked {
				if p.reason != invalid {
					continue
				}
				f := w.refused(t, invalid, p.op, p.params)
				if len(f.fields()) == 0 {
					t.Errorf("%s: no BadRequest with fieldViolations: %s", p.op, compact(f.details))
				}
			}
		})
		t.Run("R-045 R-088 all four push operations are refused without the capability", func(t *testing.T) {
			t.Parallel()
			const reason = "PUSH_NOTIFICATION_NOT_SUPPORTED"
			w.refused(t, reason, "CreateTaskPushNotificationConfig", obj{"taskId": done, "url": "https://example.com/hook"})
			w.refused(t, reason, "GetTaskPushNotificationConfig", obj{"taskId": done, "id": "c1"})
			w.refused(t, reason, "ListTaskPushNotificationConfigs", obj{"taskId": done})
			w.refused(t, reason, "DeleteTaskPushNotificationConfig", obj{"taskId": done, "id": "c1"})
			w.refused(t, reason, "SendMessage", obj{
				"message":       say("echo x"),
				"configuration": obj{"taskPushNotificationConfig": obj{"url": "https://example.com/hook"}},
			})
		})
	})
}
