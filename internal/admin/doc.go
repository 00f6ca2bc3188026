// Package admin is the administration of a server: what it runs, which tasks wait and why,
// what was delivered, and the few things that an operator may change while it runs.
//
// [API] is the whole administration as a Go interface, which internal/serve implements. [New]
// returns it as an http.Handler at Path, for curl and other machines; parley admin calls that
// with a [Client].
//
// The console calls the API on behalf of the viewer: every method checks that the caller in
// the context ([a2a.WithCaller]) has [a2a.ScopeAdminRead] or [a2a.ScopeAdminWrite], so the
// console needs no check of its own. These scopes apply to the whole server, with the tasks
// of all tenants: a caller whose credentials name a tenant never has them.
//
// Methods are safe for concurrent use. Errors are [*Error] values, or the context's own.
package admin
