package task

import "strings"

// Mark stands before and after the name of an agent in a tenant. A caller's tenant must not
// contain it.
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

// TenantOf is the inverse of AgentOf.
func TenantOf(name, callers string) string {
	if name == "" {
		return callers
	}
	return string(Mark) + name + string(Mark) + callers
}
