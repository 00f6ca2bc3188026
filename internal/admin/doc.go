// Package admin is the administration of a server: what it runs, what waits and why,
// what was delivered, and the few things that an operator may change while it runs.
//
// [API] is the whole of it, as Go. Three things are one:
//
//	the API that the server itself has        internal/serve makes it
//	New(api, …), an http.Handler at Path      for curl and other machines
//	Dial(local), which calls that             for parley admin
//
// The console has the first, as the viewer who opened it: the caller in the context
// ([a2a.WithCaller]) is asked for [a2a.ScopeAdminRead] or [a2a.ScopeAdminWrite] by
// every method, so that nobody has to be asked in front of it. These scopes are of
// the whole server, with the tasks of all tenants: a caller whose credentials name a
// tenant never has them.
//
// Methods may be called by many goroutines at once. Errors are [*Error] values, or
// the context's own.
package admin
