// Package metrics is the table of everything that a server measures, and the
// instruments that are made from it.
//
//	m := metrics.New(provider)                         // nil without a provider
//	started := m.Counter(metrics.TasksStarted)         // nil then, too
//	started.Add(ctx, 1, "invoices")                    // the values of its labels, in their order
//
// [Table] is the only place that names a metric: instruments are made from its rows,
// and tests compare docs/observability.md, the dashboard and the alerts in deploy/ and
// a scrape with it. To add a metric, add a row and a line in docs/observability.md.
//
// A nil *Meter makes nil instruments, and a nil instrument costs one comparison.
// Everything here may be used by many goroutines at once.
package metrics
