package acts

import (
	"os"
	"testing"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/agent"
)

// mistaken has the mistakes of the official corpus, in tests of our own.
const mistaken = `
acts_version: "1.0"
spec_version: "1.0"
suites:
  - id: mistaken
    name: Mistaken
    tests:
      - id: ONE
        level: must
        steps:
          - {id: one, operation: send_message, params: {message: {role: ROLE_USER, parts: [{text: tck-input-required}]}}, capture: {taskId: task.id}}
          - {id: two, operation: send_message, params: {taskId: "{{one.taskId}}", message: {role: ROLE_USER, parts: [{text: tck-complete-task}]}}, expect: {body: {task: {id: "{{one.taskId}}"}}}}
      - id: TWO
        level: must
        transport: [jsonrpc]
        steps: [{id: raw, raw: {path: "/", headers: {Content-Type: application/json, A2A-Version: "1.0"}, body: {jsonrpc: "2.0", id: 1, method: SendMessage, params: {message: {role: ROLE_USER, parts: [{text: x}]}}}}, expect: {body: {result: {exists: true}}}}]
      - id: THREE
        level: must
        transport: [grpc]
        steps:
          - {id: one, operation: send_message, params: {message: {role: ROLE_USER, parts: [{text: tck-input-required}]}}, capture: {taskId: task.id}}
          - {id: two, operation: set_push_notification_config, params: {taskId: "{{one.taskId}}", pushNotificationConfig: {url: "{{webhookUrl}}"}}, expect: {body: {url: {starts_with: "http://127.0.0.1"}}}}
      - id: FOUR
        level: must
        steps: [{id: card, operation: get_agent_card, params: {extended: true}, expect_error: {code: UnsupportedOperationError}}]
      - id: FIVE
        level: must
        steps: [{id: send, operation: send_message, params: {message: {taskId: no-such-task, role: ROLE_USER, parts: [{text: x}]}}, expect: {status: error}}]
      - id: SIX
        level: must
        steps: [{id: card, operation: get_agent_card, expect: {body: {supportedInterfaces: {items: {protocolBinding: {one_of: [JSONRPC, GRPC, REST]}}}}}}]
      - id: SEVEN
        level: must
        steps: [{id: send, operation: send_message, params: {message: {role: ROLE_USER, parts: [{data: {a: 1}, metadata: {contentType: application/x-none}}]}}, expect_error: {code: ContentTypeNotSupportedError}}]
      - id: CORE-ERR-007
        level: should
        steps: [{id: get, operation: get_task, params: {id: no-such-task}, expect_error: {code: TaskNotFoundError, data: {type: object}}}]
      - id: REST-PD-001
        level: should
        transport: [rest]
        steps: [{id: get, raw: {method: GET, path: /tasks/no-such-task, headers: {A2A-Version: "1.0"}}, expect: {status: 404, body: {title: {type: string}}}}]
      - id: DM-ART-003
        level: should
        steps:
          - id: send
            operation: send_message
            params: {message: {role: ROLE_USER, parts: [{text: tck-artifact-file}]}}
            assertions: [{source: "{{send.response}}", any: {path: "task.artifacts[*].parts[*]", match: {file: {name: {type: string}, mediaType: {type: string}}}}}]
      - id: DM-FMT-003
        level: should
        steps: [{id: send, operation: send_message, params: {message: {role: ROLE_USER, parts: [{text: tck-message-response}]}}, expect: {body: {message: {contextId: {absent: true}}}}}]
      - id: CORE-CTX-001
        level: must
        steps: [{id: send, operation: send_message, params: {contextId: client-generated-context-that-should-be-rejected, message: {role: ROLE_USER, parts: [{text: x}]}}, expect_error: {message: {type: string}}}]
      - id: VER-NEG-002
        level: should
        transport: [jsonrpc]
        steps: [{id: raw, raw: {path: "/", headers: {Content-Type: application/json}, body: {jsonrpc: "2.0", id: 1, method: SendMessage, params: {message: {role: ROLE_USER, parts: [{text: x}]}}}}, expect: {body: {result: {task: {id: {type: string}}}}}}]
`

// Tests with the mistakes of the official corpus fail against a right server as they are
// written, and pass with repairs.
func TestRepairs(t *testing.T) {
	name := t.TempDir() + "/x.acts.yaml"
	if err := os.WriteFile(name, []byte(mistaken), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(name)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Notes) != 5 {
		t.Errorf("%d oddities are noted: %v", len(c.Notes), c.Notes)
	}
	url := serveAgent(t, agent.ConformanceCard(), &parley.Options{})
	for _, x := range run(t, &Options{URL: url, Corpus: c, Versions: []string{"1.0"}}).Results {
		if x.Outcome == Pass && x.Key() != "THREE grpc 1.0" {
			t.Errorf("%s passes as it is written", x.Key())
		}
	}
	c.Repair()
	for _, x := range run(t, &Options{URL: url, Corpus: c, Versions: []string{"1.0"}}).Results {
		if x.Outcome != Pass {
			t.Errorf("%s: %s with repairs: %s %v", x.Key(), x.Outcome, x.Reason, x.Failure)
		}
	}
}

// Tests by the ids of the official corpus may say other things than its own do.
func TestRepairsOfOtherTests(t *testing.T) {
	s := &Suite{Tests: []*Test{
		{ID: "DM-ART-003", Steps: []*Step{{Assertions: []*Assertion{{Source: "{{send.response}}", Path: "task.id", Match: "x", hasMatch: true}}}}},
		{ID: "DM-FMT-003", Steps: []*Step{{Expect: obj{"body": obj{"message": nil}}}}},
	}}
	(&Corpus{Documents: []*Document{{Suites: []*Suite{s}}}}).Repair()
	for _, x := range s.Tests {
		if len(x.Steps) != 1 {
			t.Errorf("%s: %+v", x.ID, x)
		}
	}
}
