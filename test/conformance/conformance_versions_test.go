package conformance

import (
	"strings"
	"testing"

	"github.com/parley-a2a/parley"
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
			for _, version := range []string{"99.0", "0.4", "2.0", "1", "1.00", "1.0.x", "nonsense"} {
				f := w.refused(t, "VERSION_NOT_SUPPORTED", "GetTask", obj{"id": id}, "A2A-Version", version)
				if supported := text(f.details[0], "metadata.supportedVersions"); !strings.Contains(supported, "1.0") {
					t.Errorf("supportedVersions %q", supported)
				}
			}
			w.refused(t, "VERSION_NOT_SUPPORTED", "SendStreamingMessage", obj{"message": say("echo x")}, "A2A-Version", "99.0")
		})
	})
	t.Run("R-118 no version means 0.3, which does not have the operation", func(t *testing.T) {
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
