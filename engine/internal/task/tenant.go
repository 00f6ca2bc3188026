package task

import "strings"

// Mark stands before and behind the name of an agent in a tenant. No tenant of a
// caller may have it.
const Mark = '\x1f'

// AgentOf returns the name of the agent that a task belongs to, "" for the one
// without a name, and the tenant of its caller, both from the Tenant of its key.
func AgentOf(tenant string) (name, callers string) {
	if tenant == "" || tenant[0] != Mark {
		return "", tenant
	}
	name, callers, _ = strings.Cut(tenant[1:], string(Mark))
	return name, callers
}

// TenantOf is the other way round.
func TenantOf(name, callers string) string {
	if name == "" {
		return callers
	}
	return string(Mark) + name + string(Mark) + callers
}
