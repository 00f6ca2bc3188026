package parley_test

import (
	"strings"
	"testing"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
)

func TestConformanceVersions(t *testing.T) {
	eachDemo(t, func(t *testing.T, w *wire) {
		id := in(w.send(t, say("echo x")), "id")
		t.Run("R-066 names of service parameters in any case", func(t *testing.T) {
			for _, name := range []string{"a2a-version", "A2A-VERSION", "a2A-vErSiOn"} {
				w.ok(t, "GetTask", obj{"id": id}, "A2A-Version", "", name, "1.0")
				w.refused(t, "VERSION_NOT_SUPPORTED", "GetTask", obj{"id": id}, "A2A-Version", "", name, "7.0")
			}
		})
		t.Run("R-113 patch numbers do not matter", func(t *testing.T) {
			for _, version := range []string{"1.0", "1.0.0", "1.0.1", "1.0.7"} {
				w.ok(t, "GetTask", obj{"id": id}, "A2A-Version", version)
			}
		})
		t.Run("R-115 the version as a request parameter", func(t *testing.T) {
			for version, want := range map[string]int{"1.0": 200, "99.0": 400} {
				req := w.request(t.Context(), "GetTask", obj{"id": id}, []string{"A2A-Version", ""})
				query := req.URL.Query()
				query.Set("A2A-Version", version)
				req.URL.RawQuery = query.Encode()
				a := w.do(t, req, "GetTask")
				if (a.fault == nil) != (want == 200) {
					t.Errorf("version %s: %s", version, a.body)
				}
			}
		})
		t.Run("R-117 other versions are refused, and the answer says which are not", func(t *testing.T) {
			for _, version := range []string{"99.0", "0.3", "2.0", "1", "1.00", "1.0.x", "nonsense"} {
				f := w.refused(t, "VERSION_NOT_SUPPORTED", "GetTask", obj{"id": id}, "A2A-Version", version)
				if supported := text(f.details[0], "metadata.supportedVersions"); !strings.Contains(supported, "1.0") {
					t.Errorf("supportedVersions %q", supported)
				}
			}
			w.refused(t, "VERSION_NOT_SUPPORTED", "SendStreamingMessage", obj{"message": say("echo x")}, "A2A-Version", "99.0")
		})
	})
	t.Run("R-118 no version means 0.3, which is not offered", func(t *testing.T) {
		t.Parallel()
		url := start(t, agent.DemoCard(), agent.Demo(), &parley.Options{StrictVersions: true})
		for _, binding := range []string{jsonrpc, rest} {
			w := dial(t, binding, url)
			w.refused(t, "VERSION_NOT_SUPPORTED", "ListTasks", obj{}, "A2A-Version", "")
			w.ok(t, "ListTasks", obj{})
		}
	})
	t.Run("R-118 unless the operator is lenient, as by default: the method decides", func(t *testing.T) {
		t.Parallel()
		url := start(t, agent.DemoCard(), agent.Demo(), nil)
		for _, binding := range []string{jsonrpc, rest} {
			dial(t, binding, url).ok(t, "ListTasks", obj{}, "A2A-Version", "")
		}
	})
}

const (
	required = "https://example.com/ext/required/v1"
	optional = "https://example.com/ext/optional/v1"
)

func TestConformanceExtensions(t *testing.T) {
	card := agent.DemoCard()
	card.Capabilities.Extensions = []*a2a.AgentExtension{{URI: optional}}
	t.Run("optional", func(t *testing.T) {
		each(t, card, agent.Demo, func(t *testing.T, w *wire) {
			p := obj{"message": say("echo x")}
			t.Run("R-152 extensions are on the card", func(t *testing.T) {
				declared := in(w.fetch(t, cardPath).result, "capabilities.extensions")
				equal(t, "extensions", in(declared, "0.uri"), optional)
			})
			t.Run("R-155 an unknown one is ignored", func(t *testing.T) {
				a := w.call(t, "SendMessage", p, "A2A-Extensions", "https://example.com/nobody/knows")
				if a.fault != nil || a.header.Get("A2A-Extensions") != "" {
					t.Errorf("A2A-Extensions %q: %s", a.header.Get("A2A-Extensions"), a.body)
				}
			})
			t.Run("R-157 R-158 those in use are named, no other version instead", func(t *testing.T) {
				both := "https://example.com/ext/optional/v2, " + optional
				for _, op := range []string{"SendMessage", "ListTasks"} {
					q := p
					if op == "ListTasks" {
						q = obj{}
					}
					a := w.call(t, op, q, "A2A-Extensions", both)
					equal(t, "A2A-Extensions of "+op, a.header.Get("A2A-Extensions"), optional)
				}
				s := w.open(t, "SendStreamingMessage", p, "A2A-Extensions", both)
				equal(t, "A2A-Extensions of a stream", s.resp.Header.Get("A2A-Extensions"), optional)
				a := w.call(t, "SendMessage", p, "A2A-Extensions", "https://example.com/ext/optional/v2")
				equal(t, "A2A-Extensions for v2", a.header.Get("A2A-Extensions"), "")
			})
		})
	})
	card = agent.DemoCard()
	card.Capabilities.Extensions = []*a2a.AgentExtension{{URI: required, Required: true}}
	t.Run("required", func(t *testing.T) {
		each(t, card, agent.Demo, func(t *testing.T, w *wire) {
			p := obj{"message": say("echo x")}
			t.Run("R-089 not declared by the client", func(t *testing.T) {
				w.refused(t, "EXTENSION_SUPPORT_REQUIRED", "SendMessage", p)
				w.refused(t, "EXTENSION_SUPPORT_REQUIRED", "SendStreamingMessage", p)
				equal(t, "tasks", in(w.ok(t, "ListTasks", obj{}), "totalSize"), 0)
			})
			t.Run("R-156 another version declared", func(t *testing.T) {
				w.refused(t, "EXTENSION_SUPPORT_REQUIRED", "SendMessage", p, "A2A-Extensions", "https://example.com/ext/required/v2")
			})
			t.Run("R-216 R-236 R-066 declared by header, with others", func(t *testing.T) {
				w.ok(t, "SendMessage", p, "a2a-extensions", "https://example.com/x , "+required)
				w.refused(t, "EXTENSION_SUPPORT_REQUIRED", "SendMessage", p, "A2A-Extensions", strings.ToUpper(required))
			})
		})
	})
}
