package agent

// KindOf returns the kind of an agent, for operators: the result of its method Kind,
// such as exec, http, openai, proxy or mcp, or func if it has no such method.
func KindOf(a Agent) string {
	if d, ok := a.(*declared); ok {
		a = d.Agent
	}
	if k, ok := a.(interface{ Kind() string }); ok {
		return k.Kind()
	}
	return "func"
}
