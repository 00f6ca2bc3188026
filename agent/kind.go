package agent

// KindOf says what kind of agent a is, for those who operate it: what its method
// Kind returns, such as exec, http, openai, proxy or mcp; of one without that
// method, func.
func KindOf(a Agent) string {
	if d, ok := a.(*declared); ok {
		a = d.Agent
	}
	if k, ok := a.(interface{ Kind() string }); ok {
		return k.Kind()
	}
	return "func"
}
