package serve

import (
	"github.com/parley-a2a/parley/internal/admin"
	web "github.com/parley-a2a/parley/internal/console"
)

// view is what requests to the administration, the console and the metrics see of the
// revision in force. It is immutable.
type view struct {
	of    *revision // only read, settings, local and guard, which do not change
	hosts []string  // host names that requests may have; none: any

	console      []web.Agent
	consoleHosts []string // as hosts, for the console

	agents   []admin.Agent
	behind   *behind // the agents
	settings []admin.Setting
}

// show sets the view of the revision in force.
func (h *Host) show() {
	r := h.now
	v := &view{
		of: r, hosts: h.hosts(r), agents: h.admin.shownAgents(r), behind: newBehind(r.agents), settings: r.settings.Values(h.line),
	}
	for i := range v.settings {
		v.settings[i].Value = h.env.Stderr.Redact(v.settings[i].Value)
	}
	if h.pages != nil {
		v.console = h.pages.shownAgents(r)
	}
	if r.local { // even if callers need credentials
		v.consoleHosts = r.settings.browser.allowed(true, h.addr)
	}
	h.view.Store(v)
}
