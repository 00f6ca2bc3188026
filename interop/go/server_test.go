package interop

import (
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// TestServers runs the parley command against servers made with a2a-go.
func TestServers(t *testing.T) {
	agent := serveForeign(t)
	for _, binding := range bindings {
		pair{
			role: "server", binding: binding, version: "1.0", authIsOutside: true, ended: a2a.ErrTaskNotFound,
			objectsOnly: binding == a2a.TransportProtocolGRPC,
			connect: func(t *testing.T, said *transcript) client {
				agent.log.connect(said)
				return &command{url: agent.url, binding: binding, version: "1.0", dir: t.TempDir(), said: said}
			},
		}.run(t)
	}
	for _, binding := range bindings {
		pair{
			role: "server", binding: binding, version: "0.3", noList: true, authIsOutside: true, ended: a2a.ErrTaskNotFound,
			connect: func(t *testing.T, said *transcript) client {
				agent.log.connect(said)
				return &command{url: agent.url, binding: binding, version: "0.3", dir: t.TempDir(), said: said}
			},
		}.run(t)
	}
}
