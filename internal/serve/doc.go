// Package serve makes a running host of parley.yaml and the flags of parley serve.
//
// A host comes up in [Open]:
//
//   - [Env.Load] sets every flag that the command line does not set to the value
//     that the file has for it, and refuses values that contradict each other;
//   - Open listens, opens the database and the audit log, and takes passwords out
//     of the environment, which the agents' commands inherit;
//   - revise makes the first revision: who may call, the agents of the file or of
//     the flags, and their cards. Cards of agents that are elsewhere are fetched,
//     for 5 s at most; an agent that does not answer gets a stand-in card.
//
// [Host.Run] serves until its context ends. Beside the server runs one goroutine
// that alone replaces the revision, when SIGHUP comes, when a watched file changes
// (--reload) or when a fetched card has changed. It loads the settings again and
// makes a new revision, which keeps every agent whose settings are the same. The
// server takes the revision as a whole or not at all: on an error the host logs the
// reason and goes on with the revision it has. Settings that count from the next
// start on are named in the log.
//
// When the context ends, the server drains for at most --drain-timeout: it refuses
// new calls, tells agents to stop, leaves their tasks for the next start and closes
// connections. Run returns when all goroutines have ended and the database is
// closed.
//
// Failures are of type [failure.Error]. A Host may be used by one goroutine at a
// time.
package serve
