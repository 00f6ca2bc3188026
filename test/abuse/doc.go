// Package abuse is a load that judges a server while it is attacked: callers who
// behave have their events timed, first in quiet and then beside connections
// that do not. It is for tests; make abuse is its long form.
//
//	good, err := abuse.NewCallers(ctx, url, keys, hc)
//	quiet := good.Run(ctx, time.Minute)
//	busy := good.Run(ctx, time.Minute) // while Attack runs, in a process of its own
//
// What attacks is one table, Attacks; each row is a way to misbehave, the number
// of connections that do, and how often. The rates are bounded, as those of a
// network are: attackers on the same machine would otherwise measure its
// processor.
package abuse
