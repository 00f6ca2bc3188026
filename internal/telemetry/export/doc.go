// Package export builds OpenTelemetry's providers from settings and the standard OTEL_*
// variables, for a server that sends its telemetry itself.
//
//	t, err := export.Start(ctx, export.Settings{Service: "parley", Lookup: os.LookupEnv, Logger: log})
//	defer t.Shutdown(context.WithTimeout(…))
//	engine.Options{TracerProvider: t.TracerProvider, …}
//
// A collector that is down, slow or hostile costs only spans: the queue is bounded,
// what does not fit is dropped, an export has a time limit, and a failure is one log
// line a minute. Nothing here blocks a task.
//
// OpenTelemetry's exporters and SDK read OTEL_* from the environment by themselves;
// see docs/design/0023-telemetry.md.
package export
